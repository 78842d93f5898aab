#!/usr/bin/env python3
"""Opens the report in a headless Chromium and looks at it as a person would.

    tests/e2e/report_test.py                           the sample in web/dev
    tests/e2e/report_test.py --report build/report.html [--pictures FOLDER]
"""
import argparse
import copy
import json
import pathlib
import re
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import browser  # noqa: E402

PAGE = ROOT / "web" / "dist" / "report.html"
SAMPLE = ROOT / "web" / "dev" / "sample.json"
SCREENS = [(360, 740), (1440, 900)]
CHOSEN = {"report": None, "pictures": None}  # By main.

# What is drawn: marks of each chart, painted pixels of each canvas, and what sticks out.
LOOK = """(() => {
  const title = (element) => element.closest('.card')?.querySelector('h2')?.textContent;
  const shown = (mark) => { const box = mark.getBoundingClientRect();
                            return mark.matches('.bar') ? box.width > 0 && box.height > 0
                                                        : box.width > 0 || box.height > 0; };
  const charts = [...document.querySelectorAll('.plot')].map((plot) => ({ title: title(plot),
    marks: [...plot.querySelectorAll('path.series, rect.bar')].filter(shown).length }));
  const maps = [...document.querySelectorAll('canvas')].map((canvas) => {
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    const colours = new Set(); let painted = 0;
    for (let at = 0; at < data.length; at += 4) if (data[at + 3] > 0) {
      ++painted; colours.add(data[at] << 16 | data[at + 1] << 8 | data[at + 2]); }
    return { painted: painted / (data.length / 4), colours: colours.size }; });
  const page = document.documentElement;
  return { charts, maps, headline: document.querySelector('h1')?.textContent,
    background: getComputedStyle(document.body).backgroundColor,
    sticks_out: page.scrollWidth - page.clientWidth,
    unnamed: [...document.querySelectorAll('button, select, canvas, [tabindex="0"]')]
      .filter((one) => !(one.getAttribute('aria-label') || one.textContent.trim())).length };
})()"""

# The policies' table as text, spaces made plain.
ROWS = """[...document.querySelectorAll('.policies tbody tr')].map((row) =>
  [...row.children].map((cell) => cell.textContent.trim().replace(/\\s+/g, ' ')))"""


def filled(data):
    """The template with a report in it, as `tutti sim --report` writes it."""
    text = json.dumps(data).replace("<", "\\u003c")
    return PAGE.read_text(encoding="utf-8").replace("/*DATA*/", text)


def large(report, nodes):
    """The same report with a fleet of many nodes of eight devices each."""
    fleet = report["fleet"]
    kinds = len(fleet["models"])
    fleet.update(nodes=nodes, gpus=nodes * 8, node_devices=[8] * nodes,
                 node_names=[f"node-{n:05}" for n in range(nodes)],
                 node_models=[n % kinds for n in range(nodes)])
    for run in report["runs"]:
        if "map" in run:
            run["map"] = {"cpu_free_percent": [n % 101 for n in range(nodes)],
                          "memory_free_percent": [n * 7 % 101 for n in range(nodes)],
                          "device_free_permille": [n % 1001 if n % 9 == 0 else 0
                                                   for n in range(nodes * 8)]}
    return report


class ReportTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if browser.find() is None:
            raise unittest.SkipTest("missing: chromium")
        if not CHOSEN["report"] and not PAGE.exists():
            raise unittest.SkipTest("missing: web/dist/report.html, which needs npm")
        cls.folder = tempfile.TemporaryDirectory(prefix="tutti-report-")
        cls.browser = browser.Browser()
        cls.sample = json.loads(SAMPLE.read_text(encoding="utf-8"))

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.folder.cleanup()

    def write(self, data):
        path = pathlib.Path(self.folder.name) / f"{self.id()}.html"
        path.write_text(filled(data), encoding="utf-8")
        return path.as_uri()

    def chosen(self):
        if CHOSEN["report"]:
            return pathlib.Path(CHOSEN["report"]).resolve().as_uri()
        return self.write(self.sample)

    def quiet(self):
        self.assertEqual(self.browser.complaints, [])

    def looks_right(self, seen):
        self.assertEqual(seen["sticks_out"], 0, "the page scrolls sideways")
        self.assertEqual(seen["unnamed"], 0, "a control has no name")
        self.assertTrue(seen["headline"])
        self.assertGreater(len(seen["charts"]), 0)
        for chart in seen["charts"]:
            self.assertGreater(chart["marks"], 0, f"nothing is drawn in {chart['title']}")
        for canvas in seen["maps"]:
            self.assertGreater(canvas["painted"], 0.3)
        self.quiet()

    def test_every_screen_and_theme(self):
        backgrounds = {}
        url = self.chosen()
        for width, height in SCREENS:
            for theme in ("light", "dark"):
                with self.subTest(width=width, theme=theme):
                    self.browser.open(url, width, height, theme)
                    self.looks_right(seen := self.browser.run(LOOK))
                    backgrounds[theme] = seen["background"]
                    if CHOSEN["pictures"]:
                        self.browser.picture(f"{CHOSEN['pictures']}/{width}-{theme}.png")
        self.assertNotEqual(backgrounds["light"], backgrounds["dark"])

    def test_every_workload(self):
        url = self.write(self.sample)
        self.browser.open(url, 1440, 900)
        names = {run["workload"] for run in self.sample["runs"]}
        for name in sorted(names):
            with self.subTest(workload=name):
                self.choose(name)
                self.looks_right(self.browser.run(LOOK))
                policies = self.browser.run(
                    "[...document.querySelectorAll('.chip')].map((chip) => chip.textContent)")
                self.assertEqual(sorted(policies), sorted(
                    run["policy"] for run in self.sample["runs"] if run["workload"] == name))
                if CHOSEN["pictures"]:
                    self.browser.picture(f"{CHOSEN['pictures']}/workload-{name}.png")

    def choose(self, workload):
        self.browser.run("(() => { const select = document.querySelector('#workload');"
                         f"select.value = {json.dumps(workload)};"
                         "select.dispatchEvent(new Event('change'));"
                         "return new Promise((done) => requestAnimationFrame(() =>"
                         " requestAnimationFrame(done))); })()")

    def test_a_snapshot(self):
        url = self.write(self.sample)
        for width, height in SCREENS:
            with self.subTest(width=width):
                self.browser.open(url, width, height)
                self.choose("cluster")
                self.looks_right(seen := self.browser.run(LOOK))
                self.assertGreater(len(seen["maps"]), 0)
                rows = self.browser.run(ROWS)
                self.assertEqual([row[0] for row in rows], ["present", "fgd", "spread"])
                runs = {run["policy"]: run["snapshot"] for run in self.sample["runs"]
                        if "snapshot" in run}
                for name, allocated, *rest in rows:
                    end = runs[name]
                    self.assertEqual(float(allocated.split("of")[0]), end["gpus_allocated"])
                    self.assertEqual(rest, [
                        f"{end['pending_started']} of {end['pending']}",
                        f"{end['running_unplaced']} of {end['running']}",
                        str(end["free_whole_nodes"]), str(end["largest_gang_8gpu"])])
                bars = self.browser.run("[...document.querySelectorAll('.policies .bar')]"
                                        ".map((bar) => bar.getAttribute('width'))")
                self.assertEqual([round(float(bar), 3) for bar in bars], [
                    round(100 * runs[row[0]]["gpus_allocated"] / self.sample["fleet"]["gpus"], 3)
                    for row in rows])

    def test_what_did_not_start_is_said(self):
        """As the terminal does: notes, what waits and why, what can never start."""
        text = "document.querySelector('main').innerText"
        for width, height in SCREENS:
            with self.subTest(width=width):
                self.browser.open(self.write(self.sample), width, height)
                self.assertNotIn("ml/web-0", self.browser.run(text))
                self.choose("cluster")
                self.looks_right(self.browser.run(LOOK))
                told = self.browser.run(text)
                for wanted in (*self.sample["notes"], "Waiting at present", "What waits, with fgd",
                               "ml/web-0 and 11 more like it: waits\n",
                               "ml/web-8 and 3 more like it, 8 others would start: waits\n",
                               "task tune-0/0 on node-003 ends (4 devices",
                               "ml/huge and 2 more like it: can never start",
                               "ml/db, running at present: waits",
                               "ml/tune and 1 more like it: would start",
                               "4 jobs would find no place on this fleet",
                               "ml/huge and 2 more like it: never fits\n",
                               "nearest: node-001 lacks 136 cpu", "ml/other\n"):
                    self.assertIn(wanted, told + "\n")

    def test_few_jobs_are_counted_in_whole_ones(self):
        data = copy.deepcopy(self.sample)
        for run in data["runs"]:
            for moment in run.get("trace", {}).get("over_time", []):
                moment["queued_jobs"] %= 4
        self.browser.open(self.write(data), 1440, 900)
        self.choose("week-trace")
        ticks = self.browser.run("[...[...document.querySelectorAll('.card')].find((card) => card"
                                 ".textContent.startsWith('Waiting jobs')).querySelectorAll("
                                 "'.axis:first-of-type text[text-anchor=end]')]"
                                 ".map((text) => text.textContent)")
        self.assertEqual([tick for tick in ticks if tick.isdigit()], ["0", "1", "2", "3"])

    def test_names_of_sizes_are_not_cut(self):
        data = copy.deepcopy(self.sample)
        data["fleet"]["all_gpus"] = False
        data["runs"] = data["runs"][:2]
        for run in data["runs"]:
            run["failed_before_100"] = {size: 1 for size in ("share", "1", "2", "4", "8")}
        self.browser.open(self.write(data), 1280, 900)
        names = self.browser.run("[...document.querySelectorAll('.group-name')]"
                                 ".map((text) => text.textContent)")
        self.assertIn("Accelerator", names)
        self.assertEqual([name for name in names if "…" in name], [])

    def test_a_table_that_is_cut_shows_it(self):
        more = "document.querySelector('.scroll').classList.contains('more')"
        self.browser.open(self.write(self.sample), 480, 740)
        self.assertTrue(self.browser.run(more))
        self.browser.run("(() => { const area = document.querySelector('.scroll');"
                         "area.scrollLeft = area.scrollWidth; return new Promise((done) =>"
                         " requestAnimationFrame(() => requestAnimationFrame(done))); })()")
        self.assertFalse(self.browser.run(more))
        self.browser.open(self.write(self.sample), 1440, 900)
        self.assertFalse(self.browser.run(more))

    def test_only_what_stands_out_has_a_badge(self):
        badges = "[...document.querySelectorAll('.badge')].map((one) => one.textContent)"
        for means, sd, seeds, wanted in (
                ([10.47, 10.53], 6.4, 10, []), ([10.47, 10.53], 0.01, 10, ["best"]),
                ([10, 10], 0, 10, []), ([5, 10], 0, 1, []), ([5], 0.1, 10, [])):
            with self.subTest(means=means, sd=sd, seeds=seeds):
                data = copy.deepcopy(self.sample)
                data["runs"] = data["runs"][:len(means)]
                for run, mean in zip(data["runs"], means):
                    run["seeds"] = list(range(seeds))
                    run["unallocated_gpu_percent"] = {"100": {"mean": mean, "sd": sd}}
                self.browser.open(self.write(data), 1440, 900)
                self.assertEqual(self.browser.run(badges), wanted)

    def test_closed_nodes_are_not_free(self):
        data = copy.deepcopy(self.sample)
        data["runs"] = data["runs"][:1]
        devices = data["fleet"]["node_devices"]
        data["runs"][0]["map"]["device_free_permille"] = [1000] * sum(devices)
        open_ones = sum(devices) - devices[0] - devices[20]
        for closed, wanted in ([], sum(devices)), ([0, 20], open_ones):
            data["fleet"]["closed_nodes"] = closed
            self.browser.open(self.write(data), 1440, 900)
            told = self.browser.run("document.querySelector('.map-summary').textContent")
            self.assertIn(f"leaves {wanted} whole GPUs free", told.replace("\u202f", ""))
            self.assertIn(f"{data['runs'][0]['policy']} with seed", told)
            self.assertEqual("Not open to work" in told, bool(closed))
            self.assertEqual(self.browser.run("document.querySelectorAll('.key.closed').length"),
                             len(closed) // 2)

    def test_devices_that_are_no_gpus(self):
        data = copy.deepcopy(self.sample)
        data["headline"] = data["command"] = ""
        data["fleet"]["all_gpus"] = False
        self.browser.open(self.write(data), 1440, 900)
        for workload in {run["workload"] for run in data["runs"]}:
            self.choose(workload)
            told = self.browser.run("document.body.textContent.replace(/\\{\"version.*\\}/s, '')"
                                    ".replace(document.querySelector('script:not([type])')"
                                    ".textContent, '')")
            self.assertNotIn("GPU", told)
            self.assertIn("accelerators", told)

    def test_theme_button_repaints_the_map(self):
        self.browser.open(self.write(self.sample), 1440, 900, "light")
        before = self.browser.run("document.querySelector('canvas').toDataURL()")
        self.browser.run("document.querySelector('.theme').click()")
        self.assertEqual(self.browser.run("document.documentElement.dataset.theme"), "dark")
        self.assertNotEqual(self.browser.run("document.querySelector('canvas').toDataURL()"),
                            before)
        self.quiet()

    def test_another_policy_paints_another_map(self):
        self.browser.open(self.write(self.sample), 1440, 900)
        before = self.browser.run("document.querySelector('canvas').toDataURL()")
        self.browser.run("[...document.querySelectorAll('[aria-label=\"Policy\"] button')]"
                         ".at(-1).click()")
        self.assertNotEqual(self.browser.run("document.querySelector('canvas').toDataURL()"),
                            before)

    def test_keyboard_reads_every_chart_and_map(self):
        self.browser.open(self.write(self.sample), 1440, 900)
        for kind in (".plot", "canvas"):
            for at in range(self.browser.run(f"document.querySelectorAll('{kind}').length")):
                self.browser.run(f"document.querySelectorAll('{kind}')[{at}].focus()")
                self.browser.press("ArrowRight")
                told = self.browser.run("[...document.querySelectorAll('.tooltip')]"
                                        ".filter((tip) => !tip.hidden).map((tip) => tip.innerText)")
                self.assertEqual(len(told), 1, f"{kind} {at}")
                self.assertRegex(told[0], r"\d")
        self.quiet()

    def test_pointing_at_a_node_names_it(self):
        self.browser.open(self.write(self.sample), 1440, 900)
        x, y = self.browser.run(
            "(() => { const canvas = document.querySelector('canvas');"
            "canvas.scrollIntoView({ block: 'center' });"
            "const box = canvas.getBoundingClientRect(); return [box.left + 5, box.top + 5]; })()")
        self.browser.point(x, y)
        told = self.browser.run("[...document.querySelectorAll('.map .tooltip')]"
                                ".find((tip) => !tip.hidden)?.innerText")
        self.assertIn(told.split("\n")[0], self.sample["fleet"]["node_names"])
        for word in ("cpu free", "memory free"):
            self.assertIn(word, told)

    def test_hostile_names_stay_text(self):
        evil = "</script><script>document.title='owned'</script><img src=x onerror=alert(1)>"
        self.sample = json.loads(SAMPLE.read_text(encoding="utf-8"))
        self.sample["headline"] = evil
        self.sample["fleet"]["name"] = evil
        self.sample["fleet"]["node_names"][0] = evil
        for model in self.sample["fleet"]["models"]:
            model["model"] = evil
        for run in self.sample["runs"]:
            run["policy"] = run["policy"] + evil
        self.sample["notes"] = [evil]
        for stuck in self.sample["never_start"] + self.sample["waiting"]:
            stuck.update(workload=self.sample["runs"][0]["workload"], job=evil,
                         why=f"{evil}\n{evil}")
        self.browser.open(self.write(self.sample), 360, 740)
        self.looks_right(seen := self.browser.run(LOOK))
        self.assertEqual(seen["headline"], evil)
        self.assertEqual(self.browser.run("document.querySelectorAll('img').length"), 0)
        self.assertNotEqual(self.browser.run("document.title"), "owned")

    def test_one_policy_alone(self):
        data = json.loads(SAMPLE.read_text(encoding="utf-8"))
        data["runs"] = data["runs"][:1]
        self.browser.open(self.write(data), 1440, 900)
        self.looks_right(self.browser.run(LOOK))

    def test_ten_thousand_nodes_stay_quick(self):
        url = self.write(large(json.loads(SAMPLE.read_text(encoding="utf-8")), 10_000))
        start = time.monotonic()
        self.browser.open(url, 1440, 900)
        self.looks_right(self.browser.run(LOOK))
        self.assertLess(time.monotonic() - start, 20)
        repaint_ms = self.browser.run(
            "(() => { const start = performance.now();"
            "[...document.querySelectorAll('[aria-label=\"Policy\"] button')].at(-1).click();"
            "return performance.now() - start; })()")
        self.assertLess(repaint_ms, 2000)

    def test_paper(self):
        self.browser.open(self.write(self.sample), 1440, 900, "dark")
        path = f"{CHOSEN['pictures']}/paper.pdf" if CHOSEN["pictures"] else None
        pdf = self.browser.paper(path)
        pages = len(re.findall(rb"/Type\s*/Page\b", pdf))
        self.assertIn(pages, range(1, 9))
        self.assertEqual(self.browser.run("document.documentElement.dataset.theme"), "dark")

    def test_bare_template_says_so(self):
        self.browser.open(PAGE.as_uri(), 360, 740)
        self.assertIn("empty template", self.browser.run("document.body.innerText"))
        self.quiet()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--report", help="a finished report instead of the sample")
    parser.add_argument("--pictures", help="a folder for screenshots")
    options = parser.parse_args()
    CHOSEN.update(vars(options))
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(ReportTest).run(result)
    for case, text in result.failures + result.errors:
        print(f"FAILED {case.id()}\n{text}")
    failed = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - failed - len(result.skipped)} passed, {failed} failed, "
          f"{len(result.skipped)} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
