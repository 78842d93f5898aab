#!/usr/bin/env python3
"""Runs `tutti sim chaos` as a user would: what it counts, and when that makes it fail."""
import json
import re
import unittest

from tutti_case import TuttiCase


class ChaosTest(TuttiCase):
    def chaos(self, *words, code=0):
        return self.call("sim", "chaos", *words, code=code).stdout

    def test_text_and_json_count_the_same(self):
        text = self.chaos("--seeds", "1..3")
        counts = json.loads(self.chaos("--seeds", "1..3", "--json"))
        seen = dict(re.findall(r"^  (\w+) +(\d+)$", text, re.M))
        both = {**counts["faults"], **counts["rare_paths"]}
        self.assertEqual({name: int(times) for name, times in seen.items()}, both)
        self.assertEqual(len(both), len(counts["faults"]) + len(counts["rare_paths"]))
        self.assertGreater(counts["faults"]["launch_refused"], 0)
        self.assertGreater(counts["rare_paths"]["limit_held_gang"], 0)
        self.assertEqual((counts["passed"], counts["failed"], counts["seeds"]), (3, 0, 3))
        self.assertIn(f"3 seeds: {counts['events']} events, {counts['jobs']} jobs", text)

    def test_few_seeds_need_not_see_everything(self):
        counts = json.loads(self.chaos("--seeds", "1..199", "--until", 1, "--json"))
        self.assertEqual(counts["rare_paths"]["exact_found"], 0)
        self.assertEqual(counts["never_seen"], [])

    def test_with_200_seeds_what_was_never_seen_fails(self):
        text = self.chaos("--seeds", "1..200", "--until", 1, code=1)
        self.assertIn("FAIL fault node_lost was never seen\n", text)
        self.assertIn("FAIL rare path exact_found was never seen\n", text)
        self.assertNotIn("FAIL seed", text)
        counts = json.loads(self.chaos("--seeds", "1..200", "--until", 1, "--json", code=1))
        self.assertIn("rare path exact_found", counts["never_seen"])
        self.assertEqual(counts["passed"], 200)
        self.assertEqual(counts["failed"], len(counts["never_seen"]))
        self.assertTrue(text.endswith(f"200 passed, {counts['failed']} failed\n"), text[-80:])


if __name__ == "__main__":
    unittest.main()
