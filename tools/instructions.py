#!/usr/bin/env python3
"""Counts the instructions of the benchmarks named in bench/instructions.json and compares.

Instructions repeat where seconds do not: more than 3 % over the committed number fails. `--update`
writes the new numbers; commit them with the change that moved them, and say why.
"""
import argparse
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
NUMBERS = ROOT / "bench" / "instructions.json"
BENCH = ROOT / "build" / "release" / "tutti_bench"
TOLERANCE_PERMILLE = 30


def count(name):
    """Instructions of one benchmark, e.g. "prng_shuffle/1000"."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "callgrind.out"
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", "--collect-atstart=no",
             f"--callgrind-out-file={out}", str(BENCH), "--count", name],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"error: {name}: valgrind ended with {done.returncode}\n{done.stderr}")
        found = re.search(r"^(?:totals|summary): (\d+)", out.read_text(), re.M)
    if found is None or int(found[1]) == 0:
        sys.exit(f"error: {name}: nothing was counted\n"
                 "hint:  tutti_bench must be built where valgrind/callgrind.h is installed")
    return int(found[1])


def delta_permille(old, new):
    return (new - old) * 1000 // old if old > 0 else 0


def table(old, new):
    """One row per benchmark; True if one of them needs too many."""
    width = max(map(len, new), default=0)
    worse = False
    for name, value in new.items():
        delta = delta_permille(old[name], value)
        mark = "  FAILED" if delta > TOLERANCE_PERMILLE else ""
        worse = worse or bool(mark)
        print(f"  {name:<{width}} {old[name]:>12} {value:>12} {delta / 10:+7.1f} %{mark}")
    return worse


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--update", action="store_true", help="write the new numbers")
    parser.add_argument("--add", metavar="NAME", nargs="+", default=[], help="count these too")
    options = parser.parse_args()
    old = json.loads(NUMBERS.read_text()) if NUMBERS.exists() else {}
    old |= {name: 0 for name in options.add}
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        new = dict(zip(sorted(old), pool.map(count, sorted(old))))
    worse = table(old, new)
    if options.update:
        NUMBERS.write_text(json.dumps(new, indent=2) + "\n")
        print(f"instructions: {len(new)} numbers written")
        return 0
    print(f"instructions: {len(new)} benchmarks, {'too many' if worse else 'within 3 %'}")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
