#!/usr/bin/env python3
"""How fast does `tutti serve` answer, beside a server that does nothing but wait for the disk?

Starts servers of its own on this machine, in a temporary folder; tutti_bench_api asks them.
Runs of both servers alternate, so that what else the machine does slows down both. A row that is
worse than it must be makes the exit code 1.
"""
import argparse
import contextlib
import json
import os
import pathlib
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
# More GPUs than the machine has: such jobs are accepted, and wait.
WAITING_JOB = '{"name":"wait","gpus":64,"command":["true"]}\n'
BATCH = 100_000
BEGIN = time.monotonic()


def say(text):
    print(f"bench: {time.monotonic() - BEGIN:4.0f} s  {text}", file=sys.stderr, flush=True)


class Row:
    """One line of the table. `higher`: is more better?"""

    def __init__(self, what, unit, must, aim, higher=False):
        self.what, self.unit, self.must, self.aim, self.higher = what, unit, must, aim, higher
        self.measured = self.null = None
        self.beside = ""
        self.broken = []  # What else is not as it must be.

    def better(self, bound):
        return self.measured >= bound if self.higher else self.measured <= bound

    def verdict(self):
        if self.broken or self.measured is None or not self.better(self.must):
            return "MISSED"
        return "aim" if self.better(self.aim) else "must"

    def json(self):
        names = ("what", "unit", "measured", "must", "aim", "null", "beside", "broken")
        return {**{name: getattr(self, name) for name in names}, "verdict": self.verdict()}


def resident_mib(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"process {pid} has ended")


def stop(process):
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class Bench:
    """The programs, a folder, and what is asked of servers."""

    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.tool = str(options.build / "tutti_bench_api")
        self.program = str(options.build / "tutti")
        self.disk = []  # Waits a second that the disk alone allows.

    def measure(self, mode, **words):
        """What tutti_bench_api prints."""
        return self.result(self.begin(mode, **words))

    def begin(self, mode, **words):
        options = [f"--{name.replace('_', '-')}={value}" for name, value in words.items()]
        return subprocess.Popen([self.tool, mode, *options], stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, text=True)

    @staticmethod
    def result(process):
        out, _ = process.communicate(timeout=120)
        if process.returncode != 0:
            raise RuntimeError(f"tutti_bench_api ended with {process.returncode}")
        found = json.loads(out)
        if found.get("refused"):
            raise RuntimeError(f"the server refused {found['refused']} requests")
        return found

    def file(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    @contextlib.contextmanager
    def null_server(self):
        with subprocess.Popen([self.tool, "null", "--file", str(self.folder / "null")],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              text=True) as process:
            try:
                yield process.stdout.readline().strip()
            finally:
                stop(process)

    @contextlib.contextmanager
    def server(self):
        with tempfile.TemporaryDirectory(prefix="server-", dir=self.folder) as data:
            server = Server(self, pathlib.Path(data))
            try:
                server.wait()
                yield server
            finally:
                stop(server.process)
                server.log.close()

    def measure_disk(self):
        self.disk.append(self.measure("disk", file=self.folder / "disk", seconds=1)["per_second"])


class Server:
    """A `tutti serve` on loopback."""

    def __init__(self, bench, data):
        self.bench, self.data = bench, data
        self.ready = data / "ready"
        self.log = open(data / "log", "w+", encoding="utf-8")
        self.process = subprocess.Popen(
            [bench.program, "serve", "--data", str(data / "data"), "--listen", "127.0.0.1:0",
             "--ready-file", str(self.ready), "--fake-devices", "8xA100-80G"],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        self.url = self.socket = self.token = ""

    def wait(self):
        end = time.monotonic() + 30
        while not self.ready.exists():
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError("the server did not start:\n" + (self.data / "log").read_text())
            time.sleep(0.01)
        self.url, self.socket = self.ready.read_text().split()
        self.token = (self.data / "data" / "admin.token").read_text().strip()

    def load(self, path, begin=False, **words):
        ask = self.bench.begin if begin else self.bench.measure
        return ask("load", url=self.url + path, token=self.token, **words)

    def batch(self, jobs):
        """Submits so many at once; returns how long that took, in seconds."""
        body = self.bench.file("batch", WAITING_JOB * jobs)
        return self.load("/api/v1/jobs:batch", requests=1, seconds=60, file=body)["seconds"]

    def resident_mib(self):
        return resident_mib(self.process.pid)

    def tutti(self, *words):
        done = subprocess.run([self.bench.program, *words], stdin=subprocess.DEVNULL, check=True,
                              capture_output=True, text=True,
                              env={**os.environ, "TUTTI_SERVER": self.socket})
        return done.stdout


def submits(bench, server, connections, row):
    """Durable submits, in turns with the null server; the share of the rates."""
    body = bench.file("job", '{"job":' + WAITING_JOB.strip() + "}")
    words = {"connections": connections, "seconds": bench.options.seconds, "file": body}
    ours, null = [], []
    with bench.null_server() as url:
        for _ in range(bench.options.turns):
            bench.measure_disk()
            null.append(bench.measure("load", url=url + "/api/v1/jobs", **words))
            ours.append(server.load("/api/v1/jobs", **words))
    rates = [statistics.fmean(each["per_second"] for each in runs) for runs in (ours, null)]
    row.measured, row.null = rates[0] / rates[1], rates[1]
    row.beside = (f"{rates[0]:.0f}/s, p50 {ours[-1]['p50_us'] / 1e3:.2f} ms, "
                  f"p99 {ours[-1]['p99_us'] / 1e3:.2f} ms")
    return row


def submits_over_one(bench, server):
    row = Row("durable submits, 1 connection", "of null's", 0.4, 0.7, higher=True)
    submits(bench, server, 1, row)
    disk = statistics.fmean(bench.disk)
    if row.null < disk / 2:
        row.broken.append(f"the null server made {row.null:.0f}/s of {disk:.0f}/s that the disk "
                          "allows: its own cost hides what is measured")
    return [row]


def submits_over_many(bench, server):
    row = Row("durable submits, 64 connections", "of null's", 0.5, 0.8, higher=True)
    return [submits(bench, server, 64, row)]


def batch_and_memory(bench, server):
    before = server.resident_mib()
    batch = Row(f"batch submit of {BATCH} jobs", "s", 5, 1)
    batch.measured = server.batch(BATCH)
    batch.beside = f"{BATCH / batch.measured:.0f}/s"
    memory = Row(f"memory, {BATCH} live jobs", "MiB", 500, 150)
    memory.measured = server.resident_mib()
    memory.beside = f"{before:.0f} MiB before them"
    for known in range(BATCH, bench.options.jobs, BATCH):
        say(f"{known} jobs known")
        server.batch(min(BATCH, bench.options.jobs - known))
    return [batch, memory]


def reads(bench, server):
    path = "/api/v1/jobs?state=pending"
    alone = Row(f"first page of pending, {bench.options.jobs} known", "ms", 5, 1)
    found = server.load(path, seconds=bench.options.seconds)
    alone.measured = found["p50_us"] / 1e3
    alone.beside = f"p99 {found['p99_us'] / 1e3:.2f} ms"
    body = bench.file("job", '{"job":' + WAITING_JOB.strip() + "}")
    writes = server.load("/api/v1/jobs", begin=True, connections=64, file=body,
                         seconds=bench.options.seconds * 2 + 1)
    time.sleep(0.5)
    found = server.load(path, seconds=bench.options.seconds * 2)
    beside = bench.result(writes)
    busy = Row("p99 of reads while 64 submit", "ms", 20, 5)
    busy.measured = found["p99_us"] / 1e3
    busy.beside = f"p50 {found['p50_us'] / 1e3:.2f} ms; {beside['per_second']:.0f} submits/s"
    return [alone, busy]


def first_write(bench, server):
    """From just before the client is started to the clock that the task prints first."""
    row = Row("client's exec -> first write, median", "ms", 40, 12)
    environment = {**os.environ, "TUTTI_SERVER": server.socket}
    words = [bench.program, "submit", "--json", "--chdir", "/", "--", shutil.which("date"), "+%s%N"]
    took = []
    for _ in range(bench.options.starts):
        read_end, write_end = os.pipe()
        begin = time.time_ns()
        pid = os.posix_spawn(words[0], words, environment,
                             file_actions=[(os.POSIX_SPAWN_DUP2, write_end, 1)])
        os.close(write_end)
        with os.fdopen(read_end) as said:
            number = json.loads(said.read())["id"]
        os.waitpid(pid, 0)
        took.append((int(server.tutti("logs", "-f", number)) - begin) / 1e6)
        time.sleep(0.1)  # Until the server is idle again.
    took.sort()
    row.measured = statistics.median(took)
    row.beside = f"p99 {took[int(len(took) * 0.99)]:.1f} ms, best {took[0]:.1f} ms"
    return [row]


def readers(bench, server):
    count = bench.options.readers
    if count == 0:
        return []
    before = most = server.resident_mib()
    process = bench.begin("readers", url=server.url, token=server.token, connections=count - 1,
                          per_second=500, seconds=bench.options.reading)
    while process.poll() is None:
        most = max(most, server.resident_mib())
        time.sleep(0.2)
    found = bench.result(process)
    late = Row(f"{count} event readers x 500/s, p99", "ms", 250, 100)
    late.measured = found["p99_us"] / 1e3
    late.beside = f"p50 {found['p50_us'] / 1e3:.1f} ms"
    if found["events"] != found["wanted"]:
        late.broken.append(f"{found['events']} of {found['wanted']} events came")
    growth = Row("growth of memory meanwhile", "MiB", 64, 64)
    growth.measured = most - before
    slow = Row("events that the slow reader missed", "", 0, 0)
    slow.measured = found["pushed"] - found["slow_before"] - found["slow_resumed"]
    slow.beside = f"{found['slow_before']} before, {found['slow_resumed']} when it came back"
    if not found["slow_cut_off"]:
        slow.broken.append("it was not cut off")
    return [late, growth, slow]


SERVERS = [[submits_over_one, submits_over_many], [batch_and_memory, reads],
           [first_write, readers]]


def measure_all(bench):
    rows = []
    for group in SERVERS:
        with bench.server() as server:
            for part in group:
                say(part.__name__.replace("_", " "))
                rows += part(bench, server)
    return rows


def print_table(rows, bench):
    print(f"{'what':<38} {'measured':>9} {'must':>6} {'aim':>6} {'unit':<10} {'verdict':<8} "
          f"{'null/s':>7}  beside")
    for row in rows:
        null = "" if row.null is None else f"{row.null:.0f}"
        print(f"{row.what:<38} {row.measured:>9.2f} {row.must:>6} {row.aim:>6} {row.unit:<10} "
              f"{row.verdict():<8} {null:>7}  {row.beside}")
        for each in row.broken:
            print(f"  {each}")
    disk = statistics.fmean(bench.disk)
    print(f"the disk alone: {disk:.0f} waits/s, {1e3 / disk:.2f} ms each; "
          f"load of the machine {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=pathlib.Path, help="write the table there, too")
    parser.add_argument("--jobs", type=int, default=1_000_000, help="known when pages are read")
    parser.add_argument("--readers", type=int, default=1_000, help="of events; 0: none")
    parser.add_argument("--reading", type=float, default=20,
                        help="seconds: enough for the slow one to fall behind by 1 MiB")
    parser.add_argument("--seconds", type=float, default=2, help="of each run of submits")
    parser.add_argument("--turns", type=int, default=3, help="of the null server and ours")
    parser.add_argument("--starts", type=int, default=30, help="of a job on an idle server")
    parser.add_argument("--folder", help="on the disk that is measured; else a temporary one")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    options = parser.parse_args()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with tempfile.TemporaryDirectory(prefix="tutti-bench-", dir=options.folder) as folder:
        bench = Bench(options, pathlib.Path(folder))
        rows = measure_all(bench)
    print_table(rows, bench)
    if options.json:
        found = {"rows": [row.json() for row in rows], "disk_per_second": bench.disk,
                 "cores": os.cpu_count(), "load": os.getloadavg()[0]}
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    return 1 if any(row.verdict() == "MISSED" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
