#!/usr/bin/env python3
"""`tutti serve --kubernetes` places the pods of a real cluster."""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from kube_case import KubeCase

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tutti_case import PROGRAM  # noqa: E402

GPU = "nvidia.com/gpu"


class ServeTest(KubeCase):
    def setUp(self):
        super().setUp()
        self.server = None
        self.log = tempfile.TemporaryFile()
        self.addCleanup(self.log.close)
        self.addCleanup(self.stop)

    def start(self, *words):
        self.server = subprocess.Popen(
            [PROGRAM, "serve", "--kubernetes", *words], stdin=subprocess.DEVNULL, stdout=self.log,
            stderr=self.log,
            env={**os.environ, "KUBECONFIG": str(self.plane.kubeconfig("admin"))})
        self.wait_for(lambda: "tutti binds" in self.said(), "the scheduler")

    def stop(self, number=signal.SIGTERM):
        if self.server is None:
            return
        self.server.send_signal(number)
        code = self.server.wait(20)
        self.server = None
        self.assertEqual(code, 0 if number == signal.SIGTERM else -number, self.said())

    def said(self):
        self.log.seek(0)
        return self.log.read().decode()

    def node_of(self, pod):
        return self.pod(pod)["spec"].get("nodeName")

    def wait_for_nodes(self, **nodes):
        def where():
            found = {pod: self.node_of(pod) for pod in nodes}
            return found if found == nodes else None
        self.wait_for(where, f"{nodes}\n{self.said()}")

    def remain_unbound(self, *pods):
        """Long enough for a cycle, and then some."""
        time.sleep(1)
        self.assertEqual([self.node_of(pod) for pod in pods], [None] * len(pods), self.said())

    def test_pods_of_ours_are_placed_beside_those_of_others(self):
        for name in "one", "two":
            self.add_node(name, model="A100", devices=8)
        self.add_pod("theirs", scheduler="default-scheduler", cpu=1, **{GPU: 8})
        self.bind("theirs", "two")
        self.add_pod("first", cpu=1, **{GPU: 4})
        self.start()
        self.wait_for_nodes(first="one")
        self.add_pod("second", cpu=1, **{GPU: 4})
        self.wait_for_nodes(second="one")
        self.add_pod("third", cpu=1, **{GPU: 4})
        self.add_pod("unasked", scheduler="default-scheduler", cpu=1)
        self.remain_unbound("third", "unasked")
        self.client.delete(f"{self.within}/pods/theirs", 0)
        self.wait_for_nodes(third="two")
        self.assertEqual(self.offences(), [])

    def test_a_gang_starts_together_or_not_at_all(self):
        for name in "one", "two":
            self.add_node(name, model="H100", devices=8)
        self.start()
        group = {"annotations": {"scheduling.k8s.io/group-name": "ring",
                                 "scheduling.volcano.sh/group-min-member": "3"}}
        for rank in range(3):
            self.add_pod(f"rank-{rank}", cpu=1, **group, **{GPU: 8})
        self.add_pod("small", cpu=1, **{GPU: 1})
        self.wait_for(lambda: self.node_of("small"), "what fits beside it")
        self.remain_unbound("rank-0", "rank-1", "rank-2")
        self.client.delete(f"{self.within}/pods/small", 0)
        self.add_node("three", model="H100", devices=8)
        self.wait_for(lambda: len({self.node_of(f"rank-{rank}") for rank in range(3)} - {None})
                      == 3, f"the gang\n{self.said()}")
        self.assertEqual(self.offences(), [])

    def test_a_new_scheduler_finds_what_the_old_one_did(self):
        self.add_node("one", model="A100", devices=8)
        self.start("--scheduler-name", "tutti", "--scheduler-name", "mine")
        self.add_pod("large", scheduler="mine", cpu=1, **{GPU: 6})
        self.wait_for_nodes(large="one")
        self.stop(signal.SIGKILL)
        self.add_pod("next", cpu=1, **{GPU: 4})
        self.start()
        self.remain_unbound("next")
        self.client.delete(f"{self.within}/pods/large", 0)
        self.wait_for_nodes(next="one")
        self.assertEqual(self.offences(), [])


if __name__ == "__main__":
    unittest.main()
