"""What is sent to those who help."""
import json
import os
import pathlib
import pwd
import tarfile
import unittest

from serve_case import ServeCase

SECRETS = {"a word of a command": "s3cret-in-a-command", "a variable": "s3cret-variable",
           "its name": "TOKEN_OF_ANA", "a job": "unannounced-model", "a queue": "falcon-project"}


class SupportBundleTest(ServeCase):
    def setUp(self):
        super().setUp()
        self.start("--jobs-per-user", "77")
        self.user = pwd.getpwuid(os.geteuid()).pw_name

    def work(self):
        """A job that ended, one that runs, one that waits, and one that could not be started."""
        self.ask("queue", "create", SECRETS["a queue"], "--limit", "gpu=8")
        common = ["--queue", SECRETS["a queue"], "--export", "TOKEN_OF_ANA=s3cret-variable",
                  "--name"]
        done = self.submit(*common, SECRETS["a job"], "--", "echo", SECRETS["a word of a command"])
        self.wait_for_state(done, "succeeded")
        runs = self.submit(*common, "hog", "--gpus", "8", "--", "sleep", "600")
        self.wait_for_state(runs, "running")
        bad = self.submit(*common, "bad", "--", "/nowhere/s3cret (471100815471) 10.1.2.3")
        self.wait_for_state(bad, "failed")
        return self.submit(*common, SECRETS["a job"] + "-2", "--gpus", "8", "--", "true")

    def bundle(self, **more):
        path = self.folder / "bundle.tar"
        said = self.ask("support-bundle", path, **more)
        with tarfile.open(path) as archive:
            files = {pathlib.PurePosixPath(each.name).name: archive.extractfile(each).read()
                     for each in archive if each.isfile()}
        return said, {name: text.decode() for name, text in files.items()}

    def test_it_holds_what_helps_and_nothing_secret(self):
        waits = self.work()
        said, files = self.bundle()
        self.assertIn("look at it before you send it", said)
        self.assertEqual(set(files), {
            "README.txt", "server.json", "platform.txt", "metrics.txt", "healthz.json",
            "readyz.json", "nodes.json", "queues.json", "jobs.json", "events.json",
            "explanations.json"})
        for name in set(files) - {"README.txt"}:
            self.assertIn(f"  {name} ", files["README.txt"])
        self.assertNotIn("Left out", files["README.txt"])
        everything = "\n".join(files.values())
        node = self.ask_json("nodes")["nodes"][0]["name"]
        token = (self.data / "admin.token").read_text().strip()
        for secret in [*SECRETS.values(), "s3cret", "hog", "/nowhere", "471100815471",
                       "10.1.2.3", token, str(self.folder), str(self.data),
                       self.url.split("//")[1]]:
            self.assertNotIn(secret, everything, secret)
        for name in self.user, node:
            self.assertNotRegex(everything, rf"(?<![\w-]){name}(?![\w-])")
        self.assertEqual((self.folder / "bundle.tar").stat().st_mode & 0o777, 0o600)
        self.check_contents(files, waits)

    def check_contents(self, files, waits):
        settings = json.loads(files["server.json"])["settings"]
        self.assertEqual(settings["jobs_per_user"], "77")
        self.assertEqual(settings["fake_devices"], "8xA100-80G")
        self.assertIn("tutti_journal_rows", files["metrics.txt"])
        self.assertRegex(files["platform.txt"], r"client: +tutti \d.*\nsystem: +Linux ")
        jobs = {job["id"]: job for job in json.loads(files["jobs.json"])["jobs"]}
        self.assertEqual([jobs[key]["state"] for key in "1234"],
                         ["succeeded", "running", "failed", "pending"])
        self.assertEqual({job["user"] for job in jobs.values()}, {"user-1"})
        self.assertEqual(len({job["name"] for job in jobs.values()}), 4)
        self.assertEqual(jobs["3"]["reason"].split(":")[0], "could not be started")
        queue = jobs["1"]["queue"]
        self.assertIn(queue, [each["name"] for each in json.loads(files["queues.json"])["queues"]])
        self.assertEqual(jobs["2"]["nodes"], ["node-1"])
        node = json.loads(files["nodes.json"])["nodes"][0]
        self.assertEqual((node["name"], len(node["devices"])), ("node-1", 8))
        self.assertEqual(set(node["devices"][0]), {"model", "health", "mode", "used_permille"})
        explanation = json.loads(files["explanations.json"])
        self.assertEqual(explanation["id"], waits)
        self.assertIn("its queue's limit is reached", explanation["text"])
        self.assertIn(f"task {jobs['2']['name']}/0 on node-1 ends (8 devices", explanation["text"])
        self.assertNotIn("[...]", explanation["text"])
        events = [json.loads(line) for line in files["events.json"].splitlines()]
        self.assertEqual([each["what"] for each in events if each.get("job") == "1"],
                         ["submitted", "started", "ended"])
        self.assertEqual({each["name"] for each in events if each.get("job") == "1"},
                         {jobs["1"]["name"]})

    def test_an_operator_of_a_queue_sends_what_he_may_see(self):
        self.work()
        token = self.ask("token", "create", "--role", "operator", "--queue",
                         "default").split("\n")[0]
        path = self.folder / "bound.tar"
        self.tutti("support-bundle", path,
                   env={**os.environ, "TUTTI_SERVER": self.url, "TUTTI_TOKEN": token})
        with tarfile.open(path) as archive:
            jobs = json.load(archive.extractfile("tutti-support/jobs.json"))["jobs"]
            text = "\n".join(archive.extractfile(each).read().decode() for each in archive)
        self.assertEqual(jobs, [])
        self.assertNotIn(token, text)

    def test_others_make_none(self):
        token = self.ask("token", "create", "--role", "viewer").split("\n")[0]
        path = self.folder / "mine.tar"
        self.assertIn("this takes operator or more",
                      self.tutti("support-bundle", path, code=2,
                                 env={**os.environ, "TUTTI_SERVER": self.url,
                                      "TUTTI_TOKEN": token}))
        self.assertFalse(path.exists())

    def test_a_file_that_exists_is_left_alone(self):
        path = self.file("mine.tar", "mine")
        self.assertIn("does not exist yet", self.ask("support-bundle", path, code=2))
        self.assertEqual(pathlib.Path(path).read_text(), "mine")


if __name__ == "__main__":
    unittest.main()
