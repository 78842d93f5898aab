#!/usr/bin/env python3
"""The build and tools/lint.py refuse planted offences: a warning, a layout, a lint finding."""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
CLEAN = """int twice(int value);

int twice(int value) { return value + value; }
"""


class CheckTest(unittest.TestCase):
    """A tree with one source, built and checked like this one."""

    @classmethod
    def setUpClass(cls):
        holder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(holder.cleanup)
        cls.root = pathlib.Path(holder.name).resolve()
        for name in ("CMakeLists.txt", "CMakePresets.json", ".clang-format", ".clang-tidy"):
            shutil.copy(ROOT / name, cls.root)
        shutil.copytree(ROOT / "cmake", cls.root / "cmake")
        cls.write(CLEAN)
        cls.run_in(["cmake", "--preset", "dev"])

    @classmethod
    def write(cls, text):
        source = cls.root / "src" / "base" / "a.cpp"
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_text(text)

    @classmethod
    def run_in(cls, command):
        """Exit status and output of a command in the tree."""
        done = subprocess.run(command, cwd=cls.root, stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        return done.returncode, done.stdout

    def build(self, text):
        self.write(text)
        return self.run_in(["cmake", "--build", "build/dev"])

    def lint(self, text):
        for tool in ("clang-format-19", "clang-tidy-19"):
            if not shutil.which(tool):
                self.skipTest(f"missing: {tool}")
        self.write(text)
        return self.run_in([sys.executable, str(ROOT / "tools" / "lint.py"), "--all",
                            "--root", str(self.root), "--builds", str(self.root / "build/dev")])

    def test_clean_source_builds(self):
        self.assertEqual(self.build(CLEAN)[0], 0)

    def test_warning_is_an_error(self):
        status, output = self.build(CLEAN.replace("return", "int unused = 1;\n  return"))
        self.assertNotEqual(status, 0)
        self.assertIn("-Werror,-Wunused-variable", output)

    def test_clean_source_passes(self):
        status, output = self.lint(CLEAN)
        self.assertEqual(status, 0, output)

    def test_layout(self):
        status, output = self.lint(CLEAN.replace("int value)", "int  value)"))
        self.assertEqual(status, 1)
        self.assertIn("1 to reformat", output)
        self.assertIn("+int twice(int value)", output)

    def test_finding(self):
        planted = "int counter = 0;\n\n" + CLEAN
        for _ in range(2):  # A finding is never remembered as good.
            status, output = self.lint(planted)
            self.assertEqual(status, 1)
            self.assertIn("cppcoreguidelines-avoid-non-const-global-variables", output)

    def test_limits_of_functions(self):
        status, output = self.lint("int f(int a, int b, int c, int d, int e, int f);\n\n"
                                   "int f(int a, int b, int c, int d, int e, int f) {\n"
                                   "  return a + b + c + d + e + f;\n}\n")
        self.assertEqual(status, 1)
        self.assertIn("readability-function-size", output)


if __name__ == "__main__":
    unittest.main()
