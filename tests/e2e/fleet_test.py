"""The fleet as operators use it: nodes that close, empty themselves and open, and what-ifs."""
import json
import unittest

from serve_case import ServeCase


class FleetTest(ServeCase):
    """One machine of eight cards, with jobs that really run."""

    def setUp(self):
        super().setUp()
        self.start()
        self.node = self.ask_json("nodes")["nodes"][0]["name"]

    def test_a_drained_node_is_left_and_taken_again(self):
        number = self.submit("--gpus", "8", "--", "sleep", "600")
        self.wait_for_state(number, "running")
        said = self.ask("node", "drain", self.node)
        self.assertIn("takes no new work", said)
        self.assertIn(" draining ", self.ask("nodes"))
        job = self.wait_for_state(number, "pending")
        self.assertIn("cordoned", self.ask("explain", number))
        self.assertEqual(job["attempt"], 1)
        self.assertIn("takes new work again", self.ask("node", "uncordon", self.node))
        self.assertEqual(self.wait_for_state(number, "running")["attempt"], 2)
        self.assertIn("draining", self.ask("events"))

    def test_a_cordoned_node_keeps_what_runs(self):
        number = self.submit("--", "sleep", "600")
        self.wait_for_state(number, "running")
        self.ask("node", "cordon", self.node)
        self.assertIn(" cordoned ", self.ask("nodes"))
        waits = self.submit("--", "true")
        self.assertEqual(self.job(waits)["state"], "pending")
        self.assertEqual(self.job(number)["state"], "running")
        self.ask("node", "uncordon", self.node)
        self.wait_for_state(waits, "succeeded")
        self.assertIn("no node", self.ask("node", "drain", "elsewhere", code=2))

    def test_what_if_there_were_more(self):
        first = self.submit("--gpus", "8", "--", "sleep", "600")
        self.wait_for_state(first, "running")
        number = self.submit("--gpus", "8", "--", "true")
        self.assertEqual(self.ask("whatif", "--add-nodes", "1", number),
                         f"job {number} would start on new-1\nnothing was changed\n")
        self.assertIn(f"job {number} would start on {self.node}",
                      self.ask("whatif", "--cancel", first, number))
        self.assertIn(f"job {first} would run on {self.node}\n", self.ask("whatif", first))
        refused = self.ask("whatif", number)
        self.assertIn(f"job {number} would not start\n", refused)
        self.assertIn("nothing was changed", refused)
        self.assertTrue(json.loads(self.ask("whatif", "--json", "--add-nodes", "2"))["dry_run"])

    def test_a_dry_run_says_where_it_would_start(self):
        said = self.ask("submit", "--dry-run", "--name", "a", "--gpus", "8", "--", "true")
        self.assertEqual(said, f"a would start on {self.node}\nnothing was submitted\n")
        said = self.ask("submit", "--dry-run", "--name", "a", "--gpus", "9", "--", "true")
        self.assertIn("a would not start\nnever fits", said)
        self.assertIn('"dry_run":true', self.ask("submit", "--dry-run", "--json", "--", "true"))
        self.assertEqual(self.ask_json("jobs")["jobs"], [])

    def test_what_is_above_the_limit_of_its_queue_is_refused(self):
        self.ask("queue", "create", "small", "--limit", "gpu=4")
        refused = self.ask("submit", "--queue", "small", "--gpus", "8", "--", "true", code=2)
        self.assertIn('needs 8 gpu at once; the limit of queue "small" is 4 gpu', refused)
        self.submit("--queue", "small", "--gpus", "4", "--", "true")

    def test_what_can_never_start_is_accepted_with_a_warning(self):
        done = self.call("submit", "--gpus", "9", "--", "true", env=self.environment())
        self.assertEqual(done.stdout, "job 1 submitted\n")
        self.assertEqual(done.stderr,
                         "warning: job 1 can never start on this fleet, however empty; "
                         "tutti explain 1\n")
        self.assertEqual(self.job("1")["state"], "pending")
        self.assertEqual(self.call("submit", "--gpus", "8", "--", "true",
                                   env=self.environment()).stderr, "")

    def test_top_shows_both(self):
        number = self.submit("--gpus", "2", "--name", "seen", "--", "sleep", "600")
        self.wait_for_state(number, "running")
        said = self.ask("top")
        self.assertRegex(said, rf"(?m)^{self.node} +ready ")
        self.assertRegex(said, rf"(?m)^ *{number} +seen .*running")
        self.assertEqual(json.loads(self.ask("top", "--json"))["jobs"][0]["id"], number)


if __name__ == "__main__":
    unittest.main()
