#!/usr/bin/env python3
"""Plants known bugs, one at a time, into a copy of the tree: chaos must find each of them.

Each tests/planted/*.patch begins with prose; a line `Caught-by: REGEX` says which violation
`tutti sim chaos` must report within its seeds. A patch that no longer applies fails, and so does
the tree without any patch if chaos finds something in it.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TREE = ROOT / "build" / "planted"
BUILD = TREE / "build" / "release"
SEEDS = "1..200"
CHAOS_TIMEOUT_S = 300


def run(command, **options):
    return subprocess.run(command, cwd=TREE, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, **options)


def copy_tree():
    """The files that git knows or would add, each only where it changed: builds stay short."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT,
                            capture_output=True, text=True, check=True).stdout
    wanted = {pathlib.Path(name) for name in listed.split("\0") if name}
    wanted = {path for path in wanted if (ROOT / path).is_file()}
    for path in wanted:
        copy = TREE / path
        if not copy.exists() or copy.read_bytes() != (ROOT / path).read_bytes():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, copy)
    for folder in ("apps", "cmake", "src"):
        for copy in (TREE / folder).rglob("*"):
            if copy.is_file() and copy.relative_to(TREE) not in wanted:
                copy.unlink()


def build():
    """The error output of a failed build, or nothing."""
    environment = dict(os.environ, CCACHE_BASEDIR=str(TREE))
    if not (BUILD / "build.ninja").exists():
        done = run(["cmake", "--preset", "release", "-DTUTTI_TESTS=OFF", "-DTUTTI_BENCH=OFF"],
                   env=environment)
        if done.returncode != 0:
            return done.stdout
    done = run(["ninja", "-C", str(BUILD), "--quiet", "tutti"], env=environment)
    return done.stdout if done.returncode != 0 else ""


def chaos():
    """Exit status and the first violation that chaos reports."""
    try:
        done = run([str(BUILD / "tutti"), "sim", "chaos", "--seeds", SEEDS],
                   timeout=CHAOS_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return None, f"no end after {CHAOS_TIMEOUT_S} s"
    found = re.search(r"^FAIL seed .*$|^.*check failed.*$", done.stdout, re.M | re.I)
    return done.returncode, found[0] if found else done.stdout.strip()[-200:]


def verdict(patch):
    """(caught, what to say) of one planted bug."""
    expected = re.search(r"^Caught-by: (.+)$", patch.read_text(), re.M)
    if not expected:
        return False, "has no line \"Caught-by: REGEX\""
    applied = subprocess.run(
        ["git", "apply", f"--directory={TREE.relative_to(ROOT)}", str(patch)], cwd=ROOT,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    try:
        if applied.returncode != 0:
            return False, "does not apply any more:\n" + applied.stdout
        if errors := build():
            return False, "does not compile any more:\n" + errors[-2000:]
        status, said = chaos()
        if status == 0:
            return False, f"not caught within the seeds {SEEDS}"
        if not re.search(expected[1], said, re.I):
            return False, f"caught, but not as \"{expected[1]}\": {said}"
        return True, said
    finally:
        copy_tree()  # Takes the patch back, a half-applied one too.


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("filter", nargs="?", default="", help="only patches whose name contains it")
    wanted = parser.parse_args().filter
    copy_tree()
    if errors := build():
        sys.exit("error: the tree itself does not build\n" + errors[-2000:])
    status, said = chaos()
    if status != 0:
        sys.exit(f"error: chaos fails without any planted bug: {said}")
    passed = failed = 0
    for patch in sorted((ROOT / "tests" / "planted").glob("*.patch")):
        if wanted not in patch.name:
            continue
        start = time.monotonic()
        caught, said = verdict(patch)
        passed, failed = passed + caught, failed + (not caught)
        print(f"{'caught' if caught else 'FAILED'}  {patch.stem:<32} "
              f"{time.monotonic() - start:4.0f} s  {said}", flush=True)
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed or passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
