"""A server of the test's own, on a free port and a socket in a folder of its own."""
import json
import os
import pathlib
import signal
import subprocess
import time

from tutti_case import PROGRAM, TuttiCase


class ServeCase(TuttiCase):
    """`self.start()` starts a server, which ends with the test; `self.ask()` calls the client."""

    def setUp(self):
        super().setUp()
        self.data = self.folder / "data"
        self.server = None
        self.addCleanup(self.kill_tasks)
        self.addCleanup(self.stop)

    devices = ("--fake-devices", "8xA100-80G")

    def start(self, *options, env=None, **more):
        ready = self.folder / "ready"
        ready.unlink(missing_ok=True)
        self.log = open(self.folder / "server.log", "ab")
        self.addCleanup(self.log.close)
        self.server = subprocess.Popen(
            [str(PROGRAM), "serve", "--data", str(self.data), "--listen", "127.0.0.1:0",
             "--ready-file", str(ready), *self.devices, *map(str, options)],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
            env={**os.environ, **(env or {})}, **more)
        self.wait_for(lambda: ready.exists() or self.server.poll() is not None, "a ready file")
        self.assertIsNone(self.server.poll(), self.said())
        self.url, self.socket = ready.read_text().split()

    def said(self):
        return (self.folder / "server.log").read_text(errors="replace")

    def stop(self, how=signal.SIGTERM):
        if self.server is None:
            return
        if self.server.poll() is None:
            self.server.send_signal(how)
        self.server.wait(timeout=60)
        self.server = None

    def kill_tasks(self):
        """Ends all that the server left running, without a word: tasks outlive their server."""
        marks = [str(self.data / "tasks").encode()]
        for path in (self.data / "tasks").glob("*/identity.json"):
            marks.append(json.loads(path.read_text())["mark"].encode())
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                known = (folder / "cmdline").read_bytes() + (folder / "environ").read_bytes()
                if any(mark in known for mark in marks):
                    os.kill(int(folder.name), signal.SIGKILL)
            except OSError:
                continue  # It has ended, or was never ours.

    def wait_for(self, condition, what, seconds=60):
        end = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), end, f"waited in vain for {what}\n{self.said()}")
            time.sleep(0.02)

    def ask(self, *words, code=0, **more):
        """What the client says."""
        return self.tutti(*words, code=code, env=self.environment(), **more)

    def environment(self):
        return {**os.environ, "TUTTI_SERVER": self.socket}

    def ask_json(self, *words):
        return json.loads(self.ask(words[0], "--json", *words[1:]))

    def submit(self, *words):
        """The id of a job that runs a command."""
        return self.ask_json("submit", *words)["id"]

    def job(self, number):
        return self.ask_json("job", number)

    def wait_for_state(self, number, *states):
        self.wait_for(lambda: self.job(number)["state"] in states, f"job {number} to be {states}")
        return self.job(number)
