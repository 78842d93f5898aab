"""What happens, as it happens: `tutti events`, and `tutti submit` with --wait and --follow."""
import json
import signal
import subprocess
import unittest

from serve_case import ServeCase
from tutti_case import PROGRAM


class EventsTest(ServeCase):
    def start_client(self, *words):
        """A client that goes on until the test ends."""
        client = subprocess.Popen([str(PROGRAM), *words], stdout=subprocess.PIPE, text=True,
                                  stderr=subprocess.DEVNULL, env=self.environment())
        self.addCleanup(client.stdout.close)
        self.addCleanup(client.wait)
        self.addCleanup(client.kill)
        return client

    def events(self, *words):
        lines = self.ask("events", "--json", *words).splitlines()
        return [(event["what"], event.get("job") or event["node"])
                for event in map(json.loads, lines)]

    def test_what_happened_is_listed(self):
        self.start()
        number = self.submit("--name", "hello", "--", "/bin/sh", "-c", "exit 3")
        self.wait_for_state(number, "failed")
        self.assertEqual(self.events("--job", number),
                         [("submitted", number), ("started", number), ("ended", number)])
        text = self.ask("events")
        self.assertRegex(text, r"(?m)^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d  node \S+ joined$")
        self.assertIn(f"job {number} hello submitted by ", text)
        self.assertIn(f"job {number} hello failed: task 0 exited with code 3\n", text)
        self.assertEqual(self.events("--queue", "nosuch"), [])
        self.assertIn("no job 99", self.ask("events", "--job", "99", code=2))
        self.assertIn("now, oldest", self.ask("events", "--from", "x", code=2))

    def test_a_reader_goes_on_when_the_server_was_killed(self):
        self.start()
        first = self.submit("--", "true")
        client = self.start_client("events", "-f", "--json", "--from", "0")
        got = []
        def read_until(what, job):
            while not got or (got[-1]["what"], got[-1].get("job")) != (what, job):
                got.append(json.loads(client.stdout.readline()))
        read_until("ended", first)
        self.stop(signal.SIGKILL)
        self.start()
        second = self.submit("--", "true")
        read_until("ended", second)
        rows = [event["row"] for event in got]
        self.assertEqual(rows, sorted(set(rows)), "an event came twice, or out of order")
        self.assertEqual([event["what"] for event in got if event.get("job") == second],
                         ["submitted", "started", "ended"])
        self.assertEqual([event["what"] for event in got if "job" not in event],
                         ["joined", "reported"])

    def test_submit_waits_and_ends_like_the_job(self):
        self.start()
        shell = ("--", "/bin/sh", "-c")
        self.ask("submit", "--wait", *shell, "exit 0")
        said = self.call("submit", "--wait", *shell, "exit 5", code=5, env=self.environment())
        self.assertIn("failed: task 0 exited with code 5", said.stderr)
        self.call("submit", "--wait", *shell, "kill -9 $$", code=137, env=self.environment())
        missing = self.call("submit", "--wait", "--", "/no/such/program", code=1,
                            env=self.environment())
        self.assertIn("could not be started", missing.stderr)
        done = self.call("submit", "--follow", *shell, "echo one; echo two; exit 7", code=7,
                         env=self.environment())
        self.assertEqual(done.stdout, "one\ntwo\n")
        both = self.file("jobs.yaml", "jobs:\n- {name: a, cpu: 0.1, command: 'exit 0'}\n"
                                      "- {name: b, cpu: 0.1, command: 'exit 4'}\n")
        self.call("submit", "--wait", both, code=4, env=self.environment())

    def test_waiting_goes_on_when_the_server_was_killed(self):
        self.start()
        go = self.folder / "go"
        client = self.start_client(
            "submit", "--follow", "--", "/bin/sh", "-c",
            f"echo early; while [ ! -e {go} ]; do sleep 0.05; done; echo late; exit 9")
        self.assertEqual(client.stdout.readline(), "early\n")
        for how in signal.SIGKILL, signal.SIGTERM:
            self.stop(how)
            self.start()
        go.touch()
        self.assertEqual(client.stdout.read(), "late\n")
        self.assertEqual(client.wait(timeout=60), 9)

    def test_cancelled_and_held_jobs_are_waited_for(self):
        self.start()
        client = self.start_client("submit", "--wait", "--hold", "--", "true")
        self.wait_for(lambda: self.ask_json("jobs")["jobs"], "the job")
        self.ask("cancel", "1")
        self.assertEqual(client.wait(timeout=60), 1)
        self.assertEqual(self.events("--job", "1"), [("submitted", "1"), ("ended", "1")])


if __name__ == "__main__":
    unittest.main()
