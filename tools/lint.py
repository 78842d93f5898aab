#!/usr/bin/env python3
"""clang-format and clang-tidy over our C++ files.

Format is checked for every file. clang-tidy runs for the sources that differ from the main branch,
or include a header that does; with --all for every source. A source that passed is remembered by
the hash of all that the verdict rests on (its text, the headers of ours that it reaches, the
compile command, .clang-tidy, the package list), so a second run takes no time.
"""
import argparse
import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
FORMAT = "clang-format-19"
TIDY = "clang-tidy-19"
FOLDERS = ("src/", "apps/", "bench/", "fuzz/", "tests/")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
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
    """The sources with their compile commands, and what their verdicts rest on."""

    def __init__(self, root, builds):
        self.root = root
        self.commands = {}
        self.builds = {}  # The first build that compiles a source lends its command.
        for build in builds:
            for entry in json.loads((build / "compile_commands.json").read_text()):
                path = os.path.relpath(entry["file"], root)
                if path.startswith(FOLDERS):
                    self.commands.setdefault(path, entry["command"])
                    self.builds.setdefault(path, build)
        self.settings = b"".join((root / name).read_bytes() for name in
                                 (".clang-tidy", "tools/packages.txt") if (root / name).exists())

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
        digest.update(self.commands[path].replace(str(self.root), "").encode())
        for file in sorted(self.reach(path)):
            digest.update(file.encode() + b"\0" + (self.root / file).read_bytes())
        return digest.hexdigest()

    def tidy(self, path):
        """What clang-tidy has to say about one source; empty if nothing."""
        command = [TIDY, "-p", str(self.builds[path]), "--quiet", "--warnings-as-errors=*",
                   str(self.root / path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        lines = [line for line in (done.stdout + done.stderr).split("\n") if not NOISE.match(line)]
        return "" if done.returncode == 0 else "\n".join(lines).replace(f"{self.root}/", "")


def changed_files(root):
    """Files that differ from the main branch: committed since, edited, or new."""
    base = [line for line in git(root, "merge-base", "HEAD", "origin/main") if line] or ["HEAD"]
    return set(git(root, "diff", "--name-only", base[0])) | set(
        git(root, "ls-files", "-o", "--exclude-standard"))


def tidy_errors(sources, everything, jobs):
    """Number of sources with findings, which it prints."""
    changed = changed_files(sources.root)
    wanted = [path for path in sources.commands if everything or sources.reach(path) & changed]
    passed = CACHE / "tidy"
    passed.mkdir(parents=True, exist_ok=True)
    keys = {path: sources.key(path) for path in wanted}
    left = [path for path in wanted if not (passed / keys[path]).exists()]
    start, errors = time.monotonic(), 0
    with concurrent.futures.ThreadPoolExecutor(max_workers=jobs) as pool:
        for path, text in zip(left, pool.map(sources.tidy, left)):
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
