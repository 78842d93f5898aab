#!/usr/bin/env python3
"""Runs `tutti` as a user would: exit codes, messages, outputs."""
import json
import os
import pathlib
import re
import subprocess
import unittest

from tutti_case import FLEET, JOBS, ROOT, TuttiCase

OWN = """catalog: 1
vendors: [{name: acme, title: Acme, resource_names: [acme.example/npu]}]
devices:
  - {name: Acme-N1, vendor: acme, kind: npu, memory_mib: 65536, precisions: [bf16], source: ours}
"""


def node(name):
    return {"kind": "Node", "metadata": {"name": name},
            "status": {"allocatable": {"cpu": "64", "memory": "256Gi", "nvidia.com/gpu": "8"}}}


def pod(name, gpus, where=None):
    spec = {"containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": gpus}}}]}
    if where:
        spec["nodeName"] = where
    return {"kind": "Pod", "metadata": {"name": name, "namespace": "x",
                                        "creationTimestamp": "2024-01-01T00:00:00Z"},
            "spec": spec, "status": {"phase": "Running" if where else "Pending"}}


class CliTest(TuttiCase):
    def test_version(self):
        self.assertRegex(self.tutti("--version"), r"^tutti \d+\.\d+\.\d+ \(.+\)\n$")

    def commands(self, *words):
        """Every command below this one, and itself."""
        known = re.search(r"(?s)\nSubcommands:\n(.*?)(\n\n|\Z)", self.tutti(*words, "--help"))
        below = re.findall(r"(?m)^  ([\w-]+)", known[1]) if known else []
        return [list(words), *(each for word in below for each in self.commands(*words, word))]

    def test_every_command_has_help_with_examples_and_is_completed(self):
        script = self.tutti("completion", "bash")
        commands = self.commands()
        self.assertGreaterEqual(len(commands), 11)
        for words in commands:
            with self.subTest(words=words):
                help_text = self.tutti(*words, "--help")
                example = " ".join(["  tutti", *words])
                self.assertRegex(help_text, rf"Examples?:\n(.*\n)*?.*{example.strip()}\b")
                known = re.search(rf"'{' '.join(['tutti', *words])}'\) words='(.*?)' ;;", script)
                options = re.findall(r"(?m)^  (?:-\w,)?(--[\w-]+)", help_text)
                self.assertGreaterEqual(len(options), 1)
                for option in options:
                    self.assertIn(option, known[1].split())

    def test_typing_errors_are_recognised(self):
        for words, near in ((["simm"], "sim"), (["sim", "--flet", "x"], "--fleet"),
                            (["sim", "--polcy=x"], "--policy"), (["--vesrion"], "--version"),
                            (["sim", "generate", "flet"], "fleet"), (["config", "chek"], "check")):
            with self.subTest(words=words):
                self.assertIn(f"did you mean {near}?", self.tutti(*words, code=2))
        for words, near in ((["generate", "--help"], "tutti sim generate"),
                            (["scenarios", "x.scn"], "tutti sim scenario"),
                            (["sim", "catalog"], "tutti catalog"),
                            (["simm", "--help"], "sim")):
            with self.subTest(words=words):
                self.assertIn(f"did you mean {near}?", self.tutti(*words, code=2))
        self.assertIn("known: serve", self.tutti(code=2))

    def test_every_error_is_2(self):
        sim = ["sim", "--fleet", FLEET, "--workload"]
        empty = self.file("empty.yaml", "")
        bad = self.file("bad.yaml", "jobs:\n  - {name: a, gpu: 1, cpus: 3}\n")
        for words, code, part in (
                (["sim"], 2, "--fleet FILE is missing"),
                (["sim", "--fleet", FLEET], 2, "--workload FILE"),
                ([*sim, empty], 2, "the file is empty"),
                ([*sim, bad], 2, f"{bad}:2:"),
                ([*sim, JOBS, "--policy", "bestft"], 2, "bestfit"),
                ([*sim, JOBS, "--policy", "present"], 2, "snapshot"),
                ([*sim, JOBS, "--seeds", "5..2"], 2, "--seeds"),
                ([*sim, JOBS, "--seeds", "-1"], 2, "--seeds"),
                ([*sim, JOBS, "--arrivals", "fill:0"], 2, "fill:1.3"),
                ([*sim, JOBS, "--arrivals", "snapshot"], 2, "kubectl"),
                ([*sim, JOBS, "--until", "1h", "--arrivals", "fill:1"], 2, "--until"),
                ([*sim, self.folder], 2, "Is a directory"),
                ([*sim, self.folder / "emty.yaml"], 2, "did you mean"),
                ([*sim, JOBS, "--json", self.folder / "no" / "x"], 2, "No such file")):
            with self.subTest(words=words):
                text = self.tutti(*words, code=code)
                self.assertTrue(text.startswith("error: "), text)
                self.assertIn(part, text)

    def test_the_answer_comes_first(self):
        text = self.tutti("sim", "--fleet", FLEET, "--workload", JOBS, "--policy", "default",
                          "--policy", "spread", "--arrivals", "fill:1.3")
        self.assertRegex(text.splitlines()[0], r"^With \w+, \d+ more of your 208 accelerators "
                         r"would be")
        self.assertIn("arrivals fill:1.3", text)

    def test_the_arrivals_that_suit_the_files(self):
        text = self.tutti("sim", "--fleet", FLEET, "--workload", JOBS)
        self.assertIn("arrivals trace (", text)
        nodes = self.file("n.csv", "sn,cpu_milli,memory_mib,gpu,model\nn,8000,9000,4,T4\n")
        pods = self.file("p.csv", "name,cpu_milli,memory_mib,num_gpu,gpu_milli,creation_time,"
                         "deletion_time,scheduled_time\np,1000,1000,1,500,10,20,10\n")
        openb = self.tutti("sim", "--fleet", nodes, "--workload", pods)
        self.assertIn("arrivals fill:1.3 (", openb)
        trace = self.tutti("sim", "--fleet", nodes, "--workload", pods, "--arrivals", "trace")
        self.assertIn("never asks for more than 12.5 %", trace)
        self.assertIn("--arrivals fill:1.3", trace)

    def test_json_and_threads(self):
        seen = []
        for threads in (1, 2):
            text = self.tutti("sim", "--fleet", FLEET, "--workload", JOBS, "--seeds", "1..4",
                              "--arrivals", "fill:1.3", "--json", "-", "-j", threads)
            runs = json.loads(text)["runs"]
            self.assertEqual(len(runs), 1)
            self.assertEqual(runs[0]["seeds"], [1, 2, 3, 4])
            self.assertIn("sd", runs[0]["unallocated_gpu_percent"]["100"])
            seen.append(runs[0]["state_hash"])
        self.assertEqual(seen[0], seen[1])
        path = self.folder / "trace.json"
        self.tutti("sim", "--fleet", FLEET, "--workload", JOBS, "--json", path)
        run = json.loads(path.read_text(encoding="utf-8"))["runs"][0]
        for name in ("jobs", "avg_wait_s", "p99_wait_s", "gpu_utilisation_percent"):
            self.assertIn(name, run)

    def test_a_dump_is_placed_anew(self):
        dump = {"apiVersion": "v1", "kind": "List",
                "items": [node("n0"), node("n1"), pod("a", 4, "n0"), pod("b", 4, "n1"),
                          pod("c", 8)]}
        path = self.file("cluster.json", json.dumps(dump))
        text = self.tutti("sim", "--fleet", path, "--policy", "pack")
        self.assertTrue(text.startswith("With pack, 8 more of your 16 GPUs would be in use than at "
                                        "present, if all pods were placed anew: 1 of 1 waiting "
                                        "ones would start."), text)
        runs = json.loads(self.tutti("sim", "--fleet", path, "--workload", path, "--policy", "pack",
                                     "--json", "-"))["runs"]
        self.assertEqual([(r["policy"], r["gpus_allocated"], r["pending_started"]) for r in runs],
                         [("present", 8, 0), ("pack", 16, 1)])

    def test_why_pods_of_a_dump_wait(self):
        pods = [pod("a", 4, "n0"), pod("b", 4, "n1"), *(pod(f"web-{n}", 4) for n in range(3)),
                pod("large", 8), *(pod(f"huge-{n}", 9) for n in range(2))]
        dump = {"apiVersion": "v1", "kind": "List", "items": [node("n0"), node("n1"), *pods]}
        path = self.file("cluster.json", json.dumps(dump))
        text = self.tutti("sim", "--fleet", path, "--policy", "pack")
        for part in ("waiting at present:\n"
                     "  web-0 and 2 more like it: there is room for at least one of them",
                     "  large: waits\n    2 nodes  devices in use\n",
                     "placed anew with pack:\n  web-2 (2 others start): waits\n",
                     "  2 jobs can never start, see below\n",
                     "cluster: 2 jobs can never start on this fleet, however empty\n"
                     "  huge-0 and 1 more like it: never fits\n"):
            self.assertIn(part, text)
        found = json.loads(self.tutti("sim", "--fleet", path, "--policy", "pack", "--json", "-"))
        self.assertEqual([(kind["policy"], kind["job"], kind["jobs"], kind["started"])
                          for kind in found["waiting"]],
                         [("present", "web-0", 3, 0), ("present", "large", 1, 0),
                          ("present", "huge-0", 2, 0), ("pack", "web-2", 3, 2),
                          ("pack", "large", 1, 0), ("pack", "huge-0", 2, 0)])
        self.assertEqual([(kind["job"], kind["jobs"]) for kind in found["never_start"]],
                         [("huge-0", 2)])

    def test_own_jobs_come_to_a_dump(self):
        dump = {"apiVersion": "v1", "kind": "List",
                "items": [node("n0"), node("n1"), pod("a", 4, "n0"), pod("b", 4, "n1")]}
        path = self.file("cluster.json", json.dumps(dump))
        small = self.file("small.yaml", "jobs: [{name: mine, gpus: 4}]\n")
        large = self.file("large.yaml", "jobs: [{name: mine, gpus: 8}]\n")
        self.assertIn("note: 2 pods that run on this cluster are not counted",
                      self.tutti("sim", "--fleet", path, "--workload", large))
        words = ["sim", "--fleet", path, "--arrivals", "snapshot", "--workload"]
        text = self.tutti(*words, small)
        self.assertTrue(text.startswith("Yes: the job would start now with default"), text)
        text = self.tutti(*words, large)
        self.assertTrue(text.startswith("No: the job would not start now with default"), text)
        self.assertIn("beside what runs, with default:\n  mine: waits\n", text)
        run = json.loads(self.tutti(*words, large, "--workload", small, "--json", "-"))["runs"][1]
        self.assertEqual((run["given"], run["given_started"]), (2, 1))

    def test_nodes_and_pods_in_two_files(self):
        nodes = self.file("nodes.json", json.dumps(
            {"apiVersion": "v1", "kind": "List", "items": [node("n0")]}))
        pods = self.file("pods.json", json.dumps(
            {"apiVersion": "v1", "kind": "List", "items": [pod("a", 4, "n0")]}))
        self.assertIn("note: where the pods run is not looked at, for the nodes are in another",
                      self.tutti("sim", "--fleet", nodes, "--workload", pods))

    def test_a_job_that_can_never_start_is_the_answer(self):
        fleet = self.file("f.yaml", "nodes: [{name: n, cpu: 8, gpus: 4xT4}]\n")
        jobs = self.file("j.yaml", "jobs: [{name: big, gpus: 8, length: 1h}]\n")
        text = self.tutti("sim", "--fleet", fleet, "--workload", jobs)
        self.assertTrue(text.startswith("No: big can never start on this fleet"), text)
        self.assertNotIn("hardly differ", text)
        self.assertNotIn("0 s", text)
        jobs = self.file("j.yaml", "jobs:\n  - {name: a, gpus: 4}\n"
                         "  - {name: 'b[0-1]', gpus: 1, length: 1h}\n")
        text = self.tutti("sim", "--fleet", fleet, "--workload", jobs)
        self.assertTrue(text.startswith("2 of 3 jobs had not started at the end;"), text)
        self.assertIn("j: not started with default when the run ended:\n"
                      "  b0 and 1 more like it: waits\n", text)

    def test_shared_cards_take_as_many_pods_as_they_have_units(self):
        for units, cards in ((48, 1), (60, 1), (128, 1), (300, 1), (1000, 1), (36, 8), (48, 2),
                             (300, 5), (750, 2), (0, 1500)):
            total = units * cards or cards  # Without the label, units of few cards.
            shared = node("n0")
            shared["status"]["allocatable"] = {"nvidia.com/gpu": total}
            if units:
                shared["metadata"]["labels"] = {"nvidia.com/gpu.replicas": str(units)}
            pods = [pod(f"p{number}", 1) for number in range(total + 30)]
            path = self.file("k.json", json.dumps({"items": [shared, *pods]}))
            with self.subTest(units=units, cards=cards):
                _, anew = json.loads(self.tutti("sim", "--fleet", path, "--json", "-"))["runs"]
                self.assertEqual(anew["pending_started"], total)

    def test_skipped_lines_are_counted(self):
        nodes = self.file("n.csv", "sn,cpu_milli,memory_mib,gpu,model\n"
                          "n,8000,9000,4,T4\nm,x,1,0,\n")
        pods = self.file("p.csv", "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n"
                         "p,1000,1000,1,500\n")
        self.assertIn(f"{nodes}:3:3", self.tutti("sim", "--fleet", nodes, "--workload", pods,
                                                 code=2))
        text = self.tutti("sim", "--fleet", nodes, "--workload", pods, "--skip-bad", 1)
        self.assertIn("note: 1 bad entry was skipped", text)

    def test_every_skipped_line_is_told(self):
        rows = "".join(f"m{row},x,1,0,\n" for row in range(13))
        nodes = self.file("n.csv", "sn,cpu_milli,memory_mib,gpu,model\nn,8000,9000,4,T4\n" + rows)
        pods = self.file("p.csv", "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n"
                         "p,1000,1000,1,500\n")
        for bad, lines in ((13, 11), (20, 11)):
            done = self.call("sim", "--fleet", nodes, "--workload", pods, "--skip-bad", bad)
            told = done.stderr.splitlines()
            self.assertEqual(len(told), lines, done.stderr)
            self.assertTrue(told[0].startswith(f"skipped: {nodes}:3:4: "), told[0])
            self.assertIn('"x" is not an integer', told[9])
            self.assertEqual(told[10], "skipped: and 3 more")

    def test_what_stands_twice_runs_once(self):
        words = ["sim", "--fleet", FLEET, "--workload", JOBS, "--json", "-"]
        link = self.folder / "other.yaml"
        link.symlink_to(JOBS)
        runs = json.loads(self.tutti(*words, "--workload", JOBS, "--workload", link, "--policy",
                                     "pack", "--policy", "pack"))["runs"]
        self.assertEqual([(run["workload"], run["policy"]) for run in runs], [("jobs", "pack")])
        (self.folder / "b").mkdir()
        jobs = self.file("b/jobs.yaml", JOBS.read_text(encoding="utf-8"))
        self.assertIn('would both be called "jobs"',
                      self.tutti(*words, "--workload", jobs, code=2))
        policy = self.file("pack.yaml", "policy: 1\nname: x\nscores: [{name: spread}]\n")
        self.assertIn('would both be called "pack"',
                      self.tutti(*words, "--policy", "pack", "--policy", policy, code=2))

    def test_other_devices_are_accelerators(self):
        npus = self.file("npus.yaml", "nodes: [{name: n, cpu: 8, gpus: 8xAscend-910B1}]\n"
                         "jobs: [{name: j, npus: 4}]\n")
        text = self.tutti("sim", "--fleet", npus)
        self.assertIn("8 of your 8 accelerators", text)
        self.assertNotIn("GPU", text)

    def test_own_devices(self):
        own = self.file("own.yaml", OWN)
        more = self.file("more.yaml", OWN.replace("Acme-N1", "Acme-N2"))
        fleet = self.file("f.yaml", "nodes: [{name: n, cpu: 8, gpus: 8xAcme-N1}]\n"
                          "jobs: [{name: j, npu: {count: 4, where: 'memory >= 60Gi && bf16'}}]\n")
        self.assertIn("can never start", self.tutti("sim", "--fleet", fleet))
        text = self.tutti("sim", "--catalog", own, "--fleet", fleet, "--catalog", more)
        self.assertIn("8 of your 8 accelerators", text)
        self.assertNotIn("can never start", text)
        shown = self.tutti("catalog", "--catalog", own, "--catalog", more, "acme n1")
        self.assertRegex(shown, r"(?s)^Acme-N1\n.*vendor +acme\n.*entry +" + re.escape(str(own)))
        self.assertIn("Acme-N2", self.tutti("catalog", "--catalog", more))
        self.assertNotIn("Acme", self.tutti("catalog"))
        scenario = self.file("own.scn", "nodes n: 8xAcme-N1\n"
                             "submit j\n  npu: {count: 4, where: bf16}\nexpect j running\n")
        self.tutti("sim", "scenario", "--catalog", own, scenario)
        self.tutti("sim", "scenario", scenario, code=1)

    def test_report(self):
        path = self.folder / "report.html"
        words = ["sim", "--fleet", FLEET, "--workload", JOBS, "--report"]
        done = self.call(*words, path, code=None)
        if "without the page of reports" in done.stderr:
            self.assertEqual(done.returncode, 2)
            self.skipTest("missing: the page of reports")
        self.assertEqual(done.returncode, 0, done.stderr)
        html = path.read_text(encoding="utf-8")
        self.assertNotIn("/*DATA*/", html)
        self.assertIn("tutti sim --fleet", html)
        if pathlib.Path("/dev/full").is_char_device():
            self.assertIn("No space left", self.tutti(*words, "/dev/full", code=2))
            self.assertTrue(pathlib.Path("/dev/full").is_char_device())
        self.assertEqual(os.listdir(self.folder), ["report.html"])

    def test_a_full_disk_is_noticed_on_stdout(self):
        if not pathlib.Path("/dev/full").is_char_device():
            self.skipTest("missing: /dev/full")
        with open("/dev/full", "w", encoding="utf-8") as full:
            self.assertIn("No space left", self.tutti("catalog", code=2, stdout=full))

    def test_config_check(self):
        good = ROOT / "examples" / "policies" / "gentle.yaml"
        self.assertIn("chosen by fgd", self.tutti("config", "check", good))
        bad = self.file("p.yaml", "policy: 1\nname: p\nscores: [{name: fdg}]\n")
        self.assertIn(f"{bad}:3:", self.tutti("config", "check", bad, code=2))
        pods = self.file("p.csv", "name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,1,1,1,500\n")
        both = self.file("both.yaml", "queues: [{name: q}]\nnodes: [{name: n}]\njob: {name: j}\n")
        dump = self.file("k.json", json.dumps({"items": [node("n"), pod("p", 2)]}))
        for path, what in ((FLEET, "a fleet of 39 nodes with 208 accelerators and 4 queues\n"),
                           (JOBS, "a workload of 604 jobs with 613 tasks\n"),
                           (self.file("own.yaml", OWN), "a catalog that adds 1 device\n"),
                           (pods, "a workload of 1 job with 1 task\n"),
                           (both, "a fleet of 1 node with 0 GPUs and 1 queue, and a workload of "
                            "1 job with 1 task\n"),
                           (dump, "a Kubernetes dump: a fleet of 1 node with 8 GPUs, and a "
                            "workload of 1 job with 1 task\n")):
            with self.subTest(path=path):
                self.assertEqual(self.tutti("config", "check", path), f"{path} is good: {what}")
        for text, part in (("nodes: [{name: n, cpuu: 4}]", ':1:19: nodes[0]: unknown field "cpuu"'),
                           ("poliyc: 1", 'did you mean "policy"?'), ("a: 1", "key policy, nodes"),
                           ("jobs: [{name: j, gpus: -1}]", ":1:24: ")):
            with self.subTest(text=text):
                self.assertIn(part, self.tutti("config", "check", self.file("x.yaml", text),
                                               code=2))
        scenario = self.file("x.scn", "nodes n: cpu 4\nexpect free on n: cpu 4\n")
        self.assertIn("tutti sim scenario", self.tutti("config", "check", scenario, code=2))

    def test_config_check_of_several_files(self):
        fleet = self.file("f.yaml", "topology: [rack]\nqueues: [{name: ml}]\n"
                          "nodes: [{name: n, cpu: 8, gpus: 2xT4, domains: {rack: 1}}]\n")
        good = self.file("j.yaml", "jobs: [{name: a, queue: ml, near: rack}]\n")
        self.assertEqual(self.tutti("config", "check", fleet, good),
                         f"{fleet} is good: a fleet of 1 node with 2 GPUs and 1 queue\n"
                         f"{good} is good: a workload of 1 job with 1 task\n")
        for job, place, lacks, near in (("queue: mll", "1:25", 'queue "mll"', "ml"),
                                        ("near: rak", "1:24", 'level "rak"', "rack")):
            bad = self.file("bad.yaml", f"jobs: [{{name: b, {job}}}]\n")
            for words in ([bad, fleet], ["--fleet", fleet, bad]):
                done = self.call("config", "check", *words, good, code=2)
                self.assertEqual(done.stderr, f'error: {bad}:{place}: job "b": the fleet has no '
                                 f'{lacks}\nhint:  did you mean "{near}"?\n')
                self.assertIn(f"{good} is good", done.stdout)
            self.assertIn(f"error: {bad}:{place}: ",
                          self.tutti("sim", "--fleet", fleet, "--workload", bad, code=2))
            self.assertIn("is good", self.tutti("config", "check", bad))  # By itself.
        own = self.file("own.yaml", OWN + "  - {name: L4, vendor: nvidia, kind: gpu, source: x}\n")
        npus = self.file("n.yaml", "nodes: [{name: n, gpus: 2xAcme-N1}]\n")
        self.assertIn("adds 1 device and replaces 1\n", self.tutti("config", "check", own, npus))
        self.assertEqual(self.call("config", "check", own, npus).stderr, "")

    def test_odd_words_are_noted(self):
        fleet = self.file("f.yaml", "nodes: [{name: n, cpu: 8, memory: 64, gpus: 8xA100-80GBB}]\n")
        jobs = self.file("j.yaml", """jobs:
  - {name: a, gpus: 1x1g.10gb, length: 1h}
  - {name: b, gpu: {where: 'memroy >= 1Gi || vendor == nvidai'}, near: zone, length: 1h}
""")
        notes = [f'note: {fleet}:1:35: memory 64 is 64 bytes; did you mean 64Gi?',
                 f'note: {fleet}:1:45: the catalog does not know "A100-80GBB"; did you mean '
                 '"A100-80G"?',
                 f'note: {jobs}:2:21: the catalog does not know "1g.10gb"; a slice is asked for '
                 'with gpu: {where: profile == 1g.10gb}, and described with devices: '
                 '[{model: A100-80G, profile: 1g.10gb}]',
                 f'note: {jobs}:3:28: no device has an attribute "memroy"; did you mean "memory"?',
                 f'note: {jobs}:3:28: no device has the vendor "nvidai"; did you mean "nvidia"?',
                 f'note: {jobs}:3:72: no node has a label "zone"; known: host']
        sim = ["sim", "--fleet", fleet, "--workload", jobs]
        for words in (["config", "check", fleet, jobs], sim, [*sim, "--json", "-"]):
            with self.subTest(words=words):
                self.assertEqual(self.call(*words).stderr.splitlines(), notes)
        alone = self.call("config", "check", jobs).stderr.splitlines()
        self.assertEqual(alone, notes[2:5])  # Of a fleet nothing is known.
        many = self.file("m.yaml", "jobs:\n" + "".join(
            f"  - {{name: j{at}, gpus: 1xZZZ-{at}}}\n" for at in range(13)))
        told = self.call("config", "check", many).stderr.splitlines()
        self.assertEqual((len(told), told[10]), (11, "note: and 3 more"))

    def test_standard_input_is_a_file(self):
        text = FLEET.read_text(encoding="utf-8")
        for words in (["config", "check", "-"], ["sim", "--fleet", "-", "--workload", JOBS],
                      ["config", "check", JOBS, "--fleet", "-"]):
            with self.subTest(words=words):
                self.tutti(*words, input=text)
                with FLEET.open(encoding="utf-8") as file:
                    self.tutti(*words, stdin=file)
        jobs = self.tutti("sim", "--fleet", FLEET, "--workload", "-",
                          input=JOBS.read_text(encoding="utf-8"))
        self.assertRegex(jobs, r"(?m)^stdin +default ")
        self.assertIn("error: -:1:1: ", self.tutti("config", "check", "-", code=2, input="x: 1\n"))
        self.assertIn("the file is empty", self.tutti("sim", "--fleet", "-", code=2))
        self.assertIn("--json -", self.tutti("sim", "--fleet", FLEET, "--report", "-", code=2))
        self.assertIn("one fleet", self.tutti("sim", "--fleet", FLEET, "--fleet", FLEET, code=2))

    def test_common_guesses_get_a_hint(self):
        policy = self.file("mine.yaml", "policy: 1\nname: x\nscores: [{name: fgd}]\n")
        own = self.file("own.yaml", OWN)
        jobs = "jobs:\n  - {name: a, "
        for name, text, part in (
                ("a.yaml", jobs + "gpu: {model: A100-80G}}\n", "gpus: 1xA100-80G"),
                ("a.yaml", jobs + "cpu: 1, roles: [{name: r}]}\n", "write it in each of the roles"),
                ("a.yaml", jobs + "near: rack, gangs: [{cpu: 1}]}\n", "each of the gangs"),
                ("a.yaml", jobs + "near: rack, roles: [{name: r, cpuu: 1}]}\n", '"cpu"?'),
                ("a.yaml", jobs + "mem: 1Gi}\n", 'did you mean "memory"?'),
                ("a.yaml", jobs + "zzzzz: 1}\n", "anti_affinity, spread"),
                ("a.yaml", jobs + 'nodes: "zone=a"}\n', "for example: {zone: east"),
                ("a.yaml", jobs + "labels: [zone=a]}\n", "for example: {zone: east"),
                ("a.yaml", "jobs:\n\t- {name: a}\n", "not tabs"),
                ("a.yaml", "nodes: [{name: n-[0-3]}]\n", 'quotes that has brackets')):
            with self.subTest(text=text):
                self.assertIn(part, self.tutti("config", "check", self.file(name, text), code=2))
        sim = ["sim", "--fleet", FLEET, "--workload", JOBS]
        for words, part in (([*sim, "--policy", self.folder / "mine"], f'mean "{policy}"?'),
                            ([*sim, "--policy", "bestft"], '"bestfit"? A policy file is named'),
                            ([*sim, "--seeds", "1..100000000"], "at most 100000 are possible"),
                            ([*sim, "--catalog", FLEET], "give it as --fleet"),
                            (["help"], "tutti --help"), (["sim", "help"], "tutti sim --help"),
                            (["version"], "tutti --version"), (["config", "check"], "FILE is")):
            with self.subTest(words=words):
                self.assertIn(part, self.tutti(*words, code=2))
        self.assertIn("Acme-N1", self.tutti("catalog", "--catalog", own))

    def test_catalog(self):
        self.assertGreater(len(self.tutti("catalog").splitlines()), 30)
        self.assertIn("A100-80G", self.tutti("catalog", "A100"))
        self.assertIn("memory ", self.tutti("catalog", "A100-80G"))
        self.assertRegex(self.tutti("catalog", "A100-80GB"), r"\AA100-80G\n")
        self.assertIn("did you mean", self.tutti("catalog", "A1000", code=2))

    def test_completion(self):
        script = self.file("tutti.bash", self.tutti("completion", "bash"))

        def complete(*words):
            line = " ".join(f"'{word}'" for word in ("tutti", *words))
            command = (f"source '{script}'; COMP_WORDS=({line}); COMP_CWORD={len(words)};"
                       "_tutti; printf '%s\\n' \"${COMPREPLY[@]}\"")
            done = subprocess.run(["bash", "-c", command], capture_output=True, text=True,
                                  cwd=self.folder, timeout=60, check=True)
            return done.stdout.split()

        self.assertEqual(complete("co"), ["config", "completion"])
        self.assertIn("--fleet", complete("sim", "--"))
        for words in (["sim"], ["sim", "scenario"], ["catalog"], ["config", "check"]):
            self.assertIn("--catalog", complete(*words, "--c"))
        self.assertEqual(complete("sim", "generate", "w"), ["workload"])
        self.assertIn("bestfit", complete("sim", "--policy", "b"))
        self.assertEqual(complete("sim", "--fleet", "tutti."), ["tutti.bash"])
        self.assertTrue(self.tutti("completion", "zsh").startswith("#compdef tutti\n"))
        self.assertIn("bash, zsh", self.tutti("completion", "fish", code=2))

    def test_generated_jobs_keep_the_generated_fleet_busy(self):
        fleet, jobs = self.folder / "f.yaml", self.folder / "j.yaml"
        self.tutti("sim", "generate", "fleet", "-o", fleet)
        self.tutti("sim", "generate", "workload", "-o", jobs)
        words = ["sim", "--fleet", fleet, "--workload", jobs, "--policy", "default", "--policy",
                 "spread", "--json", "-", "--arrivals"]
        full, thin = json.loads(self.tutti(*words, "fill:1.3"))["runs"]
        free = [run["unallocated_gpu_percent"]["100"]["mean"] for run in (full, thin)]
        self.assertLess(free[0], 5)
        self.assertGreater(free[1], free[0] + 20)
        full, thin = json.loads(self.tutti(*words, "trace"))["runs"]
        self.assertGreater(full["gpu_utilisation_percent"], 50)
        self.assertGreater(full["avg_wait_s"], 60)
        self.assertGreater(thin["avg_wait_s"], 2 * full["avg_wait_s"])

    def test_generated_files_are_read(self):
        fleet, jobs = self.folder / "f.yaml", self.folder / "j.yaml"
        self.tutti("sim", "generate", "fleet", "--nodes", 40, "--seed", 7, "-o", fleet)
        self.tutti("sim", "generate", "workload", "--jobs", 200, "--gpus", "0.5:1,1:2,8:1",
                   "--every", "1min", "--output", jobs)
        text = self.tutti("sim", "--fleet", fleet, "--workload", jobs, "--policy", "pack")
        self.assertIn("40 nodes", text)
        again = self.tutti("sim", "generate", "fleet", "--nodes", 40, "--seed", 7)
        self.assertEqual(again, fleet.read_text(encoding="utf-8"))
        wrong = self.tutti("sim", "generate", "workload", "--length", "lognorml:1h", code=2)
        self.assertTrue(re.search(r"--length.*\n.*lognormal", wrong), wrong)


if __name__ == "__main__":
    unittest.main()
