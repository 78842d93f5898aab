#!/usr/bin/env python3
"""clang-format and clang-tidy over our C++ files.

Format is checked for every file. clang-tidy runs for the sources that differ from the main branch,
or include a header that does; with --all for every source. It reads some of them at once, as one
that includes them all: most of its time goes into the headers that they share. Where it finds
something, or their names clash, it reads them in halves again, down to one by one.
A source that passed is remembered by the hash of all that the verdict rests on (its text, the
headers of ours that it reaches, the compile command, .clang-tidy, the package list), so a second
run takes no time.
"""
import argparse
import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
FORMAT = "clang-format-19"
TIDY = "clang-tidy-19"
FOLDERS = ("src/", "apps/", "bench/", "fuzz/", "tests/")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
AT_ONCE = 8  # Sources that are read together.
NOISE = re.compile(r"^(\d+ warnings? (generated|treated)|Suppressed |Use -header-filter|$)")
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "tutti"


def git(root, *arguments):
    """Lines that git prints; none where it fails."""
    done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True,
                          check=False)
    return done.stdout.split("\n") if done.returncode == 0 else []


def cpp_files(root):
    """Our C++ files, from git or, in an exported tree, from the disk."""
    listed = git(root, "ls-files", "-co", "--exclude-standard")
    if not any(listed):
        listed = [str(p.relative_to(root)) for f in FOLDERS for p in (root / f).rglob("*")]
    return sorted({path for path in listed if path.startswith(FOLDERS)
                   and path.endswith((".h", ".cpp")) and (root / path).is_file()})


def format_errors(root, files, fix):
    """Number of files that clang-format would change; changes them if `fix`."""
    if fix:
        subprocess.run([FORMAT, "-i", *files], cwd=root, check=True)
        return 0
    listed = subprocess.run([FORMAT, "--dry-run", "-Werror", *files], cwd=root, check=False,
                            capture_output=True, text=True)
    if listed.returncode == 0:
        return 0
    wrong = sorted(set(re.findall(r"^(\S+?):\d+:\d+: error: code should be", listed.stderr, re.M)))
    for path in wrong:
        better = subprocess.run([FORMAT, path], cwd=root, check=True, capture_output=True).stdout
        subprocess.run(["diff", "-u", "--label", path, "--label", f"{path} (formatted)",
                        path, "-"], cwd=root, input=better, check=False)
    if not wrong:
        print(listed.stderr)
    return max(len(wrong), 1)


class Sources:
    """The sources with the flags they are compiled with, and what their verdicts rest on."""

    def __init__(self, root, builds):
        self.root = root
        self.flags = {}
        self.builds = {}  # The first build that compiles a source lends its flags.
        for build in builds:
            for entry in json.loads((build / "compile_commands.json").read_text()):
                for path in self.sources_in(pathlib.Path(entry["file"])):
                    self.flags.setdefault(path, flags_of(entry["command"]))
                    self.builds.setdefault(path, build)
        self.config = root / ".clang-tidy"
        self.settings = b"".join((root / name).read_bytes() for name in
                                 (".clang-tidy", "tools/packages.txt") if (root / name).exists())

    def sources_in(self, file):
        """Sources of ours that are compiled as this file: itself, or those that it joins."""
        if file.parent.name == "together":
            return INCLUDE.findall(file.read_text())
        path = os.path.relpath(file, self.root)
        return [path] if path.startswith(FOLDERS) else []

    @functools.cache
    def reach(self, path):
        """The file and our headers that it includes, directly or not."""
        found, left = {path}, [path]
        while left:
            text = (self.root / left.pop()).read_text(errors="replace")
            for name in INCLUDE.findall(text):
                for folder in ("src", "apps", "."):
                    file = os.path.normpath(f"{folder}/{name}")
                    if file not in found and (self.root / file).is_file():
                        found.add(file)
                        left.append(file)
        return found

    def key(self, path):
        digest = hashlib.sha256(self.settings)
        digest.update(" ".join(self.flags[path]).replace(str(self.root), "").encode())
        for file in sorted(self.reach(path)):
            digest.update(file.encode() + b"\0" + (self.root / file).read_bytes())
        return digest.hexdigest()

    def batches(self, paths):
        """Those that are compiled alike, a few at a time."""
        alike = {}
        for path in sorted(paths):
            alike.setdefault((self.builds[path], *self.flags[path]), []).append(path)
        return [group[at:at + AT_ONCE] for group in alike.values()
                for at in range(0, len(group), AT_ONCE)]

    def tidy(self, paths):
        """What clang-tidy has to say about each of these sources; empty if nothing."""
        findings = self.read(paths)
        if len(paths) == 1 or not findings:
            return dict.fromkeys(paths, findings)
        half = len(paths) // 2
        return self.tidy(paths[:half]) | self.tidy(paths[half:])

    def read(self, paths):
        """The same about all of them together."""
        with tempfile.NamedTemporaryFile("w", suffix=".cpp") as together:
            together.write("".join(f'#include "{self.root / path}"  // NOLINT\n' for path in paths))
            together.flush()
            file = self.root / paths[0] if len(paths) == 1 else together.name
            command = [TIDY, "--quiet", "--warnings-as-errors=*", f"--config-file={self.config}",
                       str(file), "--", *self.flags[paths[0]]]
            done = subprocess.run(command, capture_output=True, text=True, check=False,
                                  cwd=self.builds[paths[0]])
        lines = [line for line in (done.stdout + done.stderr).split("\n") if not NOISE.match(line)]
        return "" if done.returncode == 0 else "\n".join(lines).replace(f"{self.root}/", "")


def flags_of(command):
    """Those of a compile command that say how its source is to be read."""
    words = shlex.split(command)
    compiler = next(at for at, word in enumerate(words) if "ccache" not in word)
    kept, skip = [], False
    for word in words[compiler + 1:]:
        if not skip and word not in ("-o", "-c"):
            kept.append(word)
        skip = word in ("-o", "-c")
    return kept


def changed_files(root):
    """Files that differ from the main branch: committed since, edited, or new."""
    base = [line for line in git(root, "merge-base", "HEAD", "origin/main") if line] or ["HEAD"]
    return set(git(root, "diff", "--name-only", base[0])) | set(
        git(root, "ls-files", "-o", "--exclude-standard"))


def tidy_errors(sources, everything, jobs):
    """Number of sources with findings, which it prints."""
    changed = changed_files(sources.root)
    wanted = [path for path in sources.flags if everything or sources.reach(path) & changed]
    passed = CACHE / "tidy"
    passed.mkdir(parents=True, exist_ok=True)
    keys = {path: sources.key(path) for path in wanted}
    left = [path for path in wanted if not (passed / keys[path]).exists()]
    start, errors = time.monotonic(), 0
    with concurrent.futures.ThreadPoolExecutor(max_workers=jobs) as pool:
        batches = [pool.submit(sources.tidy, batch) for batch in sources.batches(left)]
        for done in concurrent.futures.as_completed(batches):
            for path, text in done.result().items():
                if text:
                    errors += 1
                    print(text)
                else:
                    (passed / keys[path]).touch()
    print(f"lint: {len(wanted)} sources, {len(wanted) - len(left)} known good, "
          f"{errors} with findings ({time.monotonic() - start:.0f} s)")
    return errors


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true", help="clang-tidy on every source")
    parser.add_argument("--fix", action="store_true", help="format in place, and nothing else")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--root", type=pathlib.Path, default=ROOT)
    parser.add_argument("--builds", type=pathlib.Path, nargs="+", default=[ROOT / "build" / "dev"])
    options = parser.parse_args()
    root = options.root.resolve()
    files = cpp_files(root)
    errors = format_errors(root, files, options.fix) if files else 0
    if options.fix:
        return 0
    print(f"format: {len(files)} files, {errors} to reformat")
    sources = Sources(root, [build.resolve() for build in options.builds])
    errors += tidy_errors(sources, options.all, options.jobs)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
