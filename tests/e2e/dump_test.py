#!/usr/bin/env python3
"""A Kubernetes dump is read in memory that its size does not matter to.

The program is tutti_read_dump beside build/dev/tutti, or beside the one that TUTTI_PROGRAM names.
"""
import os
import subprocess
import sys
import unittest

from tutti_case import PROGRAM, ROOT, TuttiCase

sys.path.insert(0, str(ROOT / "tools"))
import dump_memory  # noqa: E402
import make_dump  # noqa: E402

READER = PROGRAM.parent / "tutti_read_dump"
MIB = 1 << 20
LARGE_MIB = 60
SMALL_MIB = 4
# A sanitizer keeps freed memory to itself; without that, peaks can be compared.
PLAIN = dict(os.environ, ASAN_OPTIONS="quarantine_size_mb=0:thread_local_quarantine_size_kb=0:"
             "malloc_context_size=0")


@unittest.skipUnless(READER.exists(), f"missing: {READER.name}; ./dev build")
class DumpTest(TuttiCase):
    def read(self, mib, layout):
        path = self.folder / f"{layout}-{mib}.json"
        with path.open("w", encoding="utf-8") as file:
            objects = make_dump.write_dump(file, mib * MIB, layout)
        found = dump_memory.measure(READER, path, PLAIN)
        self.assertGreater(path.stat().st_size, 0.9 * mib * MIB)
        self.assertGreater(found["pods"], 0.6 * objects)  # Those that ended are left out.
        return found

    def test_memory_follows_the_result_not_the_file(self):
        # The text alone is 56 MiB more; a tree of it several times that.
        for layout in make_dump.LAYOUTS:
            with self.subTest(layout=layout):
                small, large = (self.read(mib, layout) for mib in (SMALL_MIB, LARGE_MIB))
                self.assertGreater(large["state_bytes"], 4 * small["state_bytes"])
                more = large["reading_bytes"] - small["reading_bytes"]
                allowed = 10 * MIB + large["state_bytes"]
                self.assertLess(more, allowed, f"{small}\n{large}")

    def test_the_generator_repeats_itself(self):
        script = [sys.executable, str(ROOT / "tools" / "make_dump.py"), "1"]
        first, second = (subprocess.run(script, capture_output=True, check=True).stdout
                         for _ in range(2))
        self.assertEqual(first, second)
        self.assertGreater(len(first), MIB)


if __name__ == "__main__":
    unittest.main()
