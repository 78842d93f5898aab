"""What becomes of real processes by the rules of their jobs."""
import signal
import unittest

from serve_case import ServeCase


class RulesTest(ServeCase):
    def test_a_job_that_fails_starts_anew_also_after_a_restart_of_the_server(self):
        self.start()
        runs = self.folder / "runs"
        job_file = self.file("again.yaml", f"""
jobs:
  - name: again
    retries: 2
    retry_pause: 1s
    command: ["/bin/sh", "-c", "echo run >> {runs}; exit 7"]
""")
        job_id = self.submit(job_file)
        self.wait_for(lambda: "retry 1 of 2" in self.ask("explain", job_id), "a pause")
        self.stop(signal.SIGKILL)
        self.start()
        row = self.wait_for_state(job_id, "failed")
        self.assertEqual(row["reason"], "task 0 exited with code 7")
        self.assertEqual(row["attempt"], 3)
        self.assertEqual(runs.read_text(), "run\n" * 3)

    def test_what_takes_too_long_is_stopped(self):
        self.start()
        job_id = self.submit("--time", "1s", "--", "sleep", "100")
        row = self.wait_for_state(job_id, "failed")
        self.assertEqual(row["reason"], "task 0 ran longer than the job's time limit")

    def test_jobs_wait_for_others(self):
        self.start()
        first = self.submit("--", "sh", "-c", f"until [ -e {self.folder}/go ]; do sleep 0.1; done")
        second = self.submit("--after", first, "--", "true")
        third = self.submit("--after", f"{second}:failure", "--", "true")
        self.assertIn(f"it waits for the success of job {first}", self.ask("explain", second))
        (self.folder / "go").touch()
        self.wait_for_state(second, "succeeded")
        self.assertIn("cannot come true", self.wait_for_state(third, "cancelled")["reason"])
        said = self.ask("submit", "--after", f"{second}:failure", "--", "true", code=2)
        self.assertIn(f"the failure of job {second}, which has succeeded", said)

    def test_jobs_of_one_file_wait_for_each_other(self):
        self.start()
        self.submit("--", "true")  # So that numbers and places in the file differ.
        order = self.folder / "order"
        job_file = self.file("chain.yaml", f"""
jobs:
  - {{name: first, command: "sleep 0.3; echo first >> {order}"}}
  - {{name: second, after: first, command: "echo second >> {order}"}}
""")
        ids = self.ask_json("submit", job_file)["ids"]
        self.wait_for_state(ids[1], "succeeded")
        self.assertEqual(order.read_text(), "first\nsecond\n")

    def test_an_array_runs_once_for_each_number(self):
        self.start()
        out = self.folder / "out"
        out.mkdir()
        answer = self.ask_json("submit", "--array", "2-6:2%2", "--", "sh", "-c",
                               f"touch {out}/$TUTTI_ARRAY_NUMBER-of-$TUTTI_ARRAY_COUNT")
        self.assertEqual(answer["count"], 3)
        self.wait_for_state(answer["id"], "succeeded")
        self.assertEqual(sorted(each.name for each in out.iterdir()),
                         ["2-of-3", "4-of-3", "6-of-3"])
        self.assertIn("write 0-99", self.ask("submit", "--array", "9-2", "--", "true", code=2))


if __name__ == "__main__":
    unittest.main()
