"""Who may do what: tokens, queues, the audit log and limits, with a real server."""
import http.client
import json
import os
import pwd
import signal
import subprocess
import unittest
import urllib.error
import urllib.request

from serve_case import ServeCase
from tutti_case import PROGRAM

ME = pwd.getpwuid(os.geteuid()).pw_name


class AccessCase(ServeCase):
    def token(self, *words):
        return self.ask_json_of("token", "create", *words)

    def ask_json_of(self, *words):
        return json.loads(self.ask(*words, "--json"))

    def ask_with(self, token, *words, code=0):
        """What the client says over TCP with that token."""
        return self.tutti(*words, code=code,
                          env={**os.environ, "TUTTI_SERVER": self.url, "TUTTI_TOKEN": token})

    def fetch(self, path, token, method="GET", body=None):
        """Status and headers of any answer."""
        request = urllib.request.Request(self.url + path, method=method, data=body,
                                         headers={"Authorization": f"Bearer {token}"})
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, answer.headers
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code, refused.headers

    def hold(self, queue):
        path = self.file("held.yaml", f"jobs:\n- {{name: held-{queue}, queue: {queue}, held: true,"
                                      " cpu: 0.1, command: 'exit 0'}\n")
        return self.ask_json("submit", path)["ids"][0]


class TokensTest(AccessCase):
    def test_two_who_share_a_server(self):
        self.start()
        self.ask("queue", "create", "research", "--limit", "gpu=4")
        self.ask("queue", "create", "secret")
        user = self.token("--role", "user", "--user", ME, "--queue", "research")["token"]
        viewer = self.token("--role", "viewer", "--queue", "research", "--expires", "1h")["token"]
        hidden = self.hold("secret")
        jobs = self.file("jobs.yaml", "jobs:\n- {name: mine, queue: research, held: true,"
                                      " command: 'exit 0'}\n")
        mine = json.loads(self.ask_with(user, "submit", "--json", jobs))["ids"][0]
        for token in user, viewer:
            listed = json.loads(self.ask_with(token, "jobs", "--json"))["jobs"]
            self.assertEqual([job["id"] for job in listed], [mine])
            self.assertIn(f"no job {hidden}", self.ask_with(token, "job", hidden, code=2))
            told = self.ask_with(token, "events")
            self.assertIn("job " + mine, told)
            self.assertNotIn("held-secret", told)
            self.assertNotIn("secret", self.ask_with(token, "queues"))
            self.assertIn("this takes admin", self.ask_with(token, "token", "list", code=2))
        self.assertIn("may not submit to queue",
                      self.ask_with(user, "submit", "--", "true", code=2))
        self.assertIn("this takes user", self.ask_with(viewer, "cancel", mine, code=2))
        self.ask_with(user, "cancel", mine)
        self.assertIn("this takes user", self.ask_with(viewer, "submit", jobs, code=2))

    def test_tokens_outlive_the_server_and_are_taken_back(self):
        self.start()
        made = self.token("--role", "viewer")
        self.stop(signal.SIGKILL)
        self.start()
        self.ask_with(made["token"], "jobs")
        kept = self.data / "tokens"
        self.assertEqual(kept.stat().st_mode & 0o777, 0o600)
        for path in self.data.iterdir():
            if path.is_file():
                self.assertNotIn(made["token"].encode(), path.read_bytes(), path)
        self.assertIn(made["id"], self.ask("token", "list"))
        self.ask("token", "revoke", made["id"])
        self.assertIn("not known", self.ask_with(made["token"], "jobs", code=2))
        self.assertIn("no token", self.ask("token", "revoke", made["id"], code=2))

    def test_a_server_is_killed_while_tokens_are_made(self):
        self.start()
        for _ in range(5):
            clients = [subprocess.Popen([str(PROGRAM), "token", "create", "--role", "viewer",
                                         "--json"], stdout=subprocess.PIPE, text=True,
                                        stderr=subprocess.DEVNULL, env=self.environment())
                       for _ in range(8)]
            first = clients[0].communicate()[0]
            self.stop(signal.SIGKILL)
            shown = [first] + [client.communicate()[0] for client in clients[1:]]
            self.start()
            for text in filter(None, shown):
                self.ask_with(json.loads(text)["token"], "jobs")

    def test_a_damaged_file_is_refused_with_its_place(self):
        self.start()
        self.token("--role", "viewer", "--queue", "research")
        self.stop()
        kept = self.data / "tokens"
        good = kept.read_text()
        kept.write_text(good.replace("viewer", "admin"))
        ended = self.call("serve", "--data", self.data, "--listen", "127.0.0.1:0", *self.devices,
                          code=2)
        self.assertIn("/data/tokens:3:1: ", ended.stderr)
        self.assertIn("checksum", ended.stderr)
        kept.write_text(good)
        self.start()

    def test_what_makes_no_sense_is_refused(self):
        self.start()
        for words, part in ((["--role", "king"], "viewer"),
                            (["--role", "user", "--user", "no-such-user"], "has no user"),
                            (["--role", "user", "--expires", "soon"], "expires"),
                            (["--role", "admin", "--queue", "a"], "bound to no queue")):
            self.assertIn(part, self.ask("token", "create", *words, code=2))


class AuditTest(AccessCase):
    def test_every_change_is_noted(self):
        self.start()
        held = self.hold("default")
        viewer = self.token("--role", "viewer")
        self.ask_with(viewer["token"], "cancel", held, code=2)
        self.ask_with("tutti_nonsense", "cancel", held, code=2)
        self.stop(signal.SIGKILL)
        self.start()
        entries = [json.loads(line) for line in self.ask("audit", "--json").splitlines()]
        self.assertEqual([(entry["by"], entry["method"], entry["path"], entry["status"],
                           entry.get("jobs")) for entry in entries],
                         [("", "POST", f"/api/v1/jobs/{held}:cancel", 401, None),
                          (f"token {viewer['id']}", "POST", f"/api/v1/jobs/{held}:cancel", 403,
                           None),
                          (f"uid {os.geteuid()}", "POST", "/api/v1/tokens", 201, None),
                          (f"uid {os.geteuid()}", "POST", "/api/v1/jobs", 201, held)])
        self.assertEqual((self.data / "audit.log").stat().st_mode & 0o777, 0o600)
        self.assertNotIn(viewer["token"], (self.data / "audit.log").read_text())
        self.assertIn("/api/v1/tokens", self.ask("audit", "--limit", "3"))
        self.assertIn("this takes admin", self.ask_with(viewer["token"], "audit", code=2))


class LimitsTest(AccessCase):
    def test_users_have_so_many_jobs_and_ask_so_often(self):
        self.start("--jobs-per-user", "2", "--requests-per-second", "5")
        user = self.token("--role", "user", "--user", ME)["token"]
        jobs = self.file("j.yaml", "jobs:\n- {name: 'a-[0-1]', held: true, command: 'exit 0'}\n")
        self.ask_with(user, "submit", jobs)
        refused = self.ask_with(user, "submit", "--", "true", code=2)
        self.assertIn("has 2 jobs that are not over, and may have 2", refused)
        self.ask("submit", jobs)  # The administrator may.
        answers = [self.fetch("/api/v1/jobs", user) for _ in range(40)]
        self.assertEqual({status for status, _ in answers}, {200, 429})
        self.assertEqual(next(headers["Retry-After"] for status, headers in answers
                              if status == 429), "1")
        for _ in range(40):
            self.ask_json("jobs")

    def test_bodies_and_depths_are_bounded(self):
        self.start()
        token = (self.data / "admin.token").read_text().strip()
        deep = b"[" * 100_000
        for path in "/api/v1/jobs", "/api/v1/tokens":
            self.assertIn(self.fetch(path, token, "POST", deep)[0], (400, 422))
        self.assertIn(self.fetch("/api/v1/queues/a", token, "PUT", deep)[0], (400, 422))
        # A line of a batch is wrong for itself.
        self.assertEqual(self.fetch("/api/v1/jobs:batch", token, "POST", deep)[0], 200)
        try:
            self.assertEqual(self.fetch("/api/v1/jobs:batch", token, "POST",
                                        b"\n" * (65 << 20))[0], 413)
        except urllib.error.URLError as broken:  # It need not have been read to its end.
            self.assertIsInstance(broken.reason, OSError)
        self.assertIsNone(self.server.poll(), self.said())


class AttackTest(AccessCase):
    """What somebody would try: refused, or harmless."""

    def raw(self, method, target, token=""):
        """The status of a request whose path no client would write so."""
        connection = http.client.HTTPConnection(self.url.removeprefix("http://"), timeout=30)
        self.addCleanup(connection.close)
        connection.putrequest(method, target, skip_host=False)
        connection.putheader("Content-Length", "0")
        if token:
            connection.putheader("Authorization", f"Bearer {token}")
        connection.endheaders()
        return connection.getresponse().status

    def test_no_path_leads_around_the_door(self):
        self.start()
        for target in ("/healthz/../api/v1/tokens", "/healthz%2f..%2fapi/v1/tokens",
                       "//api/v1/tokens", "/api/v1/tokens/", "/api/v1/openapi.json/../tokens",
                       "/%61pi/v1/tokens", "/api/v1/tokens?token=admin", "/api/v1/tokens%00"):
            for token in "", "admin.token", "tutti_":
                self.assertIn(self.raw("GET", target, token), (400, 401), target)
        viewer = self.token("--role", "viewer")["token"]
        for target in ("/api/v1/tokens", "/%61pi/v1/tokens", "/api/v1/queues/default%2f..%2fx",
                       "/api/v1/nodes/..%2ftokens:cordon"):
            for method in "POST", "PUT", "DELETE":
                self.assertIn(self.raw(method, target, viewer), (403, 405), target)
        self.assertEqual(self.ask_json_of("token", "list")["tokens"][0]["role"], "viewer")

    def test_nothing_that_is_sent_drives_a_terminal_or_forges_a_line(self):
        self.start()
        admin = (self.data / "admin.token").read_text().strip()
        for target in ("/api/v1/jobs/%0a%1b%5b2J:cancel", "/api/v1/queues/%c2%9b2J",
                       "/x%22,%22status%22:200"):
            self.assertIn(self.raw("PUT", target, admin), (400, 404, 405), target)
        number = self.submit("--name", "x", "--", "/no/such\x1b[2J\nprogram")
        self.wait_for_state(number, "failed")
        for words in ["jobs"], ["job", number], ["explain", number], ["events"], ["audit"]:
            said = self.ask(*words)
            self.assertNotIn("\x1b", said, words)
        log = (self.data / "audit.log").read_bytes()
        self.assertEqual(len([json.loads(line) for line in log.splitlines()]), 4)
        self.assertTrue(all(byte == 10 or 32 <= byte < 127 for byte in log))


class QueuesTest(AccessCase):
    def test_queues_are_made_changed_and_tried(self):
        self.start()
        self.ask("queue", "create", "research", "--limit", "gpu=2", "--limit", "memory=1Ti")
        self.assertIn("already", self.ask("queue", "create", "research", code=2))
        self.assertIn("no queue", self.ask("queue", "set", "nosuch", "--limit", "gpu=2", code=2))
        self.ask("queue", "create", "research/vision", "--weight", "3")
        path = self.file("jobs.yaml", "jobs:\n- {name: 'big-[0-1]', queue: research/vision,"
                                      " gpus: 2, cpu: 0.1, command: 'sleep 60'}\n")
        first, second = self.ask_json("submit", path)["ids"]
        self.wait_for_state(first, "running")
        self.assertRegex(self.ask("queues"), r"(?m)^research +1 +1 +1  .*gpu 2 of 2")
        self.assertIn("queue research may use 4 gpu", self.ask("explain", second))
        said = self.ask("queue", "set", "research", "--limit", "gpu=4", "--dry-run")
        self.assertEqual(said, f"job {second} big-1 of {ME} would start\nnothing was changed\n")
        said = self.ask("queue", "set", "research", "--limit", "gpu=1", "--dry-run")
        self.assertIn("research would use 2 gpu of 1; what runs goes on\n", said)
        self.assertEqual(self.job(second)["state"], "pending")
        self.ask("queue", "set", "research", "--limit", "gpu=4")
        self.wait_for_state(second, "running")
        self.stop(signal.SIGKILL)
        self.start()
        queues = {queue["name"]: queue for queue in self.ask_json("queues")["queues"]}
        self.assertEqual(queues["research"]["limit"], {"gpu": "4", "memory": "1Ti"})
        self.assertEqual(queues["research/vision"]["weight"], 3)
        self.ask("queue", "set", "research", "--limit", "gpu=none")
        self.assertNotIn("gpu", self.ask_json("queues")["queues"][1]["limit"])


if __name__ == "__main__":
    unittest.main()
