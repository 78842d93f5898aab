#!/usr/bin/env python3
"""`./dev run`: a server on the machine of examples/node.yaml, with the jobs of examples/serve.yaml.

Ctrl-C or SIGTERM ends it, --for SECONDS does too, and without a terminal it ends after a minute, so
that no script waits for ever. What still runs or waits then is cancelled, since tasks outlive their
server; how the jobs went stays in its data folder."""
import argparse
import json
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
LIVE = "pending,running,held"
START_S = 60
STOP_S = 60
UNWATCHED_S = 60

LOOK = """
In another terminal:
  cd {root}
  export TUTTI_SERVER={socket} PATH={programs}:$PATH
  tutti jobs                   # what runs and what waits
  tutti explain {tune:<14} # why tune waits, and what would make it start
  tutti explain {pretrain:<14} # why pretrain can never start here
  tutti whatif --cancel {train} {tune:<4} # would tune start if train were gone?
  tutti logs -f {train:<14} # what train prints, to its end
  tutti top                    # all of it, again and again
  tutti submit --gpus 1 -- sleep 30
Over HTTP: {url}, with the token in {data}/admin.token
The simulator: build/release/tutti sim --help, or an example: ./dev sim
"""


class Server:
    """`tutti serve`, in a session of its own: Ctrl-C is for this script, which ends it in order."""

    def __init__(self, program, data, options):
        self.program = program
        self.ready = data / "ready"
        data.mkdir(parents=True, exist_ok=True)
        self.ready.unlink(missing_ok=True)
        self.process = subprocess.Popen(
            [program, "serve", "--data", data, "--ready-file", self.ready, *options],
            stdin=subprocess.DEVNULL, start_new_session=True)
        self.url = self.socket = None

    def wait_until_ready(self):
        end = time.monotonic() + START_S
        while not self.ready.exists():
            if self.process.poll() is not None or time.monotonic() > end:
                sys.exit(self.process.poll() or 2)
            time.sleep(0.05)
        self.url, self.socket = self.ready.read_text(encoding="utf-8").split()

    def ask(self, *words):
        """The client's answer; its errors and warnings are shown."""
        return json.loads(subprocess.run(
            [self.program, *words, "--json", "--server", self.socket],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True).stdout)

    def jobs(self, states):
        return self.ask("jobs", "--state", states)["jobs"]

    def stop(self):
        if self.socket and self.process.poll() is None:
            for job in self.jobs(LIVE):
                subprocess.run([self.program, "cancel", job["id"], "--server", self.socket],
                               stdout=subprocess.DEVNULL, check=False)
            end = time.monotonic() + STOP_S
            while self.jobs(LIVE) and time.monotonic() < end:
                time.sleep(0.1)
        if self.process.poll() is None:
            self.process.terminate()
        return self.process.wait(timeout=STOP_S)


def arguments():
    parser = argparse.ArgumentParser(
        prog="./dev run", description="A server to try out, with the jobs of examples/serve.yaml",
        epilog="What else tutti serve takes goes to it: ./dev run --listen 127.0.0.1:0. With "
               "--node-file, --device or --fake-devices it is that machine.")
    parser.add_argument("--program", default=ROOT / "build/release/tutti", help=argparse.SUPPRESS)
    parser.add_argument("--data", type=pathlib.Path, default=ROOT / "build/run",
                        help="folder of all that the server keeps; else build/run")
    parser.add_argument("--for", dest="seconds", type=float, metavar="SECONDS",
                        help="end by itself; without a terminal after %d s" % UNWATCHED_S)
    options, rest = parser.parse_known_args()
    named = {word.split("=")[0] for word in rest}
    if not named & {"--node-file", "--device", "--fake-devices"}:
        rest += ["--node-file", str(ROOT / "examples/node.yaml")]
    if options.seconds is None and not sys.stdin.isatty():
        options.seconds = UNWATCHED_S
    return options, rest


def watch(server, options):
    server.wait_until_ready()
    server.ask("submit", str(ROOT / "examples/serve.yaml"))
    ids = {job["name"]: job["id"] for job in server.jobs(LIVE)}
    print(LOOK.format(root=shlex.quote(str(ROOT)), socket=shlex.quote(server.socket),
                      programs=shlex.quote(str(pathlib.Path(options.program).resolve().parent)),
                      url=server.url, data=options.data, **ids))
    print(f"It ends after {options.seconds:g} s." if options.seconds else "Ctrl-C ends it.",
          flush=True)
    try:
        server.process.wait(timeout=options.seconds)
    except subprocess.TimeoutExpired:
        pass


def interrupt(*_):
    for each in ENDING:  # A second Ctrl-C does not leave tasks behind.
        signal.signal(each, signal.SIG_IGN)
    raise KeyboardInterrupt


def main():
    options, rest = arguments()
    for each in ENDING:
        signal.signal(each, interrupt)
    server = Server(options.program, options.data.resolve(), rest)
    try:
        watch(server, options)
    except KeyboardInterrupt:
        print("\nending: what still runs or waits is cancelled", flush=True)
    except subprocess.CalledProcessError as error:  # The client has said why.
        return error.returncode
    finally:
        ended = server.stop()
    return ended


if __name__ == "__main__":
    sys.exit(main())
