"""What tests share that run `tutti` as a user would: the program, a folder of their own, a call.

The program is build/dev/tutti, or the one that TUTTI_PROGRAM names.
"""
import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("TUTTI_PROGRAM", ROOT / "build" / "dev" / "tutti"))
FLEET = ROOT / "examples" / "fleet.yaml"
JOBS = ROOT / "examples" / "jobs.yaml"


@unittest.skipUnless(PROGRAM.exists(), f"missing: {PROGRAM.name}; ./dev build")
class TuttiCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding="utf-8", newline="")
        return path

    def call(self, *words, code=0, **more):
        """How the program ended, with the exit code that it must have (None: any)."""
        more.setdefault("stdin", None if "input" in more else subprocess.DEVNULL)
        for stream in ("stdout", "stderr"):
            more.setdefault(stream, subprocess.PIPE)
        done = subprocess.run([str(PROGRAM), *map(str, words)], text=True, timeout=300,
                              check=False, **more)
        if code is not None:
            self.assertEqual(done.returncode, code, f"{words}\n{done.stdout}{done.stderr}")
        return done

    def tutti(self, *words, code=0, **more):
        """What it says: its output, or its error where that is expected."""
        done = self.call(*words, code=code, **more)
        return done.stdout if code == 0 else done.stderr
