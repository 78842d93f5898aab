#!/usr/bin/env python3
"""bench_api.py says which row is worse than it must be, and ends with 1 then."""
import contextlib
import io
import json
import pathlib
import sys
import tempfile
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import bench_api  # noqa: E402


def row(measured, higher=False, broken=()):
    out = bench_api.Row("a thing", "ms", *((0.4, 0.7) if higher else (40, 12)), higher=higher)
    out.measured, out.broken = measured, list(broken)
    return out


class VerdictTest(unittest.TestCase):
    """A bound itself is good enough."""

    def test_less_is_better(self):
        for measured, verdict in ((12, "aim"), (12.1, "must"), (40, "must"), (40.1, "MISSED")):
            self.assertEqual(row(measured).verdict(), verdict, measured)

    def test_more_is_better(self):
        for measured, verdict in ((0.7, "aim"), (0.69, "must"), (0.4, "must"), (0.39, "MISSED")):
            self.assertEqual(row(measured, higher=True).verdict(), verdict, measured)

    def test_what_is_broken_has_missed_whatever_was_measured(self):
        self.assertEqual(row(1, broken=["it was not cut off"]).verdict(), "MISSED")


class MainTest(unittest.TestCase):
    """The table, the file and the exit code."""

    def main(self, rows):
        def measure_all(bench):
            bench.disk.append(1000.0)
            return rows

        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "out.json"
            words = ["bench_api.py", "--json", str(path)]
            out = io.StringIO()
            with unittest.mock.patch.object(bench_api, "measure_all", measure_all), \
                    unittest.mock.patch.object(sys, "argv", words), \
                    contextlib.redirect_stdout(out):
                code = bench_api.main()
            return code, out.getvalue(), json.loads(path.read_text())

    def test_one_missed_row_makes_it_fail(self):
        code, text, found = self.main([row(10), row(41, broken=["too late"])])
        self.assertEqual(code, 1)
        self.assertIn("MISSED", text)
        self.assertIn("  too late\n", text)
        self.assertEqual([each["verdict"] for each in found["rows"]], ["aim", "MISSED"])

    def test_good_rows_do_not(self):
        code, text, found = self.main([row(10), row(30)])
        self.assertEqual((code, found["disk_per_second"]), (0, [1000.0]))
        self.assertIn("1000 waits/s, 1.00 ms each", text)


if __name__ == "__main__":
    unittest.main()
