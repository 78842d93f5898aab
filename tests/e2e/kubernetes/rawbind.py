#!/usr/bin/env python3
"""Binds every waiting pod of $KUBECONFIG, round robin, with no thought at all: the ceiling that the
API server sets to any scheduler."""
import argparse
import contextlib
import itertools
import os
import signal
import sys
import threading

from api_client import ApiClient

THREADS = 16


def bind_all(client, threads=THREADS):
    """How many pods it has bound."""
    pods = client.list("/api/v1/pods", fieldSelector="spec.nodeName=")
    nodes = [node["metadata"]["name"] for node in client.list("/api/v1/nodes")]
    pairs = zip(pods, itertools.cycle(nodes))
    lock = threading.Lock()

    def bind():
        while True:
            with lock:
                pod, node = next(pairs, (None, None))
            if pod is None:
                return
            client.bind(pod["metadata"]["name"], node, pod["metadata"]["namespace"])

    workers = [threading.Thread(target=bind) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return len(pods)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stay", action="store_true", help="wait to be ended, as schedulers do")
    options = parser.parse_args()
    if "KUBECONFIG" not in os.environ:
        sys.exit("error: KUBECONFIG names no cluster")
    with contextlib.closing(ApiClient(os.environ["KUBECONFIG"])) as client:
        print(f"{bind_all(client)} pods bound", flush=True)
    if options.stay:
        signal.pause()


if __name__ == "__main__":
    main()
