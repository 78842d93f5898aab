#!/usr/bin/env python3
"""Runs `tutti sim scenario` as a user would, and every example of docs/scenarios.md."""
import json
import re
import stat
import unittest

from tutti_case import ROOT, TuttiCase

BLOCK = re.compile(r"^```(\S+)\n(.*?)^```$", re.M | re.S)
FLEET = "nodes n[0-1]: 8xA100-80G, cpu 64\n"
GOOD = FLEET + "submit job: 4 gpus\nexpect job on n0\n"
WRONG = """# Kept as it is.
nodes n[0-1]: 8xA100-80G, cpu 64   # two
submit gang: 2 tasks, 8 gpus
submit job: 4 gpus, cpu 1

expect gang on n1  # by rank
expect job running
expect job reasons
  nothing

  yet
expect free on n0: gpus 8
expect gang running
expect explain job contains "tea"
"""
RIGHT = """# Kept as it is.
nodes n[0-1]: 8xA100-80G, cpu 64   # two
submit gang: 2 tasks, 8 gpus
submit job: 4 gpus, cpu 1

expect gang on n0 n1  # by rank
expect job pending
expect job reasons
  2 devices in use
expect free on n0: gpus 0
expect gang running
expect explain job contains "tea"
"""


class ScenarioTest(TuttiCase):
    def run_scenario(self, *words, code=0):
        done = self.call("sim", "scenario", *words, code=code)
        return done.stdout, done.stderr

    def refusal(self, text):
        """The one line that says what is wrong with a scenario, without its file."""
        path = self.file("bad.scn", text)
        out, err = self.run_scenario(path, code=2)
        self.assertIn("0 passed, 1 failed", out)
        self.assertTrue(err.startswith(f"error: {path}:"), err)
        return err.removeprefix(f"error: {path}:")

    def test_examples_of_the_documentation(self):
        text = (ROOT / "docs" / "scenarios.md").read_text(encoding="utf-8")
        blocks = BLOCK.findall(text)
        self.assertGreaterEqual(sum(kind == "scn" for kind, _ in blocks), 5)
        failing = None
        for number, (kind, block) in enumerate(blocks):
            path = self.file(f"example-{number}.scn", block)
            with self.subTest(example=block):
                if kind == "scn":
                    self.assertIn("1 passed, 0 failed", self.run_scenario(path)[0])
                elif kind == "scn-fails":
                    failing = path
                elif kind == "text":
                    out = self.run_scenario(failing, code=1)[0]
                    self.assertEqual(out.replace(str(failing), "FILE"), block)
        self.assertIsNotNone(failing)

    def test_documentation_names_every_verb(self):
        text = (ROOT / "docs" / "scenarios.md").read_text(encoding="utf-8")
        known = self.refusal("xyzzy\nexpect replay\n")
        verbs = re.search(r"known: (.*)", known)[1].split(", ")
        self.assertGreaterEqual(len(verbs), 25)
        for verb in verbs:
            self.assertRegex(text, rf"`{verb}\b", verb)

    def test_scenarios_open_with_what_goes_wrong(self):
        files = sorted((ROOT / "tests" / "scenarios").rglob("*.scn"))
        self.assertGreaterEqual(len(files), 60)
        for file in files:
            self.assertTrue(file.read_text(encoding="utf-8").startswith("# "), file)

    def test_help_has_an_example(self):
        self.assertRegex(self.run_scenario("--help")[0], r"Examples:\n +tutti sim scenario ")

    def test_a_folder_stands_for_its_scenarios(self):
        self.file("a.scn", GOOD)
        (self.folder / "sub").mkdir()
        self.file("sub/b.scn", GOOD)
        self.file("c.txt", "no scenario")
        self.assertEqual(self.run_scenario(self.folder)[0], "2 passed, 0 failed\n")
        (self.folder / "empty").mkdir()
        self.assertIn("no scenario", self.run_scenario(self.folder / "empty", code=2)[1])

    def test_a_mismatch_is_1_with_both_sides(self):
        path = self.file("wrong.scn", WRONG)
        out, _ = self.run_scenario(path, self.file("good.scn", GOOD), code=1)
        self.assertIn(f"FAIL {path}:6: expect gang on n1\n  expected  on n1\n"
                      "  actual    on n0 n1\n", out)
        self.assertTrue(out.endswith("1 passed, 1 failed\n"), out)

    def test_a_broken_file_is_2_and_hides_no_other(self):
        bad = self.file("bad.scn", "ndoes n: cpu 1\n")
        out, err = self.run_scenario(bad, self.file("good.scn", GOOD), code=2)
        self.assertEqual(err, f'error: {bad}:1:1: "ndoes" is no verb\n'
                              'hint:  did you mean "nodes"?\n')
        self.assertIn("1 passed, 1 failed", out)
        self.assertIn("No such file", self.run_scenario(self.folder / "x.scn", code=2)[1])

    def test_mistakes_stand_at_their_place(self):
        job = FLEET + "submit job: 1 gpu\n"
        for text, place, what in (
                ("nodes n: cpu 4, memroy 4Gi\n", "1:17", 'did you mean "memory"?'),
                ("nodes n:\n  cpu: 4\n  devices:\n    - {model: x, cuont: 1}\n", "4:18", "count"),
                ("nodes n: cpu four\n", "1:14", "quantity"),
                ("nodes é: cpu 4, cpu 5\n", "1:17", "duplicate"),
                (FLEET + "nodes n1: cpu 1\n", "2:7", "change NODE"),
                (FLEET + "cordon n9\n", "2:8", "no node"),
                (FLEET + "fail device n0/8\n", "2:13", "counted from 0"),
                (FLEET + "advance soon\n", "2:9", "duration"),
                (FLEET + "advance 1m 2m\n", "2:12", "too many"),
                (FLEET + "forget everything\n", "2:8", '"workspace"'),
                (FLEET + "cycle\n  now\n", "3:1", "no lines"),
                (FLEET + "finish jbo\n", "2:8", "no job"),
                ("  nodes n: cpu 4\n", "1:1", "first column"),
                ("policy bestft\n", "1:8", "bestfit"),
                ("policy\n  policy: 1\n  name: x\n  scores: [{name: fgdd}]\n", "4:11", "fgd"),
                (job + "expect job runing\n", "3:12", 'did you mean "running"?'),
                (job + "expect job/1 running\n", "3:8", "1 tasks"),
                (job + "expect job on n0 n1\n", "3:15", "2 nodes for 1 tasks"),
                (job + "expect job 2 running\n", "3:12", "has 1"),
                (job + "expect job reasons\n", "3:8", "expected lines"),
                (job + "expect free on n0: gpus x\n", "3:25", "quantity"),
                (job + "expect free on n0: gups 1\n", "3:20",
                 'no node has "gups"\nhint:  did you mean "gpus"?'),
                (job + "expect free on n0: x 1\n", "3:20",
                 "known: gpus, cpu, memory, storage, pods\n"),
                (job + "expect used by tema: gpus 1\n", "3:16", "no queue"),
                ("nodes n: cpu 4, rack=r\nchange n: no rak\n", "2:14", 'did you mean "rack"?'),
                ("nodes n: cpu 4\nchange n: no [cordoned]\n", "2:15", "uncordon NODES"),
                ("nodes n: cpu 4, rack=r\nsubmit j: cpu 1, near rakc\nexpect j running\n",
                 "2:23", 'did you mean "rack"?'),
                ("nodes n: cpu 4\nsubmit j\n  groups: [{together: r}]\nexpect j never\n",
                 "3:23", "known: host"),
                ("nodes n: cpu 4\nsubmit j[0-4095]: cpu 1\nsubmit k: cpu 1\n", "3:8",
                 "a scenario has at most 4096 jobs"),
                ("nodes n: 8xA100-80G cpu 64\n", "1:21", "a comma is missing"),
                (job + "expect job running on n0\n", "3:20", "one expectation a line"),
                (job + "expect job waits now\n", "3:18", "write: expect job waits"),
                (job + "submit at: at 5m, cpu 1\nexpect job running\n", "3:15", "advance"),
                (job, "1:1", "cannot fail"), ("", "1:1", "cannot fail"),
                ("\xff\n", "1:1", "verb")):
            with self.subTest(text=text):
                said = self.refusal(text)
                self.assertTrue(said.startswith(place + ": "), said)
                self.assertIn(what, said)

    def test_update_rewrites_only_what_is_not_true(self):
        path = self.file("wrong.scn", WRONG)
        before = stat.S_IMODE(path.stat().st_mode)
        out, _ = self.run_scenario("--update", path, code=1)  # `contains` cannot be mended.
        self.assertIn("4 expectations rewritten", out)
        self.assertEqual(path.read_text(encoding="utf-8"), RIGHT)
        self.assertEqual(stat.S_IMODE(path.stat().st_mode), before)
        self.assertEqual(sorted(item.name for item in self.folder.iterdir()), ["wrong.scn"])
        self.assertIn('"tea"', self.run_scenario(path, code=1)[0])

    def test_update_leaves_what_is_true_alone(self):
        text = GOOD.replace("expect job on n0", "expect   job  on n0 # yes")
        path = self.file("good.scn", text)
        self.assertEqual(self.run_scenario("--update", path)[0], "1 passed, 0 failed\n")
        self.assertEqual(path.read_text(encoding="utf-8"), text)

    def test_json(self):
        wrong = self.file("wrong.scn", WRONG)
        good = self.file("good.scn", GOOD)
        bad = self.file("bad.scn", "x\n")
        report = json.loads(self.run_scenario("--json", wrong, good, bad, code=2)[0])
        self.assertEqual((report["passed"], report["failed"]), (1, 2))
        self.assertEqual([file["passed"] for file in report["files"]], [False, True, False])
        failure = report["files"][0]["failures"][0]
        self.assertEqual((failure["line"], failure["expected"], failure["actual"]),
                         (6, "on n1", "on n0 n1"))
        self.assertEqual(report["files"][2]["where"], f"{bad}:1:1")

    def test_verbose_shows_steps(self):
        out, _ = self.run_scenario("-v", self.file("good.scn", GOOD))
        self.assertRegex(out, r"2 +0s  submit job: 4 gpus\n +place job/0 on n0:0-3, attempt 1")

    def test_a_refusal_that_nobody_expects_fails(self):
        text = FLEET + "submit lost: cpu 1, queue nowhere\nexpect lost absent\n"
        out, _ = self.run_scenario(self.file("lost.scn", text), code=1)
        self.assertIn("lost.scn:2: submit lost", out)
        self.assertIn('no queue "nowhere"', out)

    def test_the_same_every_time(self):
        path = self.file("good.scn", GOOD)
        self.assertEqual(self.run_scenario("--json", path), self.run_scenario("--json", path))


if __name__ == "__main__":
    unittest.main()
