#!/usr/bin/env python3
"""Follows README.md and docs/ as a newcomer would: each `$ tutti ...` prints what stands below it.

A block that has no command is the file that the line above it names. A line "..." stands for any
lines, and rates of decisions are those of some machine. From `$ tutti serve` on there is a server,
whose times, addresses and user are those of some machine, too.

TUTTI_UPDATE_DOCS=1 writes what is printed into the documents instead; then read the diff."""
import json
import os
import pwd
import re
import shlex
import shutil
import signal
import subprocess
import time
import unittest

from serve_case import ServeCase
from tutti_case import ROOT

COMPILER = "clang++-19"
UPDATE = "TUTTI_UPDATE_DOCS" in os.environ
BLOCK = re.compile(r"(?P<above>[^\n]*)\n+```\w*\n(?P<body>.*?)^```$", re.M | re.S)
COMMAND = re.compile(r"^\$ (?P<words>(?:[^\n]*\\\n)*[^\n]*)\n"
                     r"(?P<output>(?:(?!\$ )[^\n]*\n)*)", re.M)
CHANGES = {"submit", "cancel"}  # What a server is told once; all else is asked until it is as said.
OF_SOME_MACHINE = (
    (re.compile(r" {2,}"), " "),  # Columns are as wide as what is in them.
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"), "TIME"),
    (re.compile(r"http://[\d.:]+"), "ADDRESS"),
    (re.compile(r"unix://\S+"), "SOCKET"),
    (re.compile(rf"\b{re.escape(pwd.getpwuid(os.geteuid()).pw_name)}\b"), "ana"))
NAMED = re.compile(r"`([\w.-]+\.(?:yaml|scn|json))`:?$")


def pattern(text):
    """What output is like that is good for this text of a document."""
    rates = "decisions/s" in text
    lines = []
    for line in text.splitlines():
        if line == "...":
            lines.append(r"(?:[^\n]*\n)*?")
            continue
        line = re.escape(line)
        if rates:
            line = re.sub(r"(?:\\ )+\d+$", r" +\\d+", line)
            line = re.sub(r"(?:\\ )+(decisions/s)$", r" +\1", line)
        lines.append(line + r"\n")
    return re.compile("".join(lines) + r"\Z")


def of_any_machine(text):
    for what, instead in OF_SOME_MACHINE:
        text = what.sub(instead, text)
    return text


class DocsTest(ServeCase):
    devices = ()

    def setUp(self):
        super().setUp()
        (self.folder / "examples").symlink_to(ROOT / "examples")

    def has_page(self):
        """Was the program built with the page of reports? Else it is asked for none."""
        said = self.tutti("sim", "--fleet", "x", "--report", "y", code=2, cwd=self.folder)
        return "without the page of reports" not in said

    def printed(self, words):
        words = shlex.split(words.replace("\\\n", " "))
        if words[0] == "pkill":
            self.stop(signal.SIGKILL)
            return ""
        if words[0] != "tutti":
            self.fail(f"only tutti is tried out here: {words}")
        if words[1] == "serve":
            return self.served(words[2:])
        if not self.has_page() and "--report" in words:
            at = words.index("--report")
            del words[at:at + 2]
        return self.call(*words[1:], code=None, cwd=self.folder, stderr=subprocess.STDOUT,
                         env=self.environment() if self.server else None).stdout

    def served(self, options):
        """What a server says, on data and an address of the test's own."""
        before = len(self.said()) if (self.folder / "server.log").exists() else 0
        self.start(*options, cwd=self.folder)
        return self.said()[before:]

    def fits(self, words, expected):
        """What is printed, and whether it is what the document says."""
        end = time.monotonic() + 20
        while True:
            output = self.printed(words)
            if not self.server:
                return output, pattern(expected).match(output)
            if pattern(of_any_machine(expected)).match(of_any_machine(output)):
                return output, True
            if UPDATE or words.split()[1] in CHANGES | {"serve"} or time.monotonic() > end:
                return output, False
            time.sleep(0.1)

    def follow(self, path, least):
        """Tries out the commands of a document, at least so many."""
        text = path.read_text(encoding="utf-8")
        commands = 0
        for block in BLOCK.finditer(text):
            body = block["body"]
            found = list(COMMAND.finditer(body))
            name = NAMED.search(block["above"])
            if not found and name:
                (self.folder / name[1]).write_text(body, encoding="utf-8")
            for command in found:
                commands += 1
                output, good = self.fits(command["words"], command["output"])
                if good:
                    continue
                if UPDATE:
                    whole = command[0]
                    head = whole[:len(whole) - len(command["output"])]
                    text = text.replace(whole, head + output, 1)
                    continue
                with self.subTest(command=command["words"]):
                    self.assertEqual(output, command["output"])
        self.assertGreaterEqual(commands, least)
        if UPDATE:
            path.write_text(text, encoding="utf-8")

    def test_readme(self):
        self.follow(ROOT / "README.md", 17)

    def test_policies(self):
        """The code of the worked example compiles where it says that it belongs."""
        if not shutil.which(COMPILER):
            self.skipTest(f"missing: {COMPILER}")
        text = (ROOT / "docs" / "policies.md").read_text(encoding="utf-8")
        score, declaration, parameters, row, test = re.findall(r"^```cpp\n(.*?)^```$", text,
                                                               re.M | re.S)
        source = self.folder / "policy"
        source.mkdir()
        for name, before, added in (
                ("makers.h", "std::unique_ptr<const Score> make_fgd", declaration),
                ("registry.cpp", "constexpr std::array<Parameter, 2> fgd", parameters),
                ("registry.cpp", '      {"fgd"', row)):
            path = source / name
            known = path if path.exists() else ROOT / "src" / "policy" / name
            code = known.read_text(encoding="utf-8")
            self.assertEqual(code.count(before), 1, before)
            path.write_text(code.replace(before, added + before), encoding="utf-8")
        (source / "fewest_tasks.cpp").write_text(score, encoding="utf-8")
        (source / "fewest_tasks_test.cpp").write_text(test, encoding="utf-8")
        for path in source.glob("*.cpp"):
            done = subprocess.run(
                [COMPILER, "-std=c++23", "-Wall", "-Werror", "-fsyntax-only",
                 f"-I{self.folder}", f"-I{ROOT / 'src'}", str(path)],
                capture_output=True, text=True, timeout=300, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_sim(self):
        """Every member of the JSON is explained."""
        text = (ROOT / "docs" / "sim.md").read_text(encoding="utf-8")
        json_part = text[text.index("## JSON"):text.index("## The report")]
        explained = set(re.findall(r"`(\w+)`", json_part))
        cluster, job = "examples/cluster.json", "examples/job.yaml"
        for words in (f"--fleet {cluster}", f"--fleet {cluster} --workload {job}",
                      f"--fleet {cluster} --workload {job} --arrivals snapshot",
                      f"--fleet {cluster} --workload {job} --arrivals fill:1.3"):
            found = json.loads(self.printed(f"tutti sim {words} --json -"))
            members = set(found).union(*found["runs"], *found.get("never_start", []),
                                       *found.get("waiting", []))
            self.assertEqual(members - explained, set(), words)

    def test_formats(self):
        self.follow(ROOT / "docs" / "formats.md", 1)


if __name__ == "__main__":
    unittest.main()
