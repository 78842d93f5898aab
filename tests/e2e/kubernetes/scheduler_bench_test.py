#!/usr/bin/env python3
"""The bench counts what a scheduler did, and notices one that ends."""
import json
import os
import pathlib
import subprocess
import sys
import unittest
import unittest.mock

import scheduler_bench
from audit_log import Change
from kube_case import FolderCase, needs_kubernetes

HERE = pathlib.Path(__file__).resolve().parent


class ResultTest(unittest.TestCase):
    def test_rates_are_between_the_first_binding_and_the_last(self):
        options = unittest.mock.Mock(nodes=2)
        changes = [Change(90, "kcm", "create", "", "a/", 201)]
        changes += [Change(101 + i / 2, "me", "create", "binding", f"a/{i}", 201) for i in range(5)]
        changes += [Change(102, "me", "create", "binding", "a/0", 409),
                    Change(102, "me", "patch", "status", "a/0", 200)]
        found = scheduler_bench.result(options, 100, 0.5, 64, changes)
        self.assertEqual((found["pods"], found["pods_per_s"]), (5, 2))
        self.assertEqual((found["first_bind_s"], found["last_bind_s"]), (1, 3))
        self.assertEqual(found["cpu_us_per_pod"], 100_000)
        self.assertEqual(found["other_writes"], {"patch pods/status": 1})


@needs_kubernetes
class BenchTest(FolderCase):
    def bench(self, *words):
        return subprocess.run(
            [sys.executable, str(HERE / "scheduler_bench.py"), *words, "--nodes", "5", "--pods",
             "20", "--json"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
            check=False, env={**os.environ, "TMPDIR": str(self.folder)})

    def test_rawbind(self):
        done = self.bench("rawbind")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual((found["pods"], found["nodes"]), (20, 5))
        self.assertGreater(found["pods_per_s"], 1)
        self.assertGreater(found["cpu_us_per_pod"], 10)
        self.assertGreater(found["peak_mib"], 5)
        self.assertEqual(self.processes(), [])

    def test_a_scheduler_that_ends(self):
        done = self.bench("mine", "--", "sh", "-c", "echo no config; exit 1")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertRegex(done.stderr, "mine has ended:\nno config")
        self.assertEqual(self.processes(), [])


if __name__ == "__main__":
    unittest.main()
