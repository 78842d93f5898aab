#!/usr/bin/env python3
"""How fast, and at what cost, a scheduler binds waiting one-GPU pods on a fresh control plane.

  ./scheduler_bench.py rawbind --nodes 1000 --pods 1000
  ./scheduler_bench.py kube-scheduler --nodes 1000 --pods 1000
  ./scheduler_bench.py mine --scheduler-name mine -- ./mine --some-option

The pods wait before it starts; it finds the cluster by $KUBECONFIG, as its administrator. Rates
are counted from the API server's audit log, between the first binding and the last.
"""
import argparse
import collections
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import binaries
import fake_nodes
from control_plane import ControlPlane
from daemons import memory_mib, wait_until

HERE = pathlib.Path(__file__).resolve().parent
LIMIT_S = 1800
TICKS = os.sysconf("SC_CLK_TCK")
POD = {"containers": [{"name": "c", "image": "x", "resources": {
    "requests": {"cpu": "4", "memory": "16Gi"}, "limits": {"nvidia.com/gpu": 1}}}]}


def replica_set(count, scheduler_name):
    labels = {"app": "bench"}
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "bench"},
            "spec": {"replicas": count, "selector": {"matchLabels": labels}, "template": {
                "metadata": {"labels": labels},
                "spec": {**POD, "schedulerName": scheduler_name}}}}


def say(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


def count(client, path):
    page = client.get(f"{path}?limit=1")
    return len(page["items"]) + page["metadata"].get("remainingItemCount", 0)


def cpu_s(pid):
    """What all its threads took, in the kernel, too."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def command_of(options, plane):
    if options.command:
        return options.command
    if options.name == "rawbind":
        return [sys.executable, str(HERE / "rawbind.py"), "--stay"]
    if options.name == "kube-scheduler":
        return [str(plane.bin / "kube-scheduler"), *map(str, plane.scheduler())]
    sys.exit(f"error: what {options.name} is stands behind --")


def bound(plane):
    """Bindings so far; the whole log is parsed once, at the end."""
    with plane.audit_path.open("rb") as log:
        return sum(b'"subresource":"binding"' in line for line in log)


def measure(options, plane, stack):
    """Runs the scheduler until all pods are bound; what that took."""
    client = plane.client()
    stack.callback(client.close)
    plane.create(fake_nodes.fleet(options.nodes))
    if options.prepare:
        subprocess.run(options.prepare, shell=True, check=True, stdout=sys.stderr,
                       env={**os.environ, "KUBECONFIG": str(plane.kubeconfig("admin"))})
    client.create(replica_set(options.pods, options.scheduler_name))
    wait_until(lambda: count(client, "/api/v1/pods") >= options.pods, LIMIT_S, step=1)
    say(f"{options.nodes} nodes and {options.pods} waiting pods; now {options.name}")
    time.sleep(3)  # Nothing else is going on.
    start = time.time()
    with (plane.folder / "log" / "scheduler.log").open("wb") as log:
        process = subprocess.Popen(
            command_of(options, plane), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            env={**os.environ, "KUBECONFIG": str(plane.kubeconfig("admin"))})
    try:
        wait_until(lambda: process.poll() is not None or bound(plane) >= options.pods, LIMIT_S,
                   step=0.5)
        if process.poll() is not None:
            said = (plane.folder / "log" / "scheduler.log").read_text(errors="replace")
            sys.exit(f"error: {options.name} has ended:\n{said[-2000:]}")
        cpu, peak = cpu_s(process.pid), memory_mib(process.pid, "VmHWM")
    finally:
        process.kill()
        process.wait()
    return result(options, start, cpu, peak, plane.audit())


def result(options, start, cpu, peak, changes):
    at = [change.at for change in changes if change.bound]
    other = collections.Counter(f"{change.verb} pods/{change.part}".rstrip("/")
                                for change in changes
                                if change.at > start and change.part != "binding")
    return {"scheduler": options.name, "nodes": options.nodes, "pods": len(at),
            "pods_per_s": (len(at) - 1) / ((max(at) - min(at)) or 1),
            "first_bind_s": min(at) - start, "last_bind_s": max(at) - start,
            "cpu_us_per_pod": cpu / len(at) * 1e6, "peak_mib": peak, "other_writes": other}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help="rawbind, kube-scheduler, or that of the command")
    parser.add_argument("--nodes", type=int, default=1000, help="of 8 GPUs each, else 1000")
    parser.add_argument("--pods", type=int, default=1000, help="of 1 GPU each, else 1000")
    parser.add_argument("--scheduler-name", default="default-scheduler", help="of the pods")
    parser.add_argument("--prepare", help="a shell command before there are pods (CRDs)")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("command", nargs="*", help="what to run, unless the name says it")
    return parser.parse_args()


def main():
    options = arguments()
    binaries.ensure()
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        plane = ControlPlane(folder)
        stack.callback(plane.stop)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        plane.start(kwok=False)
        found = measure(options, plane, stack)
    if options.json:
        print(json.dumps(found, indent=1))
        return
    print("{scheduler}: {pods} pods on {nodes} nodes: {pods_per_s:.0f} pods/s, first bind after "
          "{first_bind_s:.2f} s, all after {last_bind_s:.1f} s; {cpu_us_per_pod:.0f} us CPU a pod, "
          "{peak_mib:.0f} MiB at most; other writes: ".format(**found)
          + (", ".join(f"{n} {what}" for what, n in found["other_writes"].items()) or "none"))


if __name__ == "__main__":
    main()
