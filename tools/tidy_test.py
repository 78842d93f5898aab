#!/usr/bin/env python3
"""Each rule of tidy.py fails on a planted offence and lets the same line pass where it is fine."""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import cpp_text  # noqa: E402
import tidy  # noqa: E402

HEADER = "/// Purpose.\n#pragma once\n"
ROWS = "| folder | holds |\n|---|---|\n" + "".join(f"| `{n}/` | x |\n" for n in tidy.STANDS_ON)
LEFT = "TO" + "DO"


def check(files):
    """Offences of a tree that holds these files and a complete folder table."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for path, text in ({"src/README.md": ROWS} | files).items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        return tidy.check(root)


class TidyTest(unittest.TestCase):
    """One method per rule."""

    def assert_only(self, rule, files):
        """Exactly one offence, of this rule."""
        found = check(files)
        self.assertEqual([line.split(": ")[1] for line in found], [rule], found)

    def assert_clean(self, files):
        self.assertEqual(check(files), [])

    def pure(self, line):
        return {"src/sched/a.cpp": line + "\n"}

    def test_clean_tree(self):
        self.assert_clean({"src/base/a.h": HEADER, "src/model/a.cpp": '#include "base/a.h"\n',
                           "README.md": "word " * 50 + "\n"})

    def test_layers_upward(self):
        self.assert_only("layers", {"src/model/a.cpp": '#include "sched/a.h"\n'})

    def test_layers_between_edges(self):
        self.assert_only("layers", {"src/sim/a.cpp": '#include "backend/a.h"\n'})
        self.assert_clean({"src/sim/a.cpp": '#include "net/a.h"\n#include "engine/b.h"\n'})

    def test_layers_sideways(self):
        self.assert_only("layers", {"src/dialect/a.cpp": '#include "sched/a.h"\n'})
        self.assert_clean({"src/engine/a.cpp": '#include "ledger/a.h"\n#include "base/a.h"\n'})

    def test_layers_relative(self):
        self.assert_only("layers", {"src/model/a.cpp": '#include "b.h"\n'})
        self.assert_only("layers", {"src/model/a.cpp": '#include "../base/b.h"\n'})

    def test_layers_unknown_folder(self):
        self.assert_only("layers", {"src/README.md": ROWS + "| `new` | x |\n",
                                    "src/new/a.cpp": "\n"})

    def test_layers_free_above(self):
        self.assert_clean({"apps/tutti/a.cpp": '#include "sim/a.h"\n#include "backend/a.h"\n',
                           "src/model/a.cpp": '#include "generated/catalog.h"\n'})

    def test_words(self):
        for line in ["std::chrono::steady_clock::now();", "std::thread t;", "std::mutex m;",
                     'getenv("A");', "x = rand();", "std::cout << x;", "printf(x);",
                     "std::fprintf(stderr, x);", "fopen(x);", "std::ifstream in;",
                     "std::unordered_map<int, int> m;", "static int count = 0;",
                     "thread_local std::vector<int> cache;", "system_clock x;"]:
            with self.subTest(line):
                self.assert_only("words", self.pure(line))

    def test_words_fine(self):
        for line in ["// rand() and std::thread", 'f("std::cout");', "static int next(int x);",
                     "static constexpr int size = 3;", "brand(x);", "snprintf_like;",
                     "static const int x = 3;", "operand(x);",
                     "std::mutex m;  // tidy: allow(thread) guards a test seam"]:
            with self.subTest(line):
                self.assert_clean(self.pure(line))
        self.assert_clean({"src/net/a.cpp": "std::thread t;\n",
                           "src/base/check.cpp": "std::fprintf(stderr, x);\n"})

    def test_waiver_needs_its_word_and_a_reason(self):
        self.assert_only("words", self.pure("std::mutex m;  // tidy: allow(thread)"))
        self.assert_only("words", self.pure("std::mutex m;  // tidy: allow(output) why"))

    def test_floats(self):
        self.assert_only("floats", self.pure("double share = 0;"))
        self.assert_only("floats", {"src/policy/a.cpp": "float x;\n"})
        self.assert_clean({"src/model/a.cpp": "double x;\n"})
        self.assert_clean(self.pure("double x;  // tidy: allow(float) printed only"))
        self.assert_clean(self.pure("// twice, or double"))

    def test_unfinished(self):
        for path in ["src/base/a.cpp", "README.md", "examples/a.yaml", "dev"]:
            self.assert_only("unfinished", {path: f"# {LEFT}: later\n"})
        self.assert_clean({"README.md": "mktemp XXXXXX\n"})

    def test_columns(self):
        self.assert_only("columns", {"dev": "#" + "x" * 100 + "\n"})
        self.assert_clean({"dev": "#" + "ü" * 99 + "\n"})

    def test_file_size(self):
        self.assert_only("file_size", {"src/base/a.cpp": "\n" * 501})
        self.assert_clean({"src/base/a.cpp": "\n" * 500})

    def test_header_size(self):
        use = {"src/base/a.cpp": '#include "base/a.h"\n'}
        self.assert_only("file_size", use | {"src/base/a.h": HEADER + "\n" * 199})
        self.assert_clean(use | {"src/base/a.h": HEADER + "\n" * 198})

    def test_function_size(self):
        long_body = "".join(f"  f({n});\n" for n in range(69))
        self.assert_only("function_size", {"src/base/a.cpp": f"void a() {{\n{long_body}}}\n"})
        self.assert_clean({"src/base/a.cpp": f"void a() {{\n{long_body[8:]}}}\n"})

    def test_function_size_python(self):
        body = "    x = 1\n" * 70
        self.assert_only("function_size", {"tools/a.py": f"def a():\n{body}"})
        self.assert_clean({"tools/a.py": f"def a():\n{body[10:]}"})

    def test_dead(self):
        self.assert_only("dead", {"apps/other/a.cpp": "\n"})
        self.assert_only("dead", {"src/base/a.h": HEADER})

    def test_rows(self):
        self.assert_only("rows", {"src/README.md": "| `base` | x |\n", "src/sim/a.cpp": "\n"})

    def test_suffixes(self):
        for name in ["JobManager", "EventHandler", "TimeUtils", "NodeInfo", "RunContext"]:
            self.assert_only("suffixes", {"src/base/a.cpp": f"class {name} {{}};\n"})
        self.assert_clean({"src/base/a.cpp": "struct Database {};\nusing X = YAML_Info::y;\n"})

    def test_private_words(self):
        for text in ["see /wo" + "rk/x/y", "/ro" + "ot/.config/x", "/ho" + "me/me/x",
                     "from py" + "pi.org", "deb.deb" + "ian.org"]:
            self.assert_only("private_words", {"docs/a.md": text + "\n"})
        self.assert_clean({"docs/a.md": "tests/work/x and $HOME/root/x\n"})

    def test_headers(self):
        use = {"src/base/a.cpp": '#include "base/a.h"\n'}
        self.assert_only("headers", use | {"src/base/a.h": "/// Purpose.\n"})
        self.assert_only("headers", use | {"src/base/a.h": "#pragma once\n"})

    def test_test_names(self):
        test = "namespace tutti::{} {{\nTEST(Part, Works) {{}}\n}}\n"
        self.assert_only("test_names", {"src/base/a_test.cpp": test.format("b_test")})
        self.assert_clean({"src/base/a_test.cpp": test.format("net::a_test")})

    def test_decisions(self):
        self.assert_only("decisions", {"docs/decisions/0001-a.md": "x\n" * 61})
        self.assert_clean({"docs/decisions/0001-a.md": "x\n" * 60})

    def test_no_rule_without_a_test(self):
        tested = {name.removeprefix("test_") for name in dir(self) if name.startswith("test_")}
        self.assertEqual({rule.__name__ for rule in tidy.RULES} - tested, {"layers"})


class FunctionsTest(unittest.TestCase):
    """The function finder sees what formatted C++ looks like."""

    def names(self, text):
        return [(name, lines) for _, name, lines in cpp_text.functions(text)]

    def test_lambdas_belong_to_their_function(self):
        self.assertEqual(self.names("int a() {\n  auto f = [](int x) { return x; };\n  f(1);\n}\n"),
                         [("a", 4)])

    def test_member_initialisers(self):
        self.assertEqual(self.names("A::A(int x) : a_{x}, b_(x) {\n  go();\n}\nint b() { }\n"),
                         [("A::A", 3), ("b", 1)])

    def test_tables_are_not_functions(self):
        self.assertEqual(self.names("const Row rows[] = {\n{f(1)},\n{2},\n};\nvoid a() {}\n"),
                         [("a", 1)])

    def test_scopes(self):
        text = ('namespace a::b {\nclass C final : public D<int> {\n public:\n  C() {}\n'
                '  int d() const override { return 1; }\n};\nenum class E { x };\n}\n'
                'extern "C" {\nvoid e() {}\n}\n')
        self.assertEqual(self.names(text), [("C", 1), ("d", 1), ("e", 1)])

    def test_literals_and_comments(self):
        text = 'void a() {\n  f("}", \'}\', R"x(}})" )x", 1\'000); // }\n  /* } */\n}\n'
        self.assertEqual(self.names(text), [("a", 4)])

    def test_templates_and_trailing_types(self):
        text = ("template <class T>\n  requires(sizeof(T) > 1)\nauto a(T x) -> std::string {\n"
                "  return x;\n}\n")
        self.assertEqual([lines for _, lines in self.names(text)], [5])

    def test_macros_are_left_out(self):
        self.assertEqual(self.names("#define A(x) \\\n  do { \\\n  f(x) {\nint a() {\n}\n"),
                         [("a", 2)])


if __name__ == "__main__":
    unittest.main()
