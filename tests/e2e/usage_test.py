"""Who used how much."""
import os
import signal
import time
import unittest

from serve_case import ServeCase


class UsageTest(ServeCase):
    quick = ("--checkpoint-every", "20", "--keep-history", "0s", "--keep-ended", "0s")

    def usage(self, *words):
        return self.ask_json("usage", *words)

    def run_for(self, seconds, *words):
        job = self.submit(*words, "--", "sleep", str(seconds))
        return self.wait_for_state(job, "succeeded")

    def hours(self, job):
        """Of a job, by its own times."""
        def moment(text):
            return time.mktime(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S")) + float(text[19:-1])
        return (moment(job["finished"]) - moment(job["started"])) / 3600

    def test_what_was_used_is_known_after_a_restart(self):
        self.start()
        self.ask("queue", "create", "far")
        small = self.run_for(1.2, "--name", "small", "--gpus", "0.3", "--cpu", "0.5")
        large = self.run_for(1, "--name", "large", "--gpus", "2", "--queue", "far")
        report = self.usage("--by", "job,model")
        rows = {row["name"]: row for row in report["rows"]}
        self.assertEqual([row["name"] for row in report["rows"]], ["large", "small"])
        self.assertAlmostEqual(rows["small"]["device_hours"], 0.3 * self.hours(small), delta=2e-6)
        self.assertAlmostEqual(rows["small"]["core_hours"], 0.5 * self.hours(small), delta=2e-6)
        self.assertAlmostEqual(rows["large"]["device_hours"], 2 * self.hours(large), delta=2e-6)
        self.assertEqual({row["model"] for row in report["rows"]}, {"A100-80G"})
        self.assertEqual((report["total"]["jobs"], report["total"]["tasks"]), (2, 2))
        before = self.usage("--by", "user,queue")
        text = self.ask("usage", "--by", "queue")
        self.assertRegex(text, r"queue +device-h +core-h +GiB-h +jobs +tasks\nfar +0\.00 ")
        self.assertRegex(text, r"\ntotal +0\.00 .* 2 +2\n$")
        self.stop(signal.SIGKILL)
        self.start()
        self.assertEqual(self.usage("--by", "user,queue"), before)
        self.assertIn("by: user queue model job", self.ask("usage", "--by", "planet", code=2))

    def test_checkpoints_keep_it_when_jobs_and_rows_are_gone(self):
        self.start(*self.quick)
        first = self.run_for(0.5, "--name", "first", "--gpus", "1")
        runs = self.submit("--name", "runs", "--gpus", "1", "--", "sleep", "600")
        self.wait_for_state(runs, "running")
        folder = self.data / "checkpoints"

        def two_checkpoints():
            self.run_for(0)  # More rows for the next one.
            return len(list(folder.glob("checkpoint-*[0-9]"))) == 2
        self.wait_for(two_checkpoints, "checkpoints")
        self.stop(signal.SIGKILL)
        self.start(*self.quick)
        rows = {row["name"]: row for row in self.usage("--by", "job")["rows"]}
        self.assertAlmostEqual(rows["first"]["device_hours"], self.hours(first), delta=2e-6)
        self.assertGreater(rows["runs"]["device_hours"], rows["first"]["device_hours"])
        time.sleep(0.5)
        again = {row["name"]: row for row in self.usage("--by", "job")["rows"]}
        self.assertGreater(again["runs"]["device_hours"], rows["runs"]["device_hours"])
        self.assertEqual(again["first"], rows["first"])

    def test_a_viewer_sees_none_of_others(self):
        self.start()
        self.run_for(0, "--gpus", "1")
        token = self.ask("token", "create", "--role", "viewer").split("\n")[0]
        env = {**os.environ, "TUTTI_SERVER": self.url, "TUTTI_TOKEN": token}
        text = self.tutti("usage", env=env)
        self.assertRegex(text, r"^nothing was used: .* only what is your own\n$")


if __name__ == "__main__":
    unittest.main()
