"""Processes that run in the background, known by a file of their folder.

Who started them may have ended: the file `daemons` has a line for each, `PID TICK NAME`. The tick
at which a process started tells it from a later one that got the same number.
"""
import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import time

# Below the range from which the kernel takes ports for outgoing connections and for port 0, so that
# a port that was free stays free while a daemon that listens on it is restarted.
PORTS = (10000, 32000)
STOP_S = 20


class TakenPort(Exception):
    """Somebody else listens there: another port may do."""


def free_port():
    while True:
        port = random.randint(*PORTS)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


def started_at(pid):
    """The tick at which a process started, or None once it has ended."""
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    state, *fields = text.rpartition(")")[2].split()
    return None if state == "Z" else fields[18]


def memory_mib(pid, what="VmRSS"):
    """Resident memory of a process; VmHWM is the most that it ever was."""
    text = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(re.search(rf"^{what}:\s+(\d+) kB$", text, re.M)[1]) / 1024


def wait_until(condition, seconds, step=0.02):
    """Whether the condition came to hold in time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(step)
    return True


def end(pid, tick, how, grace_s):
    """Ends the process that started at that tick: asks it, and if it does not go, kills it."""
    for each in (how, signal.SIGKILL):
        if started_at(pid) != tick:
            return
        os.kill(pid, each)
        if wait_until(lambda: started_at(pid) != tick, grace_s):
            return


class Daemons:
    """The processes of a folder, in the order of their start.

    `tied`: they die with the thread that started them, even if that is killed.
    """

    def __init__(self, folder, tied):
        self.folder, self.tied = pathlib.Path(folder), tied
        self.list = self.folder / "daemons"
        self.started = {}  # Those that are our children: to be waited for.

    def log(self, name):
        return self.folder / "log" / f"{name}.log"

    def said(self, name, lines=20):
        """The end of what it wrote."""
        try:
            text = self.log(name).read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return ""
        return "\n".join(text.splitlines()[-lines:])

    def start(self, name, command, **more):
        self.log(name).parent.mkdir(parents=True, exist_ok=True)
        words = ["setpriv", "--pdeathsig", "KILL", "--"] if self.tied else []
        with self.log(name).open("ab") as log:
            process = subprocess.Popen([*words, *map(str, command)], stdin=subprocess.DEVNULL,
                                       stdout=log, stderr=log, start_new_session=True, **more)
        self.started[process.pid] = process
        with self.list.open("a", encoding="utf-8") as file:
            file.write(f"{process.pid} {started_at(process.pid)} {name}\n")
        return process

    def known(self):
        """(pid, tick, name) of those that were started and not stopped, in that order."""
        if not self.list.exists():
            return []
        lines = self.list.read_text(encoding="utf-8").splitlines()
        return [(int(pid), tick, name) for pid, tick, name in map(str.split, lines)]

    def running(self):
        """{name: pid} of those that live."""
        return {name: pid for pid, tick, name in self.known() if started_at(pid) == tick}

    def died(self):
        """Names of those that ended by themselves."""
        return [name for pid, tick, name in self.known() if started_at(pid) != tick]

    def stop(self, name=None, how=signal.SIGTERM, grace_s=STOP_S):
        """Ends one, or all of them, newest first; who does not go in time is killed."""
        ending = [each for each in self.known() if name in (None, each[2])]
        for pid, tick, _ in reversed(ending):
            end(pid, tick, how, grace_s)
            if pid in self.started:
                self.started.pop(pid).wait()
        if not ending:
            return
        rest = [each for each in self.known() if each not in ending]
        self.list.write_text("".join(f"{pid} {tick} {name}\n" for pid, tick, name in rest),
                             encoding="utf-8")
