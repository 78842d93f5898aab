"""`tutti serve` as a person uses it: submit, look, read, cancel, pull the plug."""
import json
import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import threading
import time
import unittest
import urllib.error
import urllib.request

from serve_case import ServeCase
from tutti_case import PROGRAM


class ServeTest(ServeCase):
    def test_a_command_runs_and_its_output_is_kept(self):
        self.start()
        number = self.submit("--name", "hello", "--gpus", "2", "--export", "WHO=world", "--chdir",
                             self.folder, "--", "/bin/sh", "-c",
                             'echo "hello $WHO from $PWD on $CUDA_VISIBLE_DEVICES"; exit 3')
        job = self.wait_for_state(number, "failed")
        self.assertEqual(job["name"], "hello")
        self.assertEqual(job["exit_code"], 3)
        self.assertEqual(job["attempt"], 1)
        self.assertEqual(job["reason"], "task 0 exited with code 3")
        self.assertEqual(len(job["devices"]), 2)
        self.assertLessEqual(job["submitted"], job["started"])
        self.assertLessEqual(job["started"], job["finished"])
        self.assertEqual(self.ask("logs", number), f"hello world from {self.folder} on 0,1\n")
        self.assertIn("hello", self.ask("jobs"))

    def test_variables_are_kept_apart_and_forgotten(self):
        self.start()
        number = self.submit("--export", "TOKEN=very-secret", "--", "sleep", "60")
        self.wait_for_state(number, "running")
        kept = self.data / "environments" / number
        self.assertIn("very-secret", kept.read_text())
        self.assertEqual(kept.stat().st_mode & 0o777, 0o600)
        for path in self.data.glob("journal.db*"):
            self.assertNotIn(b"very-secret", path.read_bytes(), path)
        self.ask("cancel", number)
        self.wait_for_state(number, "cancelled")
        self.wait_for(lambda: not kept.exists(), "its variables to be forgotten")
        self.assertNotIn("very-secret", self.said())

    def test_a_program_that_is_not_there_fails_with_its_reason(self):
        self.start()
        job = self.wait_for_state(self.submit("--", "/no/such/program"), "failed")
        self.assertIn("could not be started", job["reason"])
        self.assertIn("/no/such/program", job["reason"])
        self.assertEqual(job["attempt"], 3)
        nowhere = self.submit("--chdir", self.folder / "nowhere", "--", "true")
        self.assertIn("nowhere", self.wait_for_state(nowhere, "failed")["reason"])

    def test_what_does_not_fit_waits_and_says_why(self):
        self.start()
        first = self.submit("--gpus", "8", "--", "sleep", "60")
        second = self.submit("--gpus", "1", "--", "true")
        self.wait_for_state(first, "running")
        self.assertEqual(self.job(second)["state"], "pending")
        self.assertIn("waits", self.ask("explain", second))
        self.ask("cancel", first)
        self.wait_for_state(second, "succeeded")
        self.assertEqual(self.job(first)["state"], "cancelled")

    def test_held_jobs_wait_for_their_release(self):
        self.start()
        number = self.submit("--hold", "--", "true")
        self.assertEqual(self.job(number)["state"], "held")
        self.ask("release", number)
        self.wait_for_state(number, "succeeded")

    def test_several_jobs_are_changed_at_once(self):
        self.start()
        jobs = [self.submit("--hold", "--", "true") for _ in range(3)]
        refused = self.ask("cancel", jobs[0], "99", jobs[1], "98", code=2)
        self.assertRegex(refused, r"(?s)no job 99.*no job 98")
        self.assertEqual([self.job(each)["state"] for each in jobs],
                         ["cancelled", "cancelled", "held"])
        lines = self.ask("release", "--json", jobs[2]).splitlines()
        self.assertEqual([json.loads(line)["id"] for line in lines], [jobs[2]])

    def test_jobs_of_a_file_start_together(self):
        self.start()
        path = self.file("jobs.yaml", "jobs:\n- {name: 'a-[0-2]', cpu: 0.1, command: 'exit 0'}\n")
        answer = self.ask_json("submit", path)
        self.assertEqual(answer["ids"], ["1", "2", "3"])
        for number in answer["ids"]:
            self.wait_for_state(number, "succeeded")
        names = [job["name"] for job in self.ask_json("jobs", "--state", "succeeded")["jobs"]]
        self.assertEqual(names, ["a-2", "a-1", "a-0"])

    def test_jobs_come_in_by_a_pipe(self):
        self.start()
        for words in (), ("-",):
            said = self.ask("submit", *words, input="job: {name: a, command: 'exit 0'}\n")
            self.assertRegex(said, r"^job \d+ submitted\n$")
        self.assertIn("standard input:1:1", self.ask("submit", input="jbo: {}\n", code=2))

    def test_lists_show_what_is_asked_for(self):
        self.start()
        for name in "a-1", "a-2", "b-1":
            self.submit("--name", name, "--hold", "--", "true")
        self.ask("release", "1")
        self.wait_for_state("1", "succeeded")
        both = self.ask_json("jobs", "--state", "held,succeeded", "--name", "a-*", "--fields",
                             "name,state")
        self.assertEqual(both["jobs"], [{"name": "a-2", "state": "held"},
                                        {"name": "a-1", "state": "succeeded"}])
        self.assertEqual(self.ask("jobs", "--fields", "id,state,nodes", "--state", "held"),
                         "id  state  where\n 3  held   -\n 2  held   -\n")
        self.assertIn("there are more", self.ask("jobs", "--limit", "2"))
        self.assertNotIn("there are more", self.ask("jobs", "--limit", "3"))
        self.assertIn('did you mean "state"?', self.ask("jobs", "--fields", "stat", code=2))
        self.assertIn("several by comma", self.ask("jobs", "--state", "held,odd", code=2))

    def test_mistakes_are_refused_with_their_place(self):
        self.start()
        path = self.file("bad.yaml", "jobs:\n- name: a\n  commnad: x\n")
        refusal = self.ask("submit", path, code=2)
        self.assertIn("bad.yaml:3:3", refusal)
        self.assertIn('did you mean "command"?', refusal)
        self.assertIn("no job 99", self.ask("job", "99", code=2))
        self.assertIn("no queue", self.ask("submit", "--queue", "nosuch", "--", "true", code=2))
        self.assertEqual(self.ask_json("jobs")["jobs"], [])

    def test_tcp_wants_the_token(self):
        self.start()
        token = (self.data / "admin.token").read_text().strip()
        self.assertEqual(os.stat(self.data / "admin.token").st_mode & 0o777, 0o600)
        for given, status in ((None, 401), ("tutti_wrong", 401), (token, 200)):
            request = urllib.request.Request(f"{self.url}/api/v1/jobs")
            if given is not None:
                request.add_header("Authorization", f"Bearer {given}")
            try:
                with urllib.request.urlopen(request, timeout=10) as answer:
                    self.assertEqual(answer.status, status)
                    self.assertEqual(json.load(answer)["jobs"], [])
            except urllib.error.HTTPError as refused:
                self.assertEqual(refused.code, status)

    def test_one_server_a_folder(self):
        self.start()
        second = subprocess.run([str(PROGRAM), "serve", "--data", str(self.data), "--listen",
                                 "127.0.0.1:0"], capture_output=True, text=True, timeout=60,
                                check=False)
        self.assertEqual(second.returncode, 2)
        self.assertIn(str(self.server.pid), second.stderr)

    def test_without_a_server_it_says_how_to_start_one(self):
        told = self.tutti("jobs", code=2, env={**os.environ, "TUTTI_SERVER": "",
                                               "XDG_RUNTIME_DIR": str(self.folder)})
        self.assertIn("no server found; start one: tutti serve", told)


class LostAnswerTest(ServeCase):
    """A request that is sent again, because nobody heard the answer, makes no second job."""

    def post(self, path, body, key):
        request = urllib.request.Request(self.url + path, body.encode(), method="POST")
        token = (self.data / "admin.token").read_text().strip()
        for name, value in (("Authorization", f"Bearer {token}"), ("Idempotency-Key", key),
                            ("Content-Type", "application/json")):
            request.add_header(name, value)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read().decode()

    def test_a_key_is_known_after_the_server_was_killed(self):
        self.start()
        job = json.dumps({"job": {"name": "once", "held": True, "command": ["true"]}})
        lines = "".join(json.dumps({"name": f"b-{n}", "held": True, "command": ["true"]}) + "\n"
                        for n in range(5))
        first = self.post("/api/v1/jobs", job, "k-1")
        batch = self.post("/api/v1/jobs:batch", lines, "k-2")
        self.assertEqual(json.loads(first)["id"], "1")
        self.assertEqual([json.loads(line)["id"] for line in batch.splitlines()], list("23456"))
        self.stop(signal.SIGKILL)
        self.start()
        self.assertEqual(self.post("/api/v1/jobs", job, "k-1"), first)
        self.assertEqual(self.post("/api/v1/jobs:batch", lines, "k-2"), batch)
        self.assertEqual(len(self.ask_json("jobs")["jobs"]), 6)

    def test_the_client_asks_again_with_the_same_key(self):
        """Through somebody in the middle who loses the first two answers."""
        self.start()
        heard = []
        middle = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(middle.close)
        token = (self.data / "admin.token").read_text().strip()

        def serve():
            port = int(self.url.rsplit(":", 1)[1])
            for lost in True, True, False:
                client, _ = middle.accept()
                with client, socket.create_connection(("127.0.0.1", port)) as server:
                    asked = client.recv(1 << 16)
                    heard.append(re.search(rb"Idempotency-Key: (\S+)", asked)[1])
                    server.sendall(asked)
                    answer = server.recv(1 << 16)
                    if not lost:
                        client.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        there = {**os.environ, "TUTTI_TOKEN": token,
                 "TUTTI_SERVER": f"http://127.0.0.1:{middle.getsockname()[1]}"}
        answer = json.loads(self.tutti("submit", "--json", "--hold", "--", "true", env=there))
        thread.join()
        self.assertEqual(answer["id"], "1")
        self.assertEqual(len(set(heard)), 1)
        self.assertEqual(len(self.ask_json("jobs")["jobs"]), 1)


class KillTest(ServeCase):
    """The server is killed again and again while jobs are submitted, run and end."""

    ROUNDS = int(os.environ.get("TUTTI_KILLS", "25"))
    SEED = int(os.environ.get("TUTTI_SEED", "1"))

    def test_no_acknowledged_job_is_lost_and_none_starts_twice(self):
        random.seed(self.SEED)
        starts = self.folder / "starts"
        acknowledged, failed = [], []
        over = threading.Event()

        def submit():
            while not over.is_set():
                done = subprocess.run(
                    [str(PROGRAM), "submit", "--json", "--cpu", "0.1", "--", "/bin/sh", "-c",
                     f"echo $TUTTI_JOB_ID >> {starts}; sleep 0.05"],
                    capture_output=True, text=True, env=self.environment(), check=False)
                if done.returncode == 0:
                    acknowledged.append(json.loads(done.stdout)["id"])
                else:
                    failed.append(done.stderr)
                    time.sleep(0.02)

        self.start()
        clients = [threading.Thread(target=submit) for _ in range(2)]
        for client in clients:
            client.start()
        try:
            for _ in range(self.ROUNDS):
                time.sleep(random.uniform(0, 0.3))
                self.stop(signal.SIGKILL)
                self.start()
        finally:
            over.set()
            for client in clients:
                client.join()
        self.assertGreaterEqual(len(acknowledged), self.ROUNDS // 2)  # Slow machines do less.
        known = {}
        def done():
            nonlocal known
            known = {job["id"]: job for job in self.ask_json("jobs", "--all")["jobs"]}
            return all(job["finished"] for job in known.values())
        self.wait_for(done, "all jobs to end", seconds=120)
        self.assertEqual([number for number in acknowledged if number not in known], [])
        states = {known[number]["state"] for number in acknowledged}
        self.assertEqual(states, {"succeeded"})
        self.assertEqual(len(acknowledged), len(set(acknowledged)))
        self.assertLessEqual(len(known), len(acknowledged) + len(failed), "submitted twice")
        started = starts.read_text().split()
        self.assertEqual(len(started), len(set(started)), "a job was started twice")
        self.assertEqual(set(acknowledged) - set(started), set())
        self.stop()
        self.assertEqual(self.processes(), [], "processes were left behind")

    def processes(self):
        """The command lines of all that has to do with this server."""
        found = []
        for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = path.read_bytes()
            except OSError:
                continue  # It ended meanwhile.
            if str(self.data).encode() in words:
                found.append(words.replace(b"\0", b" ").decode(errors="replace"))
        return found


if __name__ == "__main__":
    unittest.main()
