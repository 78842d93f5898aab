#!/usr/bin/env python3
"""Writes a Kubernetes dump of any size, as `kubectl get nodes,pods -A -o json` would.

Pods look like those of a busy cluster: managed fields, environments, volumes, probes, affinities,
conditions, and a few that have ended. The same arguments give the same bytes. Nothing is held:
50 MB of memory write any number of GiB.
"""
import argparse
import json
import random
import re
import sys

LAYOUTS = ("kubectl", "pods-first")
PODS_PER_NODE = 32
POD_BYTES = {"kubectl": 20_000, "pods-first": 8_000}  # About; decides how many nodes there are.
PLACE = re.compile(r"@(\w+)@")


def fields_of(value):
    """The managedFields form of a value: every key once more, with "f:" in front."""
    if isinstance(value, dict):
        return {f"f:{key}": fields_of(inner) for key, inner in value.items()}
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return {f'k:{{"name":"{item.get("name", at)}"}}': {".": {}, **fields_of(item)}
                for at, item in enumerate(value)}
    return {}


def managed(manager, operation, content, **more):
    return {"apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields_of(content),
            "manager": manager, "operation": operation, "time": "@time@", **more}


def environment(count):
    names = [{"name": f"SERVICE_{at}_ENDPOINT",
              "value": f"http://service-{at}.@space@.svc.cluster.local:80{at:02}/@hex@"}
             for at in range(count)]
    fields = ["metadata.name", "status.podIP"]
    return names + [{"name": path.upper().replace(".", "_"),
                     "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}}
                    for path in fields]


def container(name, limits, env, **more):
    probe = {"failureThreshold": 3, "httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"},
             "periodSeconds": 10, "successThreshold": 1, "timeoutSeconds": 1}
    return {
        "args": ["--config=/etc/app/config.yaml", "--name=@name@", "--seed=@number@"],
        "command": ["/usr/bin/env", "bash", "-c", "set -e\nexec python3 -m app \"$@\"\t# start"],
        "env": environment(env), "image": f"registry.example/team/{name}:v1.@number@",
        "imagePullPolicy": "IfNotPresent", "livenessProbe": probe, "name": name,
        "ports": [{"containerPort": 8080, "name": "http", "protocol": "TCP"}],
        "readinessProbe": probe, "resources": {"limits": limits, "requests": limits},
        "securityContext": {"allowPrivilegeEscalation": False,
                            "capabilities": {"drop": ["ALL"]}, "runAsNonRoot": True},
        "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
        "volumeMounts": [{"mountPath": f"/mnt/volume-{at}", "name": f"volume-{at}"}
                         for at in range(2)], **more}


def conditions(ready):
    return [{"lastProbeTime": None, "lastTransitionTime": "@time@",
             "status": "True" if ready else "False", "type": kind}
            for kind in ("Initialized", "Ready", "ContainersReady", "PodScheduled")]


def container_status(name, phase):
    state = {"running": {"startedAt": "@time@"}} if phase == "Running" else {"waiting": {}}
    return {"containerID": "containerd://@hex@@hex@", "image": f"registry.example/team/{name}",
            "imageID": f"registry.example/team/{name}@sha256:@hex@@hex@", "lastState": {},
            "name": name, "ready": phase == "Running", "restartCount": 0, "started": True,
            "state": state}


def pod(kind, spec, phase, labels, annotations):
    """A pod of a workload called `kind`; @words@ in it are filled in for each pod."""
    labels = {"app.kubernetes.io/name": kind, "app.kubernetes.io/instance": "@owner@",
              "app.kubernetes.io/managed-by": "example", "pod-template-hash": "@number@", **labels}
    spec = {"dnsPolicy": "ClusterFirst", "enableServiceLinks": True, "nodeName": "@node@",
            "preemptionPolicy": "PreemptLowerPriority", "priority": 0, "restartPolicy": "Always",
            "schedulerName": "default-scheduler", "securityContext": {"fsGroup": 1000},
            "serviceAccount": "@space@", "serviceAccountName": "@space@",
            "terminationGracePeriodSeconds": 30,
            "tolerations": [{"effect": "NoExecute", "key": f"node.kubernetes.io/{key}",
                             "operator": "Exists", "tolerationSeconds": 300}
                            for key in ("not-ready", "unreachable")],
            "volumes": [{"configMap": {"defaultMode": 420, "name": f"@owner@-{at}"},
                         "name": f"volume-{at}"} for at in range(2)], **spec}
    names = [each["name"] for each in spec["containers"]]
    status = {"conditions": conditions(phase == "Running"),
              "containerStatuses": [container_status(name, phase) for name in names],
              "hostIP": "10.0.@byte@.7", "phase": phase, "podIP": "10.8.@byte@.9",
              "podIPs": [{"ip": "10.8.@byte@.9"}], "qosClass": "Burstable", "startTime": "@time@"}
    meta = {"annotations": annotations, "creationTimestamp": "@time@", "generateName": "@owner@-",
            "labels": labels, "name": "@name@", "namespace": "@space@",
            "ownerReferences": [{"apiVersion": "apps/v1", "blockOwnerDeletion": True,
                                 "controller": True, "kind": "ReplicaSet", "name": "@owner@",
                                 "uid": "@uid@"}],
            "resourceVersion": "@number@", "uid": "@uid@"}
    meta["managedFields"] = [
        managed("kube-controller-manager", "Update", {"spec": {**spec, "affinity": {}}}),
        managed("kubelet", "Update", {"status": status}, subresource="status")]
    if phase == "Pending":
        del spec["nodeName"]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": status}


def trainer():
    """One of eight that start together."""
    gpus = {"cpu": "96", "memory": "960Gi", "nvidia.com/gpu": "8", "rdma/hca": "4"}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchExpressions": [
            {"key": "example.com/pool", "operator": "In", "values": ["train", "shared"]}]}]}}}
    return pod("trainer", {"affinity": affinity, "containers": [container("trainer", gpus, 6)]},
               "Running", {"training.kubeflow.org/replica-type": "worker"},
               {"scheduling.k8s.io/group-name": "@group@", "example.com/notes": "é ü 漢 \"x\" \\"})


def server(phase):
    half = {"cpu": "8", "memory": "64Gi", "nvidia.com/gpu": "1"}
    apart = {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": 100, "podAffinityTerm": {"topologyKey": "kubernetes.io/hostname",
                                            "labelSelector": {"matchLabels": {"role": "web"}}}}]}}
    return pod("server", {"affinity": apart, "containers": [container("server", half, 4)]},
               phase, {"role": "server"}, {"prometheus.io/scrape": "true"})


def batch(phase):
    return pod("batch", {"containers": [container("batch", {"cpu": "4", "memory": "8Gi"}, 2)],
                         "restartPolicy": "Never"}, phase, {"role": "batch"}, {})


def machine():
    amounts = {"cpu": "128", "ephemeral-storage": "3000Gi", "hugepages-1Gi": "0",
               "memory": "2000Gi", "nvidia.com/gpu": "8", "pods": "110", "rdma/hca": "8"}
    labels = {"kubernetes.io/hostname": "@node@", "example.com/pool": "train",
              "topology.kubernetes.io/zone": "zone-@digit@",
              "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB", "nvidia.com/gpu.memory": "81920"}
    status = {"addresses": [{"address": "10.0.@byte@.7", "type": "InternalIP"}],
              "allocatable": amounts, "capacity": amounts,
              "conditions": [{"lastHeartbeatTime": "@time@", "message": "kubelet is ready",
                              "status": "True", "type": "Ready"}],
              "images": [{"names": [f"registry.example/team/image-{at}@sha256:@hex@@hex@"],
                          "sizeBytes": 123_456_789 + at} for at in range(50)]}
    meta = {"creationTimestamp": "@time@", "labels": labels, "name": "@node@", "uid": "@uid@"}
    meta["managedFields"] = [managed("kubelet", "Update", {"metadata": meta, "status": status})]
    return {"apiVersion": "v1", "kind": "Node", "metadata": meta,
            "spec": {"podCIDR": "10.8.@byte@.0/24"}, "status": status}


class Template:
    """The text of an object, cut at the words that differ from one object to the next."""

    def __init__(self, content, layout):
        if layout == "kubectl":
            text = json.dumps(content, indent=4, ensure_ascii=False)
            text = "        " + text.replace("\n", "\n        ")
        else:
            text = json.dumps(content, separators=(",", ":"), ensure_ascii=False)
        self.parts = PLACE.split(text)

    def fill(self, words):
        return "".join(part if at % 2 == 0 else words[part] for at, part in enumerate(self.parts))


def words_of(draw, number, nodes):
    node = f"gpu-{draw.randrange(nodes):05}"
    bits = f"{draw.getrandbits(128):032x}"
    owner = f"job-{number // 16:06}"
    return {"name": f"{owner}-{bits[:5]}-{number:07}", "owner": owner, "node": node, "hex": bits,
            "space": f"team-{number // 16 % 97}", "group": f"gang-{number // 8:06}",
            "number": str(number), "byte": str(number % 256), "digit": str(number % 4),
            "uid": "-".join((bits[:8], bits[8:12], bits[12:16], bits[16:20], bits[20:])),
            "time": f"2024-0{1 + number % 9}-1{number % 10}T0{number % 10}:30:00Z"}


def objects(size, layout, seed):
    """The texts of nodes and pods, some `size` bytes together."""
    draw = random.Random(seed)
    nodes = max(4, size // (POD_BYTES[layout] * PODS_PER_NODE))
    # By sixteens: two gangs, most servers run, and some pods wait or have ended.
    kinds = [Template(each, layout) for each in
             [trainer(), trainer(), server("Running"), batch("Running"), server("Running"),
              server("Pending"), batch("Succeeded")]]
    node = Template(machine(), layout)
    machines = (node.fill({**words_of(draw, at, nodes), "node": f"gpu-{at:05}"})
                for at in range(nodes))
    written = 0
    if layout != "pods-first":
        for text in machines:
            written += len(text)
            yield text
    number = 0
    while written < size:
        kind = kinds[(number // 8) % len(kinds)]
        text = kind.fill(words_of(draw, number, nodes))
        written += len(text)
        number += 1
        yield text
    if layout == "pods-first":
        yield from machines


def write_dump(file, size, layout="kubectl", seed=42):
    """How many objects `file`, opened for text, has now; its length is about `size` bytes."""
    wide = layout == "kubectl"
    file.write('{\n    "apiVersion": "v1",\n    "items": [\n' if wide else '{"items":[')
    count = 0
    for text in objects(size, layout, seed):
        file.write((",\n" if wide else ",") if count else "")
        file.write(text)
        count += 1
    file.write('\n    ],\n    "kind": "List",\n    "metadata": {\n        "resourceVersion": ""\n'
               '    }\n}\n' if wide else '],"kind":"List","apiVersion":"v1","metadata":{}}')
    return count


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("mib", type=float, help="about so many MiB")
    parser.add_argument("--layout", choices=LAYOUTS, default="kubectl",
                        help="kubectl: indented, nodes first; pods-first: one line, nodes last")
    parser.add_argument("--seed", type=int, default=42)
    options = parser.parse_args()
    sys.stdout.reconfigure(encoding="utf-8")
    write_dump(sys.stdout, int(options.mib * (1 << 20)), options.layout, options.seed)


if __name__ == "__main__":
    main()
