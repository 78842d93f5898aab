#!/usr/bin/env python3
"""`./dev kube`: a Kubernetes cluster on this machine, without containers and without root.

`up` starts a real control plane (tests/e2e/kubernetes/control_plane.py) with fake nodes that have
GPUs; what is bound to them runs, as far as Kubernetes can see. `down` ends it and forgets it.
"""
import argparse
import pathlib
import shlex
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "e2e" / "kubernetes"))
import binaries  # noqa: E402
import daemons  # noqa: E402
import fake_nodes  # noqa: E402
from control_plane import ControlPlane  # noqa: E402

LOOK = """
  export KUBECONFIG={kubeconfig} PATH={bin}:$PATH
  kubectl get nodes
  kubectl get nodes,pods -A -o json > build/cluster.json
  build/release/tutti sim --fleet build/cluster.json

{scheduler}; tests/e2e/kubernetes/kwok.yaml says what pods do there.
Its logs: {folder}/log. ./dev kube down ends it.
"""


def up(plane, options):
    if running := plane.running():
        sizes = (f"{name} {daemons.memory_mib(pid):.0f} MiB" for name, pid in running.items())
        print(f"a cluster is up: {', '.join(sizes)}")
        if died := plane.daemons.died():
            sys.exit(f"error: {', '.join(died)} ended by itself\nhint:  ./dev kube down")
    else:
        begin = time.monotonic()
        plane.forget()
        print(f"starting Kubernetes {binaries.version()} in {plane.folder}", flush=True)
        try:
            plane.start(scheduler=options.scheduler)
            plane.create(fake_nodes.fleet(options.nodes, model=options.model))
        except BaseException:
            plane.stop()
            raise
        print(f"up after {time.monotonic() - begin:.0f} s, with {options.nodes} nodes of "
              f"8 x {options.model}")
    scheduled = "kube-scheduler" in plane.running()
    print(LOOK.format(
        kubeconfig=shlex.quote(str(plane.kubeconfig("admin"))), bin=shlex.quote(str(plane.bin)),
        folder=plane.folder,
        scheduler="kube-scheduler binds pods" if scheduled else "Nothing binds pods"), end="")


def down(plane):
    running = plane.running()
    plane.stop()
    plane.forget()
    print(f"ended: {', '.join(running)}" if running else "no cluster is up")


def main():
    parser = argparse.ArgumentParser(prog="./dev kube", description=__doc__.split("\n\n")[1],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("up", "down"))
    parser.add_argument("--nodes", type=int, default=16, help="of 8 GPUs each, else 16")
    parser.add_argument("--model", choices=fake_nodes.MODELS, default="A100",
                        help="of the GPUs, else A100")
    parser.add_argument("--scheduler", action="store_true", help="start the stock one, too")
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build" / "kubernetes",
                        help="of all that it keeps, else build/kubernetes")
    options = parser.parse_args()
    if options.what == "down":
        down(ControlPlane(options.folder, tied=False))
        return
    try:
        up(ControlPlane(options.folder, tied=False, bin_folder=binaries.ensure()), options)
    except binaries.BuildError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
