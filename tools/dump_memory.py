#!/usr/bin/env python3
"""How much memory does reading a huge Kubernetes dump take, beyond what it leaves behind?

Writes dumps of the wanted size (make_dump.py) into a temporary folder and reads each with
tutti_read_dump, which prints the most memory it ever held and what lives on its heap when only the
result is left. The difference is what reading took; the program itself and holes in the heap count
as reading. More than 512 MiB fail.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import make_dump

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "build" / "release" / "tutti_read_dump"
MOST_MIB = 512
MIB = 1 << 20


def measure(program, path, environment=None):
    """What tutti_read_dump prints about the dump at `path`, and the difference that counts."""
    done = subprocess.run([str(program), str(path)], capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL, env=environment)
    if done.returncode != 0:
        raise RuntimeError(f"{program} ended with {done.returncode}: {done.stderr}")
    found = json.loads(done.stdout)
    found["reading_bytes"] = found["peak_bytes"] - found["state_bytes"]
    return found


def measure_layout(program, size, layout):
    with tempfile.TemporaryDirectory(prefix="tutti-dump-") as folder:
        path = pathlib.Path(folder) / "cluster.json"
        with path.open("w", encoding="utf-8") as file:
            make_dump.write_dump(file, size, layout)
        found = measure(program, path)
        found["file_bytes"] = path.stat().st_size
        return found


def row(layout, found):
    mib = {key: found[f"{key}_bytes"] / MIB for key in ("file", "peak", "state", "reading")}
    return (f"{layout:<11} {mib['file']:>9.0f} {found['nodes']:>7} {found['pods']:>8} "
            f"{mib['peak']:>9.0f} {mib['state']:>10.0f} {mib['reading']:>12.0f} "
            f"{found['seconds']:>8.1f} {mib['file'] / found['seconds']:>7.0f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("gib", type=float, nargs="?", default=2, help="size of each dump (2)")
    parser.add_argument("--program", type=pathlib.Path, default=PROGRAM)
    options = parser.parse_args()
    print("layout       file MiB   nodes     pods  peak MiB  state MiB  reading MiB  seconds   "
          "MiB/s")
    worst = 0
    for layout in make_dump.LAYOUTS:
        found = measure_layout(options.program, int(options.gib * (1 << 30)), layout)
        print(row(layout, found), flush=True)
        worst = max(worst, found["reading_bytes"])
    good = worst <= MOST_MIB * MIB
    print(f"reading took {worst / MIB:.0f} MiB beyond the decoded state; {MOST_MIB} are allowed")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
