#!/usr/bin/env python3
"""No daemon outlives who it belongs to, and a port that somebody took is no reason to fail."""
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import unittest

import binaries
from control_plane import ControlPlane
from daemons import Daemons, free_port, wait_until
from kube_case import FolderCase, needs_kubernetes

HERE = pathlib.Path(__file__).resolve().parent
STUBBORN = ["python3", "-c", "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
            "print('up', flush=True); time.sleep(600)"]
OWNER = """
import signal, sys
from control_plane import ControlPlane
plane = ControlPlane(sys.argv[1])
plane.start(kwok=False)
print("up", flush=True)
signal.pause()
"""


class DaemonsTest(FolderCase):
    def setUp(self):
        super().setUp()
        self.daemons = Daemons(self.folder, tied=True)
        self.addCleanup(self.daemons.stop)

    def test_one_is_ended_or_all(self):
        self.daemons.start("first", ["sleep", "600"])
        self.daemons.start("second", ["sleep", "600"])
        self.assertEqual(list(self.daemons.running()), ["first", "second"])
        self.daemons.stop("first")
        self.assertEqual(list(self.daemons.running()), ["second"])
        self.assertEqual(self.daemons.died(), [])
        self.daemons.stop()
        self.assertEqual(self.daemons.running(), {})

    def test_others_see_and_end_them(self):
        started = self.daemons.start("one", ["sleep", "600"])
        other = Daemons(self.folder, tied=False)
        self.assertEqual(other.running(), {"one": started.pid})
        other.stop()
        self.assertEqual(started.wait(timeout=10), -signal.SIGTERM)

    def test_who_died_is_known(self):
        self.daemons.start("brief", ["sh", "-c", "echo gone; exit 3"])
        self.assertTrue(wait_until(self.daemons.died, 20))
        self.assertEqual(self.daemons.died(), ["brief"])
        self.assertEqual(self.daemons.said("brief"), "gone")

    def test_a_number_that_came_again_is_somebody_else(self):
        self.daemons.list.write_text(f"{os.getpid()} 1 impostor\n", encoding="utf-8")
        self.assertEqual(self.daemons.running(), {})
        self.daemons.stop()  # Else this would be the end of the test.

    def test_who_does_not_go_is_killed(self):
        stubborn = self.daemons.start("stubborn", STUBBORN)
        self.assertTrue(wait_until(lambda: self.daemons.said("stubborn") == "up", 20))
        self.daemons.stop(grace_s=0.3)
        self.assertEqual(stubborn.returncode, -signal.SIGKILL)


@needs_kubernetes
class OwnerTest(FolderCase):
    def plane(self):
        return ControlPlane(self.folder, bin_folder=binaries.ensure())

    def take(self, port):
        listener = socket.create_server(("127.0.0.1", port))
        self.addCleanup(listener.close)

    def test_taken_ports_and_a_killed_owner(self):
        plane = self.plane()
        taken = {"etcd": free_port(), "api": free_port()}
        self.take(taken["etcd"])
        (self.folder / "ports.json").write_text(json.dumps(taken), encoding="utf-8")
        owner = subprocess.Popen([sys.executable, "-c", OWNER, str(self.folder)], cwd=HERE,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.addCleanup(owner.stdout.close)
        self.addCleanup(owner.wait)
        self.addCleanup(owner.kill)
        self.assertEqual(owner.stdout.readline(), "up\n")
        self.assertNotEqual(plane.port("etcd"), taken["etcd"])
        self.assertTrue(plane.answers("/readyz"))
        self.assertGreaterEqual(len(self.processes()), 4)
        owner.terminate()
        owner.wait(timeout=20)
        self.assertTrue(wait_until(lambda: not self.processes(), 20), self.processes())

    def test_what_ended_at_its_start_says_why(self):
        plane = self.plane()
        self.addCleanup(plane.stop)
        with self.assertRaisesRegex(RuntimeError, "kube-apiserver has ended(.|\n)*no-such-flag"):
            plane.start({"kube-apiserver": ["--no-such-flag"]})
        plane.stop()
        self.assertEqual(self.processes(), [])


if __name__ == "__main__":
    unittest.main()
