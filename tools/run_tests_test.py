#!/usr/bin/env python3
"""run_tests.py counts what a gtest program printed, also when it skips, crashes or leaks."""
import os
import pathlib
import sys
import tempfile
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import run_tests  # noqa: E402

PASSED = "[ RUN      ] A.one\n[       OK ] A.one (0 ms)\n"
FAILED = ("[ RUN      ] A/B.two/0\na_test.cpp:7: Failure\nExpected: 1\n"
          "[  FAILED  ] A/B.two/0, where GetParam() = 3 (0 ms)\n")
SUMMARY = ("[  SKIPPED ] 1 test, listed below:\n[  SKIPPED ] A.three\n"
           "[  FAILED  ] 1 test, listed below:\n[  FAILED  ] A/B.two/0\n")


def skipped(reason):
    return (f"[ RUN      ] A.three\na_test.cpp:5: Skipped\n{reason}\n\n"
            "[  SKIPPED ] A.three (0 ms)\n")


class ReadGtestTest(unittest.TestCase):
    """What the counts and the texts are."""

    def read(self, status, output, ci=""):
        with unittest.mock.patch.dict(os.environ, {"CI": ci}):
            return run_tests.read_gtest("a_test", status, output)

    def test_each_test_counts_once(self):
        tally = self.read(1, PASSED + FAILED + skipped("missing: data") + SUMMARY)
        self.assertEqual(tally.line(), "1 passed, 1 failed, 1 skipped")
        self.assertEqual(tally.failures[0][0], "a_test A/B.two/0")
        self.assertIn("Expected: 1", tally.failures[0][1])
        self.assertEqual(tally.skips, [("a_test A.three", "missing: data")])

    def test_skip_in_ci_needs_absence(self):
        self.assertEqual(self.read(0, skipped("missing: data"), "true").line(),
                         "0 passed, 0 failed, 1 skipped")
        self.assertEqual(self.read(0, skipped("too slow"), "true").line(),
                         "0 passed, 1 failed, 0 skipped")
        self.assertEqual(self.read(0, skipped("too slow")).line(),
                         "0 passed, 0 failed, 1 skipped")

    def test_crash_keeps_what_passed(self):
        tally = self.read(-6, PASSED + "[ RUN      ] A.two\nCHECK failed: x\n")
        self.assertEqual(tally.line(), "1 passed, 1 failed, 0 skipped")
        self.assertEqual(tally.failures[0][0], "a_test A.two")
        self.assertIn("killed by signal 6", tally.failures[0][1])
        self.assertIn("CHECK failed: x", tally.failures[0][1])

    def test_leak_after_the_last_test(self):
        tally = self.read(23, PASSED + "LeakSanitizer: detected memory leaks\n")
        self.assertEqual(tally.line(), "1 passed, 1 failed, 0 skipped")

    def test_failure_outside_a_test(self):
        self.assertEqual(self.read(1, PASSED).line(), "1 passed, 1 failed, 0 skipped")

    def test_time_limit(self):
        self.assertIn("no end after", self.read(None, "[ RUN      ] A.x\n").failures[0][1])

    def test_long_output_is_cut_at_its_start(self):
        text = run_tests.tail("\n".join(str(n) for n in range(100)))
        self.assertTrue(text.startswith("... 40 lines above\n40\n"))
        self.assertTrue(text.endswith("\n99"))


PYTHON_TESTS = """import unittest
class Good(unittest.TestCase):
    def test_one(self): pass
    @unittest.expectedFailure
    def test_two(self): self.fail()
class Bad(unittest.TestCase):
    @classmethod
    def setUpClass(cls): raise RuntimeError("no start")
    def test_three(self): pass
    def test_four(self): pass
"""


class PythonTest(unittest.TestCase):
    """Which files run, and what is counted of them."""

    def titles(self, wanted):
        return {title for title, *_ in run_tests.python_tests(wanted)}

    def test_a_class_that_does_not_start_fails_once(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "some_test.py")
            path.write_text(PYTHON_TESTS, encoding="utf-8")
            self.assertEqual(run_tests.run_python(path, "").line(),
                             "2 passed, 1 failed, 0 skipped")
            self.assertEqual(run_tests.run_python(path, "Good.test_one").line(),
                             "1 passed, 0 failed, 0 skipped")

    def test_a_control_plane_starts_only_if_asked_for(self):
        plane = "tests/e2e/kubernetes/control_plane_test.py"
        every = self.titles("all")
        self.assertIn(plane, every)
        self.assertIn(plane, self.titles("e2e/kubernetes"))
        for wanted in (None, "sim", "e2e"):
            self.assertEqual(self.titles(wanted),
                             {title for title in every if "kubernetes" not in title}, wanted)

    def test_a_named_folder_is_wanted_whole(self):
        wanted = {title: part for title, _, part in run_tests.python_tests("tests/e2e/cli_test")}
        self.assertEqual(wanted.pop("tests/e2e/cli_test.py"), "")
        self.assertEqual(set(wanted.values()), {"tests/e2e/cli_test"})


if __name__ == "__main__":
    unittest.main()
