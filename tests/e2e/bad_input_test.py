#!/usr/bin/env python3
"""Bad input of every kind, to every reader and command: a clear error, exit code 2, nothing half
written. bad_input.py has the tables."""
import concurrent.futures
import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import tempfile
import threading
import unittest

import bad_input as bad
from tutti_case import FLEET, JOBS, PROGRAM, ROOT, TuttiCase

NOBODY = 65534
TIME_S = 60
MEMORY_KIB = 2 << 20
NODES = "nodes:\n  - name: n0\n    cpu: 8\n    gpus: 4xT4\n"
TABLE = "sn,cpu_milli,memory_mib,gpu,model\nn,8000,9000,4,T4\n"
PODS = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,1000,1000,1,500\n"
CATALOG = ("catalog: 1\ndevices:\n"
           "  - {name: N1, vendor: nvidia, kind: npu, memory_mib: 1024, source: ours}\n")
SCENARIO = "nodes n: cpu 4\nsubmit j: cpu 1\nexpect j running\n"


def node(gpus="8", name="n0"):
    return {"kind": "Node", "metadata": {"name": name},
            "status": {"allocatable": {"cpu": "64", "nvidia.com/gpu": gpus}}}


def pod(gpus="1", name="p"):
    limits = {"resources": {"limits": {"nvidia.com/gpu": gpus}}}
    return {"kind": "Pod", "metadata": {"name": name, "namespace": "x"},
            "spec": {"containers": [{"name": "c", **limits}]}}


def dump(*items):
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})


# A good text for each reader, and the command line that reads it.
READERS = {
    "fleet": (NODES, ["sim", "--workload", JOBS, "--fleet"]),
    "fleet_json": (json.dumps({"nodes": [{"name": "n0", "cpu": 8}]}),
                   ["sim", "--workload", JOBS, "--fleet"]),
    "jobs": ("jobs:\n  - name: j\n    gpus: 1\n", ["sim", "--fleet", FLEET, "--workload"]),
    "policy": (bad.POLICY, ["sim", "--fleet", FLEET, "--workload", JOBS, "--policy"]),
    "checked_fleet": (NODES, ["config", "check"]),
    "checked_jobs": ("jobs:\n  - name: j\n    gpus: 1\n", ["config", "check"]),
    "checked": (bad.POLICY, ["config", "check"]),
    "catalog": (CATALOG, ["sim", "--fleet", FLEET, "--workload", JOBS, "--catalog"]),
    "shown": (CATALOG, ["catalog", "--catalog"]),
    "scenario": (SCENARIO, ["sim", "scenario"]),
    "nodes": (TABLE, ["sim", "--workload", JOBS, "--fleet"]),
    "pods": (PODS, ["sim", "--fleet", FLEET, "--workload"]),
    "dump": (dump(node(), pod()), ["sim", "--fleet"]),
}


class Done:
    def __init__(self, code, out, err, peak_kib):
        self.code, self.out, self.err, self.peak_kib = code, out, err, peak_kib


def run(words, stdout=None, **options):
    """Runs the program; `stdout` takes the place of what is kept of it."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen([str(PROGRAM), *map(str, words)], stdin=subprocess.DEVNULL,
                                   stdout=out if stdout is None else stdout, stderr=err, **options)
        late = threading.Timer(TIME_S, process.kill)
        late.start()
        _, status, usage = os.wait4(process.pid, 0)
        late.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
        return Done(process.returncode, *texts, usage.ru_maxrss)


def contents(folder):
    """Everything in a folder, but for what is no file or may not be read."""
    return {path.name: path.read_bytes() for path in folder.iterdir()
            if path.is_file() and os.access(path, os.R_OK)}


class BadInputCase(TuttiCase):
    def setUp(self):
        super().setUp()
        self.folder.chmod(0o755)

    def file(self, name, text):
        path = self.folder / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def refused(self, words, *parts, folder=None, **options):
        """The error of a command that must fail, checked for all that every error has."""
        folder = folder or self.folder
        before = contents(folder)
        done = run(words, **options)
        said = f"{[str(word)[:200] for word in words]}\n{done.code}\n{done.out}{done.err}"[:4000]
        self.assertEqual(done.code, 2, said)  # Also not killed, which is what happens after TIME_S.
        self.assertRegex(done.err, r"\Aerror: [^\n]+\n(hint:  [^\n]+\n)?\Z", said)
        self.assertNotRegex(done.err, r"[\x00-\x09\x0b-\x1f\x7f]", said)
        self.assertLess(len(done.err), 2000, said)
        self.assertNotRegex(done.out, r"^With |^No policy", said)
        for part in parts:
            self.assertIn(part, done.err, said)
        self.assertLess(done.peak_kib, MEMORY_KIB, said)
        self.assertEqual(contents(folder), before, said)
        return done.err

    def good(self, words, **options):
        done = run(words, **options)
        self.assertEqual(done.code, 0, f"{words}\n{done.out}{done.err}")
        return done.out

    def rows(self, table, words, name, wrap="{}", placed=True):
        """Each row's text as a file behind these words, in a folder of its own; several at once."""
        def trouble(row):
            text, part = row
            with tempfile.TemporaryDirectory(dir=self.folder) as inside:
                path = pathlib.Path(inside) / name
                path.write_text(wrap.replace("{}", text), encoding="utf-8", newline="")
                names_file = [f"error: {path}"] if placed else []
                try:
                    self.refused([*words, path], *names_file, part, folder=path.parent)
                except AssertionError as failed:
                    return failed
            return None

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for (text, _), failed in zip(table, pool.map(trouble, table)):
                with self.subTest(text=text[:200]):
                    if failed:
                        raise failed


class FileTest(BadInputCase):
    """What a file can be, other than the text that its reader wants."""

    def test_the_good_text_is_read(self):
        for name, (text, words) in READERS.items():
            for kind, data in (("plain", text), ("mark", "\ufeff" + text),
                               ("crlf", text.replace("\n", "\r\n")), ("no_end", text.rstrip())):
                with self.subTest(reader=name, kind=kind):
                    self.good([*words, self.file(f"{name}.{kind}", data)])

    def test_what_is_no_text(self):
        for name, (text, words) in READERS.items():
            half = len(text) // 2
            halves = text[:half].encode(), text[half:].encode()
            for kind, data in (("empty", b""), ("blank", b" \n\n\t\n"), ("comment", b"# only\n"),
                               ("nul", b"\0".join(halves)), ("utf8", b"\xff".join(halves)),
                               ("utf16", b"\xff\xfe" + text.encode("utf-16-le")),
                               ("gzip", b"\x1f\x8b\x08\0\0\0\0"),
                               ("binary", bytes(range(256)) * 10),
                               ("long", b"x" * 1_000_000), ("deep", b"[" * 100_000)):
                path = self.file(f"{name}.{kind}", data)
                with self.subTest(reader=name, kind=kind):
                    error = self.refused([*words, path], f"error: {path}:")
                    if kind not in ("empty", "blank", "comment"):
                        self.assertRegex(error, re.escape(str(path)) + r":\d+:\d+: ")

    def test_what_is_no_file(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        (self.folder / "folder.d").mkdir()
        for name, (text, words) in READERS.items():
            self.file(f"{name}.good", text)
            for path, part in ((self.folder / "folder.d", "s a directory" if name != "scenario"
                                else "no scenario"),
                               (self.folder / f"{name}.goood", f"did you mean \"{self.folder}"),
                               (self.folder / "no" / "x", "No such file"),
                               (self.folder / f"{name}.good" / "x", "Not a directory"),
                               ("/dev/null", "/dev/null"), ("/dev/zero", "/dev/zero"),
                               (pipe, str(pipe)), ("", "the value is empty")):
                with self.subTest(reader=name, path=path):
                    self.refused([*words, path], part)

    def test_no_permission(self):
        if os.geteuid() != 0:
            self.skipTest("missing: root, who alone can become nobody")
        # The program may lie where nobody else can go: it is started by its descriptor.
        program = os.open(PROGRAM, os.O_RDONLY)
        self.addCleanup(os.close, program)
        nobody = {"executable": f"/proc/self/fd/{program}", "pass_fds": [program],
                  "user": NOBODY, "group": NOBODY, "extra_groups": [], "cwd": "/"}
        fleet, jobs = (self.file(path.name, path.read_bytes()) for path in (FLEET, JOBS))
        for name, (text, words) in READERS.items():
            words = [fleet if word == FLEET else jobs if word == JOBS else word for word in words]
            path = self.file(f"{name}.mine", text)
            self.good([*words, path], **nobody)
            path.chmod(0)
            with self.subTest(reader=name):
                self.refused([*words, path], f"{path}: cannot read: Permission denied", **nobody)
            path.chmod(0o644)
        target = self.folder / "report.json"
        sim = ["sim", "--fleet", fleet, "--workload", jobs, "--json"]
        self.refused([*sim, target], f"{target}: cannot write: Permission denied", **nobody)
        self.folder.chmod(0o777)
        self.file("report.json", "former").chmod(0o444)
        self.refused([*sim, target], "Permission denied", **nobody)
        self.assertEqual(target.read_text(encoding="utf-8"), "former")

    def test_the_wrong_kind(self):
        pods = self.file("pods.csv", PODS)
        for words, part in ((["sim", "--workload", JOBS, "--fleet", pods], "give it as --workload"),
                            (["sim", "--fleet", JOBS, "--workload", FLEET], "describes no nodes"),
                            (["config", "check", "--catalog", FLEET, FLEET], "this is no catalog"),
                            (["sim", "scenario", FLEET], "is no verb")):
            with self.subTest(words=words):
                self.refused(words, part)

    def test_a_policy_file_cannot_be_what_a_dump_records(self):
        cluster = self.file("cluster.json", dump(node(), pod()))
        self.refused(["sim", "--fleet", cluster, "--policy",
                      self.file("present.yaml", bad.POLICY)], "rename the file")


class ContentTest(BadInputCase):
    """What texts say: numbers, names, circles, fields that do not exist."""

    def test_fields_of_nodes(self):
        for field, table in bad.NODES.items():
            wrap = bad.FLEET.format(field, "{}")
            self.rows(table, READERS["fleet"][1], "f.yaml", wrap)

    def test_fields_of_jobs(self):
        for field, table in bad.JOBS.items():
            wrap = bad.JOB.format(field, "{}")
            self.rows(table, READERS["jobs"][1], "j.yaml", wrap)

    def test_whole_fleets_and_policies(self):
        self.rows(bad.FLEETS, READERS["fleet"][1], "f.yaml")
        self.rows(bad.POLICIES, READERS["checked"][1], "p.yaml")
        self.rows(bad.FLEETS, READERS["checked"][1], "f.yaml")
        self.rows(bad.POLICIES, READERS["policy"][1], "p.yaml")

    def test_whole_workloads(self):
        # What jobs want of the fleet is not seen in their file alone.
        self.rows(bad.WORKLOADS, READERS["jobs"][1], "j.yaml", placed=False)

    def test_scenarios(self):
        self.rows(bad.SCENARIOS, READERS["scenario"][1], "s.scn")

    def test_catalogs(self):
        self.rows(bad.CATALOGS, READERS["shown"][1], "c.yaml")
        self.rows(bad.CATALOGS, READERS["catalog"][1], "c.yaml")

    def test_tables(self):
        rows = READERS["nodes"][1], READERS["pods"][1]
        self.rows(bad.NODE_ROWS, rows[0], "n.csv", bad.NODE_HEAD + "{}\n")
        self.rows(bad.POD_ROWS, rows[1], "p.csv", bad.POD_HEAD + "{}\n")
        self.rows(bad.TABLES, rows[0], "n.csv")

    def test_dumps(self):
        words = READERS["dump"][1]
        self.rows(bad.DUMPS, words, "k.json")
        for value, part in bad.OFFERS:
            with self.subTest(offers=value):
                path = self.file("k.json", dump(node(value), pod()))
                self.refused([*words, path], f"{path}:1:", "node n0", part)
        for value, part in bad.ASKS:
            with self.subTest(asks=value):
                path = self.file("k.json", dump(node(), pod(value)))
                self.refused([*words, path], f"{path}:1:", "pod x/p", part)
        path = self.file("k.json", dump(node(), pod(), pod()))
        self.refused([*words, path], "pod x/p appears twice")

    def test_skipping_counts_what_it_skips(self):
        path = self.file("k.json", dump(node(), pod(), pod("-1", "q")))
        out = self.good(["sim", "--fleet", path, "--skip-bad", "1"])
        self.assertIn("1 bad entry was skipped", out)
        self.refused(["sim", "--fleet", path, "--skip-bad", "0"], "negative")

    def test_wide_input_takes_no_square_time(self):
        """100 000 members where there are a handful; most are fine, some are too many."""
        many = [f"k{at * 7919 % 100_003:06}" for at in range(100_000)]
        labels = "{" + ", ".join(f"{key}: x" for key in many) + "}"
        names = ", ".join(f"{{name: {key}}}" for key in many)
        self.good([*READERS["fleet"][1], self.file("f.yaml", f"nodes: [{{name: n, labels: "
                                                   f"{labels}}}]")])
        tall = node()
        tall["metadata"]["labels"] = dict.fromkeys(many, "x")
        self.good(["sim", "--fleet", self.file("k.json", dump(tall, pod()))])
        for reader, text in (
                ("jobs", f"jobs: [{{name: j, roles: [{names}]}}]"),
                ("fleet", f"nodes: [{{name: n, devices: [{{model: T4, attributes: {labels}}}]}}]"),
                ("fleet", f"nodes: [{{name: n}}]\ntopology: [{', '.join(many)}]"),
                ("fleet", f"nodes: [{{name: n}}]\nqueues: [{names}, {{name: a, parent: b}}]"),
                ("fleet", f"nodes: [{{name: n, domains: {labels}}}]"),
                ("policy", bad.POLICY.replace("[{name: fgd}]", f"[{names}]")),
                ("nodes", ",".join(["sn", *many]) + "\n"),
                ("dump", dump(node(), {**pod(), "spec": {"containers": [
                    {"resources": {"limits": dict.fromkeys(many, "1")}}]}}))):
            with self.subTest(reader=reader, text=text[:60]):
                self.refused([*READERS[reader][1], self.file("wide", text)])


class CommandTest(BadInputCase):
    """Options and commands."""

    def test_options(self):
        sim = ["sim", "--fleet", FLEET, "--workload", JOBS]
        for words, part in bad.SIM_OPTIONS:
            with self.subTest(words=words):
                self.refused([*sim, *words], part)
        for words, part in bad.COMMANDS:
            with self.subTest(words=words):
                self.refused(words, part)

    def test_as_many_threads_as_there_are_runs(self):
        for threads in (0, 1_000_000):
            self.good(["sim", "--fleet", FLEET, "--workload", JOBS, "-j", threads])

    def test_what_is_generated_can_be_read(self):
        jobs = self.good(["sim", "generate", "workload", "--jobs", "50", "--gpus",
                          "0,0.5,1,2.0,8xA100-80G"])
        nodes = self.good(["sim", "generate", "fleet", "--nodes", "9"])
        self.good(["sim", "--fleet", self.file("f.yaml", nodes), "--workload",
                   self.file("j.yaml", jobs)])


class OutputTest(BadInputCase):
    """Where output goes: a former file stays whole, and no failure looks like success."""

    COMMANDS = (["catalog"], ["completion", "bash"], ["--help"], ["sim", "--help"], ["--version"],
                ["config", "check", ROOT / "examples" / "policies" / "gentle.yaml"],
                ["sim", "generate", "fleet"], ["sim", "generate", "workload"],
                ["sim", "chaos", "--seeds", "1"], ["sim", "scenario", "SCENARIO"],
                ["sim", "scenario", "--json", "SCENARIO"],
                ["sim", "--fleet", FLEET, "--workload", JOBS],
                ["sim", "--fleet", FLEET, "--workload", JOBS, "--json", "-"])

    def setUp(self):
        super().setUp()
        self.sim = ["sim", "--fleet", FLEET, "--workload", JOBS]
        self.scenario = self.file("good.scn", SCENARIO)
        self.outputs = [[*self.sim, "--json"], ["sim", "generate", "fleet", "-o"],
                        ["sim", "generate", "workload", "-o"]]
        report = run([*self.sim, "--report", self.folder / "probe.html"])
        if report.code == 0:
            self.outputs.append([*self.sim, "--report"])
            (self.folder / "probe.html").unlink()

    def each_command(self):
        for words in self.COMMANDS:
            yield [self.scenario if word == "SCENARIO" else word for word in words]

    def test_nobody_can_take_it(self):
        """A full device, a closed stream, a pipe whose reader has gone."""
        for words in self.each_command():
            with self.subTest(words=words, what="full"), open("/dev/full", "wb") as full:
                self.refused(words, "standard output: cannot write: No space left", stdout=full)
            with self.subTest(words=words, what="closed"):
                self.refused(words, "standard output: cannot write: Bad file descriptor",
                             preexec_fn=lambda: os.close(1))
            with self.subTest(words=words, what="broken"):
                reader, writer = os.pipe()
                os.close(reader)
                done = run(words, stdout=writer)
                self.assertEqual((done.code, done.err), (-signal.SIGPIPE, ""))
                os.close(writer)

    def test_closed_streams_do_not_mix(self):
        """With stderr closed, a file that is opened next must not receive the messages."""
        for words in self.outputs:
            with self.subTest(words=words):
                path = self.folder / "out"
                done = run([*words, path], preexec_fn=lambda: (os.close(0), os.close(2)))
                self.assertEqual(done.code, 0)
                whole = path.read_bytes()
                self.assertGreater(len(whole), 100)
                path.unlink()
                done = run([*words, self.folder / "no" / "out"], preexec_fn=lambda: os.close(2))
                self.assertEqual(done.code, 2)

    def test_files_that_cannot_be_written(self):
        (self.folder / "folder.d").mkdir()
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        for words in self.outputs:
            for path, part in ((self.folder / "no" / "x", "No such file"),
                               (self.folder / "folder.d", "s a directory"),
                               (self.folder / "good.scn" / "x", "Not a directory"),
                               ("/dev/full", "No space left"), (pipe, "No such device"),
                               (self.folder / ("x" * 300), "name too long")):
                with self.subTest(words=words, path=path):
                    self.refused([*words, path], f"{path}: cannot write: ", part)

    def limit_size(self):
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    def test_a_former_file_stays_whole(self):
        for words in self.outputs:
            path = self.file("former", "former")
            for mode in (0o644, 0o640):
                path.chmod(mode)
                with self.subTest(words=words):
                    self.refused([*words, path], f"{path}: cannot write: File too large",
                                 preexec_fn=self.limit_size)
            self.good([*words, path])
            self.assertNotEqual(path.read_bytes(), b"former")
            self.assertEqual(path.stat().st_mode & 0o777, 0o640)
        wrong = self.file("wrong.scn", SCENARIO.replace("j running", "j pending"))
        before = wrong.read_bytes()
        self.assertEqual(run(["sim", "scenario", "--update", wrong],
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE,
                                                                   (10, 10))).code, 2)
        self.assertEqual(wrong.read_bytes(), before)

    def test_a_full_disk(self):
        disk = self.folder / "disk"
        disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", str(disk)],
                                 capture_output=True, check=False)
        if mounted.returncode != 0:
            self.skipTest("missing: the right to mount a file system")
        try:
            former = disk / "former"
            former.write_bytes(b"former")
            for words in self.outputs:
                with self.subTest(words=words):
                    self.refused([*words, former], "No space left on device")
                self.assertEqual(former.read_bytes(), b"former")
                self.assertEqual([path.name for path in disk.iterdir()], ["former"])
        finally:
            subprocess.run(["umount", str(disk)], check=True)

    def test_files_of_others_are_left_alone(self):
        """Those of the names that were used for what is not finished, and links."""
        for words in self.outputs:
            bystander = self.file("out.part", "mine")
            target = self.file("target", "old")
            link = self.folder / "out"
            link.symlink_to(target)
            self.good([*words, link])
            self.assertEqual(bystander.read_bytes(), b"mine")
            self.assertTrue(link.is_symlink())
            self.assertNotEqual(target.read_bytes(), b"old")
            link.unlink()
            self.assertEqual(len(list(self.folder.iterdir())), 3)

    def test_output_is_not_input(self):
        fleet, jobs = (self.file(path.name, path.read_bytes()) for path in (FLEET, JOBS))
        policy = self.file("my.yaml", bad.POLICY)
        link = self.folder / "link"
        link.symlink_to(fleet)
        own = self.file("own.yaml", CATALOG)
        sim = ["sim", "--fleet", fleet, "--workload", jobs, "--policy", policy, "--catalog", own]
        for path in (fleet, jobs, policy, own, link, self.folder / "." / fleet.name):
            for option in ("--report", "--json"):
                with self.subTest(path=path, option=option):
                    self.refused([*sim, option, path], f"{option} ", "would overwrite")
        self.refused([*sim, "--report", self.folder / "x", "--json", self.folder / "x"],
                     "would overwrite")
        self.good([*sim, "--json", "/dev/null"])


del BadInputCase  # It has no tests of its own.

if __name__ == "__main__":
    unittest.main()
