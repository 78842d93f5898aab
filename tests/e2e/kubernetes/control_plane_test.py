#!/usr/bin/env python3
"""The control plane of the tests is a real one, and does to pods and nodes what tests ask for."""
import unittest

import binaries
import fake_nodes
import rawbind
from api_client import ApiClient, ApiError
from kube_case import KubeCase

DAEMONS = ["etcd", "kube-apiserver", "kube-controller-manager", "kwok"]
UNREACHABLE = "node.kubernetes.io/unreachable"


class ControlPlaneTest(KubeCase):
    def test_all_of_it_runs_in_its_version(self):
        self.assertEqual(sorted(self.plane.running()), DAEMONS)
        self.assertEqual(self.client.get("/version")["gitVersion"], binaries.version())
        self.assertIn(binaries.version(), self.kubectl("version"))

    def test_a_bound_pod_runs_and_ends(self):
        self.add_nodes(*fake_nodes.fleet(2))
        self.add_pod("good", {"tutti.test/run-for": "1s"}, cpu="1", **{"nvidia.com/gpu": 8})
        self.add_pod("bad", {"tutti.test/run-for": "1s", "tutti.test/exit-code": "7"}, cpu="1")
        self.assertEqual(self.pod("good")["status"]["phase"], "Pending")
        self.assertEqual(rawbind.bind_all(self.client, threads=2), 2)
        good = self.wait_for_phase("good", "Succeeded")
        self.assertIn("startTime", good["status"])
        bad = self.wait_for_phase("bad", "Failed")
        ended = bad["status"]["containerStatuses"][0]["state"]["terminated"]
        self.assertEqual((ended["exitCode"], ended["reason"]), (7, "Error"))
        self.assertEqual({good["spec"]["nodeName"], bad["spec"]["nodeName"]},
                         {"node-00000", "node-00001"})
        self.assertEqual(self.offences(), [])

    def test_a_kubelet_refuses_a_pod(self):
        self.add_node("strict")
        self.add_pod("refused", {"tutti.test/refuse": "UnexpectedAdmissionError"}, cpu="1")
        self.bind("refused", "strict")
        status = self.wait_for_phase("refused", "Failed")["status"]
        self.assertEqual(status["reason"], "UnexpectedAdmissionError")

    def test_a_deleted_pod_takes_its_time(self):
        self.add_node("slow")
        self.add_pod("patient", {"tutti.test/grace": "2s"}, cpu="1")
        self.bind("patient", "slow")
        self.wait_for_phase("patient", "Running")
        self.client.delete(f"{self.within}/pods/patient")
        self.assertIn("deletionTimestamp", self.pod("patient")["metadata"])
        self.wait_for(lambda: self.pod("patient") is None, "the pod to be gone")

    def test_a_node_is_lost_and_comes_back(self):
        self.add_node("frail")
        self.wait_for(lambda: self.condition("frail") == "True", "a ready node")
        path = "/api/v1/nodes/frail"
        self.client.patch(path, {"metadata": {"annotations": {"tutti.test/down": "1"}}})
        self.wait_for(lambda: self.condition("frail") == "Unknown", "a lost node")
        self.wait_for(lambda: UNREACHABLE in self.taints("frail"), "the controller's taint")
        self.client.patch(path, {"metadata": {"annotations": {"tutti.test/down": None}}})
        self.wait_for(lambda: self.condition("frail") == "True", "a node that is back")
        self.wait_for(lambda: UNREACHABLE not in self.taints("frail"), "no taint")

    def taints(self, node):
        return [taint["key"] for taint in self.node(node)["spec"].get("taints", ())]

    def test_a_user_may_do_what_is_granted(self):
        tutti = self.plane.client("tutti")
        self.addCleanup(tutti.close)
        pods, secrets = f"{self.within}/pods", f"{self.within}/secrets"
        self.assertEqual(self.client.list(secrets), [])
        for path in (pods, secrets):
            self.assert_refused(403, tutti.get, path)
        rights = {"apiVersion": "rbac.authorization.k8s.io/v1",
                  "metadata": {"name": "reader", "namespace": self.namespace}}
        self.client.create({**rights, "kind": "Role", "rules": [
            {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]})
        self.client.create({**rights, "kind": "RoleBinding", "subjects": [
            {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "tutti"}],
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role",
                        "name": "reader"}})
        self.wait_for(lambda: self.may(tutti, pods), "the right to read pods")
        self.assert_refused(403, tutti.get, secrets)
        stranger = ApiClient(self.plane.kubeconfig("tutti"))
        self.addCleanup(stranger.close)
        stranger.token = "guessed"
        self.assert_refused(401, stranger.get, pods)

    def may(self, client, path):
        try:
            client.get(path)
        except ApiError:
            return False
        return True

    def assert_refused(self, code, what, *words):
        with self.assertRaises(ApiError) as refused:
            what(*words)
        self.assertEqual(refused.exception.code, code)

    def test_its_daemons_restart_alone_and_forget_nothing(self):
        self.add_pod("kept", cpu="1")
        for name in ("etcd", "kube-apiserver"):
            before = self.plane.running()
            self.plane.restart(name)
            after = self.plane.running()
            self.assertEqual({each for each in DAEMONS if before[each] != after[each]}, {name})
        self.client.close()
        self.assertEqual(self.pod("kept")["status"]["phase"], "Pending")
        self.add_node("after")
        self.bind("kept", "after")
        self.wait_for_phase("kept", "Running")

    def test_the_stock_scheduler_binds_what_fits(self):
        self.add_node("small", devices=1)
        for name in ("first", "second"):
            self.add_pod(name, scheduler="default-scheduler", cpu="1", **{"nvidia.com/gpu": 1})
        self.plane.start_daemon("kube-scheduler")
        self.addCleanup(self.plane.stop_daemon, "kube-scheduler")
        names = {"first", "second"}
        self.wait_for(lambda: any(self.node_of(name) for name in names), "a binding")
        self.wait_for(lambda: any(self.reason(name) == "Unschedulable" for name in names),
                      "a pod that waits")
        self.assertEqual(sorted(self.node_of(name) or "" for name in names), ["", "small"])
        self.assertEqual(self.offences(), [])

    def node_of(self, pod):
        return self.pod(pod)["spec"].get("nodeName")

    def reason(self, pod):
        return next((each.get("reason") for each in self.pod(pod)["status"].get("conditions", ())
                     if each["type"] == "PodScheduled"), None)


if __name__ == "__main__":
    unittest.main()
