#!/usr/bin/env python3
"""The checker finds what is planted, and nothing else."""
import unittest

import state_checker
from audit_log import Change
from fake_nodes import node
from kube_case import KubeCase

GPU = "nvidia.com/gpu"


def container(**requests):
    return {"name": "c", "resources": {"requests": requests}}


def sidecar(**requests):
    return {**container(**requests), "restartPolicy": "Always"}


def pod(name, where=None, phase="Running", annotations=None, labels=None, **spec):
    spec.setdefault("containers", [container(cpu="1")])
    if where:
        spec["nodeName"] = where
    return {"metadata": {"name": name, "namespace": "a", "labels": labels or {},
                         "annotations": annotations or {}},
            "spec": spec, "status": {"phase": phase}}


def change(verb, name, part="", code=201, user="tutti"):
    return Change(0, user, verb, part, name, code)


class StateCheckerTest(unittest.TestCase):
    def test_quantities(self):
        for text, value in (("500m", "1/2"), ("1.5Gi", 3 << 29), ("1e3", 1000), ("2Ki", 2048),
                            ("12E", 12 * 10**18), ("0", 0), (7, 7), ("100u", "1/10000")):
            self.assertEqual(state_checker.quantity(text), state_checker.quantity(1)
                             * state_checker.fractions.Fraction(value), text)

    def taken(self, resource="cpu", **spec):
        return state_checker.taken(pod("p", **spec))[resource]

    def test_what_a_pod_takes(self):
        two = [container(cpu="1"), container(cpu="2")]
        self.assertEqual(self.taken(containers=two), 3)
        self.assertEqual(self.taken("pods"), 1)
        self.assertEqual(self.taken(containers=two, initContainers=[container(cpu="5")]), 5)
        self.assertEqual(self.taken(containers=two, initContainers=[
            container(cpu="3"), sidecar(cpu="2")]), 5)
        self.assertEqual(self.taken(containers=two, initContainers=[
            sidecar(cpu="2"), container(cpu="4")]), 6)
        self.assertEqual(self.taken(containers=two, overhead={"cpu": "250m"}) * 4, 13)
        self.assertEqual(self.taken(containers=two, resources={"requests": {"cpu": "10"}}), 10)
        limits = [{"resources": {"limits": {GPU: "4"}}}]
        self.assertEqual(self.taken(GPU, containers=limits), 4)

    def test_a_node_over_its_capacity(self):
        full = [pod(str(i), "n", containers=[container(cpu="2")]) for i in range(2)]
        nodes = [node("n", cpu=4)]
        self.assertEqual(list(state_checker.over_capacity(nodes, full)), [])
        ended = [*full, pod("old", "n", "Succeeded"), pod("waits")]
        self.assertEqual(list(state_checker.over_capacity(nodes, ended)), [])
        more = [*full, pod("more", "n", containers=[container(cpu="1m")])]
        self.assertEqual(list(state_checker.over_capacity(nodes, more)),
                         ["node n: 4.001 cpu taken of 4"])
        crowd = [*full, pod("third", "n", containers=[container()])]
        self.assertEqual(list(state_checker.over_capacity([node("n", cpu=4, pods=2)], crowd)),
                         ["node n: 3 pods taken of 2"])
        lost = [pod("lost", "nowhere")]
        self.assertIn("node nowhere: 1 cpu taken of 0",
                      list(state_checker.over_capacity(nodes, lost)))

    def test_a_pod_bound_twice(self):
        bind = change("create", "a/p", "binding")
        refused = change("create", "a/p", "binding", code=409, user="other")
        again = change("create", "a/p", "binding", user="other")
        self.assertEqual(list(state_checker.bound_twice([bind, refused])), [])
        self.assertEqual(list(state_checker.bound_twice([bind, again])),
                         ["pod a/p: bound by tutti, and by other"])
        for gone in (change("delete", "a/p", code=200),
                     change("deletecollection", "a/", code=200)):
            self.assertEqual(list(state_checker.bound_twice([bind, gone, again])), [])
        elsewhere = change("deletecollection", "ab/", code=200)
        self.assertEqual(len(list(state_checker.bound_twice([bind, elsewhere, again]))), 1)

    def test_a_gang_that_is_partly_bound(self):
        for how in ({"annotations": {"scheduling.k8s.io/group-name": "g"}},
                    {"annotations": {"tutti.io/gang": "g"}},
                    {"labels": {"scheduling.x-k8s.io/pod-group": "g"}}):
            gang = [pod("0", "n", **how), pod("1", **how), pod("2", "n", **how)]
            self.assertEqual(list(state_checker.partial_gangs(gang, [])),
                             ["gang a/g: 2 of 3 pods bound"])
            group = {"metadata": {"name": "g", "namespace": "a"}, "spec": {"minMember": 2}}
            self.assertEqual(list(state_checker.partial_gangs(gang, [group])), [])
            none = [pod("0", **how), pod("1", **how)]
            self.assertEqual(list(state_checker.partial_gangs(none, [])), [])


class PlantedTest(KubeCase):
    def test_an_overcommit_on_a_real_cluster(self):
        self.add_node("tight", devices=2)
        for name in ("one", "two"):
            self.add_pod(name, cpu="1", **{GPU: 1})
            self.bind(name, "tight")
        self.assertEqual(self.offences(), [])
        self.add_pod("three", {"tutti.io/gang": "trio"}, cpu="1", **{GPU: 1})
        self.add_pod("four", {"tutti.io/gang": "trio"}, cpu="1", **{GPU: 1})
        self.bind("three", "tight")
        self.assertEqual(self.offences(), [
            f"node tight: 3 {GPU} taken of 2", f"gang {self.namespace}/trio: 1 of 2 pods bound"])


if __name__ == "__main__":
    unittest.main()
