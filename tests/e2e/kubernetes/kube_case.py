"""A Kubernetes control plane for the tests of a class, and what they ask of it.

The programs are built when they are missing and Go is there; without both the tests are skipped.
"""
import contextlib
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import binaries
import daemons
import fake_nodes
import state_checker
from api_client import ApiError
from control_plane import ControlPlane

WAIT_S = 60


needs_kubernetes = unittest.skipUnless(
    binaries.go() or not binaries.missing(binaries.folder()),
    "missing: Go %d.%d, which builds a Kubernetes control plane" % binaries.GO_NEEDED)


class FolderCase(unittest.TestCase):
    """A folder of the test's own, and the processes that it is about."""

    def setUp(self):
        super().setUp()
        holder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name).resolve()

    def processes(self):
        """Those whose command line names the folder."""
        found = []
        for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):  # It has ended.
                if str(self.folder).encode() in path.read_bytes():
                    found.append(path.parent.name)
        return sorted(found)


@needs_kubernetes
class KubeCase(unittest.TestCase):
    """`cls.plane` runs from the first test of a class to its last; each test has a namespace, and
    takes away the nodes and pods that it added."""

    flags = {}  # Daemon: what else it is given.

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        holder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(holder.cleanup)
        cls.plane = ControlPlane(holder.name, bin_folder=binaries.ensure())
        cls.addClassCleanup(cls.plane.stop)
        cls.plane.start(cls.flags)
        cls.client = cls.plane.client()
        cls.addClassCleanup(cls.client.close)

    def setUp(self):
        super().setUp()
        self.namespace = self.id().rpartition(".")[2].replace("_", "-").lower()[:60].strip("-")
        self.within = f"/api/v1/namespaces/{self.namespace}"
        self.client.create({"apiVersion": "v1", "kind": "Namespace",
                            "metadata": {"name": self.namespace}})
        self.addCleanup(self.client.delete, self.within)
        self.addCleanup(self.client.delete, f"{self.within}/pods", 0)
        self.wait_for(lambda: self.found(f"{self.within}/serviceaccounts/default"),
                      "the account that pods run as")

    def found(self, path):
        """The object, or None."""
        try:
            return self.client.get(path)
        except ApiError as error:
            if error.code != 404:
                raise
            return None

    def wait_for(self, condition, what, seconds=WAIT_S):
        """What the condition came to be."""
        last = None

        def holds():
            nonlocal last
            last = condition()
            return last

        if not daemons.wait_until(holds, seconds, step=0.05):
            self.fail(f"waited in vain for {what}: {last}")
        return last

    def add_nodes(self, *nodes):
        for node in nodes:
            self.client.create(node)
            self.addCleanup(self.client.delete, f"/api/v1/nodes/{node['metadata']['name']}")

    def add_node(self, name, **shape):
        """A node as fake_nodes.node makes it."""
        self.add_nodes(fake_nodes.node(name, **shape))

    def node(self, name):
        return self.client.get(f"/api/v1/nodes/{name}")

    def condition(self, node, kind="Ready"):
        return next((each["status"] for each in self.node(node)["status"]["conditions"]
                     if each["type"] == kind), None)

    def add_pod(self, name, annotations=None, labels=None, scheduler="tutti", **amounts):
        """A pod of one container that asks for `amounts`: cpu="2", **{"nvidia.com/gpu": 1}."""
        amounts = {key: str(value) for key, value in amounts.items()}
        return self.client.create({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": self.namespace,
                         "annotations": annotations or {}, "labels": labels or {}},
            "spec": {"schedulerName": scheduler, "containers": [
                {"name": "main", "image": "none",
                 "resources": {"requests": amounts, "limits": amounts}}]}})

    def pod(self, name):
        return self.found(f"{self.within}/pods/{name}")

    def bind(self, pod, node):
        self.client.bind(pod, node, self.namespace)

    def wait_for_phase(self, name, phase):
        """The pod once it is there."""
        self.wait_for(lambda: (self.pod(name) or {"status": {"phase": "gone"}})["status"]["phase"]
                      == phase, f"pod {name} to be {phase}")
        return self.pod(name)

    def offences(self, groups=()):
        return state_checker.offences(self.client, self.plane.audit(), groups)

    def kubectl(self, *words):
        """What kubectl prints; it costs a hundred calls of the client."""
        done = subprocess.run(
            [self.plane.bin / "kubectl", *words], capture_output=True, text=True, check=False,
            env={**os.environ, "KUBECONFIG": str(self.plane.kubeconfig("admin"))})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def kubectl_json(self, *words):
        return json.loads(self.kubectl(*words, "-o", "json"))
