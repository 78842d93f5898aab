#!/usr/bin/env python3
"""`tutti sim` reads what kubectl prints of a real cluster."""
import json
import pathlib
import sys
import unittest

from kube_case import KubeCase

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tutti_case import TuttiCase  # noqa: E402

GPU, AMD = "nvidia.com/gpu", "amd.com/gpu"


class SimTest(KubeCase, TuttiCase):
    def test_a_dump_of_a_real_cluster(self):
        for model, devices in (("A100", 8), ("H100", 8), ("L4", 4), ("MI300X", 8), ("none", 0)):
            self.add_node(model.lower(), model=model, devices=devices)
        for name, where, amounts in (("train", "h100", {GPU: 8}), ("tune", "a100", {GPU: 2}),
                                     ("web", "none", {}), ("done", "a100", {GPU: 6})):
            ends = {"tutti.test/run-for": "100ms"} if name == "done" else {}
            self.add_pod(name, ends, cpu="1", **amounts)
            self.bind(name, where)
            self.wait_for_phase(name, "Succeeded" if ends else "Running")
        self.add_pod("fits", cpu="1", **{AMD: 8})
        self.add_pod("large", cpu="1", **{GPU: 9})
        self.assertEqual(self.offences(), [])

        dump = self.file("cluster.json", self.kubectl("get", "nodes,pods", "-A", "-o", "json"))
        words = ("sim", "--fleet", dump, "--workload", dump)
        self.assertIn("fleet cluster: 5 nodes, 28 GPUs", self.tutti(*words))
        present, planned = json.loads(self.tutti(*words, "--json", "-"))["runs"]
        for run, gpus, started in ((present, 10, 0), (planned, 18, 1)):
            with self.subTest(policy=run["policy"]):
                counts = {key: run[key] for key in ("gpus_allocated", "running", "pending",
                                                    "pending_started", "running_unplaced")}
                self.assertEqual(counts, {"gpus_allocated": gpus, "running": 3, "pending": 2,
                                          "pending_started": started, "running_unplaced": 0})


if __name__ == "__main__":
    unittest.main()
