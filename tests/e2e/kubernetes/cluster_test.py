#!/usr/bin/env python3
"""`./dev kube` gives a developer a cluster, says how to use it, and takes all of it away."""
import os
import pathlib
import re
import subprocess
import sys
import unittest

from kube_case import FolderCase, needs_kubernetes

ROOT = pathlib.Path(__file__).resolve().parents[3]


@needs_kubernetes
class ClusterTest(FolderCase):
    def kube(self, *words):
        """What it prints, errors included, and whether that was well."""
        done = subprocess.run(
            [sys.executable, str(ROOT / "tools" / "kube.py"), *words, "--folder",
             str(self.folder / "cluster")], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, check=False)
        return done.stdout, done.returncode == 0

    def test_up_and_down(self):
        self.addCleanup(self.kube, "down")
        self.assertEqual(self.kube("down"), ("no cluster is up\n", True))
        said, well = self.kube("up", "--nodes", "2", "--model", "H100")
        self.assertTrue(well, said)
        self.assertIn("2 nodes of 8 x H100", said)
        export = re.search(r"^ +(export .*)$", said, re.M)[1]
        nodes = subprocess.run(["sh", "-c", f"{export}; kubectl get nodes -o name"],
                               capture_output=True, text=True, check=True).stdout
        self.assertEqual(nodes.split(), ["node/node-00000", "node/node-00001"])

        before = self.processes()
        said, well = self.kube("up")
        self.assertTrue(well, said)
        self.assertRegex(said, r"^a cluster is up: etcd \d+ MiB, kube-apiserver \d\d+ MiB, ")
        self.assertIn(export, said)
        self.assertEqual(self.processes(), before)

        keep = self.folder / "cluster" / "notes"
        keep.write_text("mine", encoding="utf-8")
        said, well = self.kube("down")
        self.assertTrue(well, said)
        self.assertIn("ended: etcd", said)
        self.assertEqual(self.processes(), [])
        self.assertEqual(os.listdir(keep.parent), ["notes"])


if __name__ == "__main__":
    unittest.main()
