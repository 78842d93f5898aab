#!/usr/bin/env python3
"""Runs tests and adds them up: gtest binaries, scenario files, chaos seeds, Python tests.

One line per binary or folder; failures with their output; the last line is always
`N passed, N failed, N skipped`, and the exit status is 1 if anything failed.

With CI=true a test may skip only because something is absent, and says so with a reason that
starts with `missing: `; any other skip counts as a failure.
"""
import argparse
import concurrent.futures
import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM_TIMEOUT_S = 600
SHOWN_LINES = 60  # Of a failing program's output, from its end.
KUBERNETES = "kubernetes"  # Part of the names of tests that start a control plane.
CHAOS_SEEDS = "1..50"  # "1..50" runs `tutti sim chaos`; empty leaves it out.
GTEST_LINE = re.compile(r"^\[ +(RUN|OK|FAILED|SKIPPED) +\] ([\w/.]+)(?: \(\d+ ms\)|,.*)?$")


class Tally:
    """Counts of one group of tests, and what to show of the failed ones."""

    def __init__(self):
        self.passed = 0
        self.failures = []  # (name, text)
        self.skips = []  # (name, reason)

    def fail(self, name, text):
        self.failures.append((name, text))

    def skip(self, name, reason):
        """A skip for another reason than absence hides a test, so CI does not accept it."""
        if os.environ.get("CI") and not reason.startswith("missing: "):
            self.fail(name, f"skipped in CI: {reason}")
        else:
            self.skips.append((name, reason))

    def add(self, other):
        self.passed += other.passed
        self.failures += other.failures
        self.skips += other.skips

    def count(self):
        return self.passed + len(self.failures) + len(self.skips)

    def line(self):
        return f"{self.passed} passed, {len(self.failures)} failed, {len(self.skips)} skipped"


def tail(text):
    lines = text.rstrip().splitlines()
    cut = len(lines) - SHOWN_LINES
    return "\n".join(([f"... {cut} lines above"] if cut > 0 else []) + lines[-SHOWN_LINES:])


def call(command):
    """Exit status (or None after the time limit) and all output of a program."""
    environment = dict(os.environ, UBSAN_OPTIONS="print_stacktrace=1",
                       ASAN_OPTIONS="print_legend=0")
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=PROGRAM_TIMEOUT_S, cwd=ROOT,
                              env=environment, check=False)
        return done.returncode, done.stdout.decode(errors="replace")
    except subprocess.TimeoutExpired as late:
        return None, (late.stdout or b"").decode(errors="replace")


def describe(status):
    if status is None:
        return f"no end after {PROGRAM_TIMEOUT_S} s"
    return f"killed by signal {-status}" if status < 0 else f"exit status {status}"


def read_gtest(name, status, output):
    """Counts a gtest run from its lines, which are there even if the program dies half-way."""
    tally = Tally()
    running, said = None, []
    for line in output.splitlines():
        match = GTEST_LINE.match(line)
        if match is None:
            said.append(line)
        elif match[1] == "RUN":
            running, said = match[2], []
        elif running != match[2]:
            continue  # The list of failed and skipped tests at the end.
        else:
            text = "\n".join(said).strip()
            if match[1] == "OK":
                tally.passed += 1
            elif match[1] == "FAILED":
                tally.fail(f"{name} {running}", tail(text))
            else:
                reason = [part for part in said if part and not re.match(r".*: Skipped$", part)]
                tally.skip(f"{name} {running}", reason[0] if reason else "no reason given")
            running = None
    if running is not None:
        tally.fail(f"{name} {running}", f"{describe(status)}\n{tail(output)}")
    elif status not in (0, 1) or (status == 1 and not tally.failures):
        tally.fail(name, f"{describe(status)}\n{tail(output)}")
    return tally


def run_gtest(binary, wanted):
    """The tests of one binary: all if `wanted` is its name or empty, else those that match it."""
    command = [str(binary), "--gtest_color=no"]
    if wanted and wanted != binary.name.removesuffix("_test"):
        command.append(f"--gtest_filter=*{wanted}*")
    return read_gtest(binary.name, *call(command))


def run_scenarios(program, files):
    """Each file is one test of `tutti sim scenario`; two at a time."""
    tally = Tally()
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        results = pool.map(lambda file: call([str(program), "sim", "scenario", str(file)]), files)
        for file, (status, output) in zip(files, results):
            if status == 0:
                tally.passed += 1
            else:
                tally.fail(str(file), f"{describe(status)}\n{tail(output)}")
    return tally


def run_chaos(program, seeds):
    tally = Tally()
    status, output = call([str(program), "sim", "chaos", "--seeds", seeds])
    if status == 0:
        tally.passed += 1
    else:
        tally.fail(f"chaos seeds {seeds}", f"{describe(status)}\n{tail(output)}")
    return tally


def cases_of(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from cases_of(item)
        else:
            yield item


class Result(unittest.TestResult):
    """Counts what passed; else failures of a class as a whole could not be told from tests."""

    passed = 0

    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed += 1


def run_python(path, wanted):
    """The unittest cases of one file whose name contains `wanted`."""
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    cases = [case for case in cases_of(unittest.defaultTestLoader.loadTestsFromModule(module))
             if wanted in case.id()]
    result = Result()
    result.buffer = True
    unittest.TestSuite(cases).run(result)
    tally = Tally()
    for case, text in result.failures + result.errors:
        tally.fail(case.id(), tail(text))
    for case in result.unexpectedSuccesses:
        tally.fail(case.id(), "was expected to fail")
    for case, reason in result.skipped:
        tally.skip(case.id(), reason)
    tally.passed = result.passed + len(result.expectedFailures)
    return tally


def python_tests(wanted):
    """(title, path, what of it is wanted): a file or folder that is named is wanted whole.

    Tests that start a Kubernetes control plane run only if all are wanted, or they by name."""
    part = "" if wanted in (None, "all") else wanted
    for path in sorted([*ROOT.glob("tools/*_test.py"), *ROOT.glob("tests/**/*_test.py")]):
        title = str(path.relative_to(ROOT))
        if KUBERNETES not in title or wanted == "all" or KUBERNETES in part:
            yield title, path, "" if part in title else part


def groups(build, asked, unit_only):
    """(title, function that runs it) of every group, in the order in which they run."""
    wanted = "" if asked in (None, "all") else asked
    for binary in sorted((build / "tests").glob("*_test")):
        yield binary.name, lambda binary=binary: run_gtest(binary, wanted)
    if unit_only:
        return
    program = build / "tutti"
    files = [file.relative_to(ROOT) for file in sorted(ROOT.glob("tests/scenarios/**/*.scn"))]
    files = [file for file in files if wanted in str(file)]
    if files:
        yield "scenarios", lambda: run_scenarios(program, files)
    if CHAOS_SEEDS and wanted in "chaos":
        yield f"chaos {CHAOS_SEEDS}", lambda: run_chaos(program, CHAOS_SEEDS)
    for title, path, part in python_tests(asked):
        yield title, lambda path=path, part=part: run_python(path, part)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "dev")
    parser.add_argument("--unit", action="store_true", help="only the gtest binaries")
    parser.add_argument("filter", nargs="?", help="all, a folder, or part of a name; without it "
                        "all but those that start a Kubernetes control plane")
    options = parser.parse_args()
    total = Tally()
    for title, run in groups(options.build.resolve(), options.filter, options.unit):
        start = time.monotonic()
        tally = run()
        total.add(tally)
        if tally.count() > 0:
            print(f"  {title:<24} {tally.line()}  ({time.monotonic() - start:.1f} s)", flush=True)
    for name, text in total.failures:
        print(f"\nFAILED {name}\n{text}")
    for name, reason in total.skips:
        print(f"skipped {name}: {reason}")
    if total.count() == 0:
        print(f"error: no test matches {options.filter!r}", file=sys.stderr)
        total.fail("no test", "")
    print(total.line(), flush=True)
    return 1 if total.failures else 0


if __name__ == "__main__":
    sys.exit(main())
