#!/usr/bin/env python3
"""Node objects as the plugins of vendors label them; KWOK plays their kubelets.

As a program it prints a List: ./fake_nodes.py 16 --model H100 | kubectl create -f -
"""
import argparse
import json

import binaries

RACK, ZONE = 16, 128  # Nodes.


def nvidia(product, memory_mib):
    """Labels of GPU Feature Discovery."""
    return lambda count: ({"nvidia.com/gpu": count}, {
        "nvidia.com/gpu.product": product, "nvidia.com/gpu.memory": str(memory_mib),
        "nvidia.com/gpu.count": str(count), "nvidia.com/gpu.replicas": "1",
        "nvidia.com/cuda.driver.major": "570", "nvidia.com/cuda.driver.minor": "86",
        "nvidia.com/cuda.runtime.major": "12", "nvidia.com/cuda.runtime.minor": "8"})


def mig(product, memory_mib, slices):
    """Cards that are cut into slices, each size a resource of its own (strategy `mixed`)."""
    def make(count):
        _, labels = nvidia(product, memory_mib)(count)
        amounts = {f"nvidia.com/mig-{size}": each * count for size, each in slices.items()}
        return {"nvidia.com/gpu": 0, **amounts}, {
            **labels, "nvidia.com/mig.strategy": "mixed", "nvidia.com/mig.capable": "true",
            **{f"{name}.count": str(amount) for name, amount in amounts.items()}}
    return make


def plain(resource, **labels):
    return lambda count: ({resource: count}, labels)


MODELS = {
    "A100": nvidia("NVIDIA-A100-SXM4-80GB", 81920),
    "H100": nvidia("NVIDIA-H100-80GB-HBM3", 81559),
    "L4": nvidia("NVIDIA-L4", 23034),
    "A100-MIG": mig("NVIDIA-A100-SXM4-80GB", 81920, {"3g.40gb": 1, "1g.10gb": 4}),
    "MI300X": plain("amd.com/gpu", **{"amd.com/gpu.product-name": "AMD_Instinct_MI300X_OAM",
                                      "amd.com/gpu.vram": "192G"}),
    "Gaudi2": plain("habana.ai/gaudi"),
    "Ascend910B3": plain("huawei.com/Ascend910B3"),
    "none": lambda count: ({}, {}),
}


def node(name, model="A100", devices=8, labels=None, taints=(), annotations=None, **amounts):
    """A node; `amounts` are what else it has or has otherwise: cpu=4, memory="16Gi"."""
    cards, of_vendor = MODELS[model](devices)
    resources = {"cpu": "96", "memory": "768Gi", "pods": "110", "ephemeral-storage": "1Ti",
                 **cards, **amounts}
    resources = {key: str(value) for key, value in resources.items()}
    unknown = dict.fromkeys(("bootID", "containerRuntimeVersion", "kernelVersion",
                             "kubeProxyVersion", "machineID", "osImage", "systemUUID"), "")
    return {
        "apiVersion": "v1", "kind": "Node",
        "metadata": {
            "name": name,
            "annotations": {"kwok.x-k8s.io/node": "fake", **(annotations or {})},
            "labels": {"kubernetes.io/hostname": name, "kubernetes.io/arch": "amd64",
                       "kubernetes.io/os": "linux", **of_vendor, **(labels or {})}},
        "spec": {"taints": list(taints)},
        "status": {
            "capacity": resources, "allocatable": resources,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
            "nodeInfo": {**unknown, "architecture": "amd64", "operatingSystem": "linux",
                         "kubeletVersion": binaries.version()}}}


def fleet(count, **shape):
    """So many equal nodes, in racks and zones."""
    return [node(f"node-{i:05d}", **shape, labels={
        "topology.kubernetes.io/zone": f"zone-{i // ZONE}",
        "topology.tutti.io/rack": f"rack-{i // RACK}"}) for i in range(count)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("count", type=int)
    parser.add_argument("--model", choices=MODELS, default="A100")
    parser.add_argument("--devices", type=int, default=8, help="of each node, else 8")
    options = parser.parse_args()
    nodes = fleet(options.count, model=options.model, devices=options.devices)
    print(json.dumps({"apiVersion": "v1", "kind": "List", "items": nodes}))


if __name__ == "__main__":
    main()
