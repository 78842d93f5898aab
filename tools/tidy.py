#!/usr/bin/env python3
"""Checks what compilers and clang-tidy do not: the architecture and the shape of the repository.

Prints `path:line: rule: message` for each offence and exits 1 if there is any. A line may be
excused from `words` and `float` by `// tidy: allow(WORD) reason`.
"""
import ast
import functools
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import cpp_text  # noqa: E402

COLUMNS = 100
FILE_LINES = 500
HEADER_LINES = 200
FUNCTION_LINES = 70
DECISION_LINES = 60

# What each folder of src/ stands on directly; it may include these, theirs, and itself.
STANDS_ON = {
    "base": [],
    "format": ["base"],
    "model": ["format"],
    "sched": ["model"],
    "policy": ["sched"],
    "dialect": ["model"],
    "forecast": ["model"],
    "ledger": ["model"],
    "engine": ["policy", "forecast", "ledger"],
    "net": ["format"],
    "store": ["engine", "dialect", "net"],
    "backend": ["engine", "dialect", "net"],
    "api": ["engine", "dialect", "net"],
    "sim": ["engine", "dialect", "net"],
}
PURE = {"base", "format", "model", "sched", "policy", "engine", "dialect", "forecast", "ledger"}
EXACT = {"sched", "policy"}  # Decisions: no floating point at all.

BANNED = {
    "clock": r"\b(system_clock|steady_clock|high_resolution_clock|gettimeofday|clock_gettime)\b",
    "thread": r"\bstd::(thread|jthread|mutex|shared_mutex|condition_variable|async|atomic)\b",
    "environment": r"\b(getenv|setenv)\b",
    "random": r"\b(rand|srand|random)\(|\brandom_device\b",
    "output": r"\bcout\b|\bcerr\b|\bprintf\b|\bfprintf\b|\bputs\b|\bfmt::print\b",
    "file": r"\bfopen\b|\bifstream\b|\bofstream\b|\bfstream\b|\bstd::filesystem\b",
    "unordered": r"\bunordered_(multi)?(map|set)\b",
    "global": r"\b(static|thread_local)\s+(?!const\b|constexpr\b|constinit\b|inline\b)"
              r"[\w:<>,*&\s]+?[\s*&]\w+\s*(=[^=]|;|\{)",
}
MAY_SAY = {("src/base/check.cpp", "output")}  # A failed CHECK has no one else to speak for it.
WAIVER = re.compile(r"// tidy: allow\(([\w:]+)\) +\S+")
UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b")
SUFFIX = re.compile(r"\b(?:class|struct|union|enum|using|concept)\s+(?:\[\[.*?\]\]\s*)?"
                    r"(\w+(?:Manager|Handler|Helper|Utils?|Info|Data|Impl|Context))\b(?!::)")
PRIVATE_PATH = re.compile(r"(?<![\w.}])/(wo" r"rk|ro" r"ot|ho" r"me/\w+)/")
HOST = re.compile(r"\b(deb\.deb" r"ian\.org|py" r"pi\.org|registry\.npm" r"js\.org|crates\." r"io|"
                  r"proxy\.gol" r"ang\.org|repo1?\.ma" r"ven\.)")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
CODE = {".h", ".cpp", ".py", ".cmake", ".sh", ".ts", ".css"}
CODE_NAMES = {"CMakeLists.txt", "dev", "run"}
BUILT = [r"src/\w+/.*\.cpp", r"apps/tutti/[^/]+\.cpp", r"bench/.*\.cpp", r"fuzz/[^/]+\.cpp",
         r"tests/(contract|crash|oracle|fake_nvml)/.*\.cpp"]
LEFT_OUT = ("build/", "web/dist/", "third_party/", ".git/")  # Generated, or not ours.


class File:
    """One text file of the tree, path relative to the root."""

    def __init__(self, root, path):
        self.path = path
        self.text = (root / path).read_text(encoding="utf-8", errors="replace")
        self.lines = self.text.split("\n")
        self.suffix = pathlib.PurePosixPath(path).suffix
        parts = path.split("/")
        self.folder = parts[1] if parts[0] == "src" and len(parts) > 2 else ""
        self.is_cpp = self.suffix in (".h", ".cpp")
        self.is_test = path.endswith("_test.cpp")
        self.is_code = self.suffix in CODE or parts[-1] in CODE_NAMES

    @functools.cached_property
    def code(self):
        """Lines of C++ without comments and literals."""
        return cpp_text.strip(self.text).split("\n")

    @functools.cached_property
    def includes(self):
        """(line, path) of each include in quotes."""
        return [(self.text.count("\n", 0, match.start(1)) + 1, match[1])
                for match in INCLUDE.finditer(self.text)]


def file_names(root):
    """Paths that git would take, or every file where there is no repository."""
    if (root / ".git").exists():
        listed = subprocess.run(["git", "-C", str(root), "ls-files", "-co", "--exclude-standard"],
                                capture_output=True, text=True, check=True).stdout.split("\n")
    else:
        listed = [os.path.relpath(os.path.join(folder, name), root)
                  for folder, _, names in os.walk(root) for name in names]
    return sorted(p for p in set(listed)
                  if p and not p.startswith(LEFT_OUT) and (root / p).is_file()
                  and not (root / p).is_symlink())


def read_tree(root):
    binary = re.compile(r"\.(png|gz|zst|ico|woff2|pyc|pcap|bin)$|/corpus/")
    return [File(root, path) for path in file_names(root) if not binary.search(path)]


def reachable(folder):
    """All that a folder may include."""
    seen, left = {folder}, [folder]
    while left:
        for below in STANDS_ON[left.pop()]:
            if below not in seen:
                seen.add(below)
                left.append(below)
    return seen


def layers(files):
    """Includes follow the arrows, and start at the root of src/."""
    for file in files:
        if not file.is_cpp or not file.path.startswith("src/"):
            continue
        if file.folder not in STANDS_ON:
            yield file, 1, f"src/{file.folder} is not in the table of tools/tidy.py"
            continue
        allowed = reachable(file.folder) | {"generated"}
        for line, path in file.includes:
            target = path.split("/")[0]
            if "/" not in path or target == "..":
                yield file, line, f'"{path}": include from the root of src/'
            elif target not in allowed:
                yield file, line, f"{file.folder} may not include {target}"


def words(files):
    """The pure folders have no clock, thread, file, output, environment, global or hash order."""
    for file in files:
        if file.folder not in PURE or not file.is_cpp or file.is_test:
            continue
        for number, line in enumerate(file.code, 1):
            for name, pattern in BANNED.items():
                match = re.search(pattern, line)
                if match and (file.path, name) not in MAY_SAY and not waived(file, number, name):
                    yield file, number, f"{name}: no {match[0].strip()!r} in src/{file.folder}"


def waived(file, number, name):
    match = WAIVER.search(file.lines[number - 1])
    return match is not None and match[1] == name


def floats(files):
    """Decisions are made of integers."""
    for file in files:
        if file.folder not in EXACT or not file.is_cpp or file.is_test:
            continue
        for number, line in enumerate(file.code, 1):
            if re.search(r"\b(float|double)\b", line) and not waived(file, number, "float"):
                yield file, number, f"floating point in src/{file.folder}"


def unfinished(files):
    """What is left to do stands in the issue tracker."""
    for file in files:
        for number, line in enumerate(file.lines, 1):
            if match := UNFINISHED.search(line):
                yield file, number, f"{match[0]} is left in the text"


def columns(files):
    for file in files:
        if file.is_code:
            for number, line in enumerate(file.lines, 1):
                if len(line) > COLUMNS:
                    yield file, number, f"{len(line)} columns, at most {COLUMNS}"


def file_size(files):
    for file in files:
        limit = HEADER_LINES if file.suffix == ".h" else FILE_LINES
        count = len(file.lines) - 1
        if file.is_code and count > limit:
            yield file, limit + 1, f"{count} lines, at most {limit}"


def function_size(files):
    for file in files:
        for line, name, count in measured(file):
            if count > FUNCTION_LINES:
                yield file, line, f"{name} has {count} lines, at most {FUNCTION_LINES}"


def measured(file):
    """(line, name, number of lines) of each function of a C++ or Python file."""
    if file.is_cpp:
        return cpp_text.functions(file.text)
    if file.suffix != ".py":
        return []
    return [(node.lineno, node.name, node.end_lineno - node.lineno + 1)
            for node in ast.walk(ast.parse(file.text))
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]


def dead(files):
    """Every source is built and every header included."""
    included = {path for file in files if file.is_cpp for _, path in file.includes}
    for file in files:
        if file.suffix == ".cpp" and not any(re.fullmatch(p, file.path) for p in BUILT):
            yield file, 1, "no target builds this file"
        elif file.suffix == ".h":
            names = {file.path, file.path.removeprefix("src/"), file.path.removeprefix("apps/")}
            if not names & included:
                yield file, 1, "nobody includes this header"


def rows(files):
    """Each folder of src/ has a row in src/README.md."""
    table = next((file for file in files if file.path == "src/README.md"), None)
    listed = set(re.findall(r"^\| *`(\w+)/?` *\|", table.text, re.M)) if table else set()
    first = {}
    for file in files:
        if file.folder:
            first.setdefault(file.folder, file)
    for folder, file in first.items():
        if folder not in listed:
            yield file, 1, f"src/{folder} has no row in src/README.md"


def suffixes(files):
    """Names say what a thing is."""
    for file in files:
        if file.is_cpp:
            for number, line in enumerate(file.code, 1):
                if match := SUFFIX.search(line):
                    yield file, number, f"{match[1]}: name the thing, not its kind"


def private_words(files):
    """Nothing ties the repository to the machine on which it was written."""
    for file in files:
        for number, line in enumerate(file.lines, 1):
            if match := PRIVATE_PATH.search(line) or HOST.search(line):
                yield file, number, f"{match[0]} belongs to one machine"


def headers(files):
    """A header opens with its purpose and guards itself."""
    for file in files:
        if file.suffix != ".h":
            continue
        if not file.lines[0].startswith("///"):
            yield file, 1, "a header starts with a /// comment: purpose, invariants, complexity"
        if "#pragma once" not in file.lines:
            yield file, 1, "#pragma once is missing"


def test_names(files):
    """The tests of a folder are compiled together, so each has its names for itself."""
    for file in files:
        name = pathlib.Path(file.path).stem
        tests = (file.path.endswith("_test.cpp") and file.path.startswith(("src/", "tests/"))
                 and any(re.match(r"TEST(_F|_P)?\(", line) for line in file.code))
        if tests and not any(re.match(rf"namespace tutti(::\w+)*::{name} {{", line)
                             for line in file.code):
            yield file, 1, f"tests of this file stand in namespace tutti::{name}"


def decisions(files):
    for file in files:
        count = len(file.lines) - 1
        if file.path.startswith("docs/decisions/") and count > DECISION_LINES:
            yield file, DECISION_LINES + 1, f"{count} lines, at most {DECISION_LINES}"


RULES = [layers, words, floats, unfinished, columns, file_size, function_size, dead, rows, suffixes,
         private_words, headers, test_names, decisions]


def check(root):
    """All offences of a tree, as lines of text."""
    files = read_tree(root)
    return [f"{file.path}:{line}: {rule.__name__}: {message}"
            for rule in RULES for file, line, message in rule(files)]


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[1])
    found = check(root.resolve())
    for line in found:
        print(line)
    count = len(found)
    print("tidy: no offence" if count == 0 else f"tidy: {count} offence{'s'[:count > 1]}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
