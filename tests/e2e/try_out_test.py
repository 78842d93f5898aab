#!/usr/bin/env python3
"""`./dev run`: what it prints can be done as it stands, and it leaves nothing running."""
import re
import signal
import subprocess
import sys
import unittest

from tutti_case import PROGRAM, ROOT, TuttiCase


class TryOutTest(TuttiCase):
    def try_out(self, *options):
        data = self.folder / "data"
        running = subprocess.Popen(
            [sys.executable, str(ROOT / "tools" / "try_out.py"), "--program", str(PROGRAM),
             "--data", str(data), "--listen", "127.0.0.1:0", *options],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(running.stdout.close)
        self.addCleanup(running.wait)
        self.addCleanup(running.terminate)
        return running

    def printed(self, running, last):
        """What it printed up to the line that begins so."""
        text = ""
        for line in running.stdout:
            text += line
            if line.startswith(last):
                return text
        return self.fail(f"it ended early:\n{text}")

    def test_what_it_prints_works_and_ctrl_c_ends_all(self):
        running = self.try_out("--for", "300")
        text = self.printed(running, "It ends after 300 s")
        exports = re.search(r"^ +export .*$", text, re.M)[0]
        said = {}
        for line in re.findall(r"^ +(tutti .*)$", text, re.M):
            command = line.split("#")[0].replace("logs -f", "logs").strip()  # -f: half a minute.
            done = subprocess.run(["sh", "-c", f"{exports}; {command}"], capture_output=True,
                                  text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 0, f"{command}\n{done.stderr}")
            said[command] = done.stdout
        self.assertIn("tune", said["tutti jobs"])
        self.assertIn("nearest: gpu-0 lacks 2 devices", said["tutti explain 2"])
        self.assertIn("never fits", said["tutti explain 5"])
        self.assertIn("job 2 would start on gpu-0", said["tutti whatif --cancel 1 2"])
        running.send_signal(signal.SIGINT)
        self.assertEqual(running.wait(timeout=60), 0, running.stdout.read())
        left = subprocess.run(["pgrep", "-f", str(self.folder)], capture_output=True, text=True,
                              check=False).stdout
        self.assertEqual(left, "")

    def test_it_ends_by_itself_and_a_second_time_goes_on_with_its_data(self):
        for first in (1, 6):
            running = self.try_out("--for", "0.5")
            text = self.printed(running, "It ends after 0.5 s")
            self.assertIn(f"tutti logs -f {first} ", text)
            self.assertEqual(running.wait(timeout=60), 0, text)

    def test_a_server_that_cannot_start_says_why(self):
        running = self.try_out("--policy", "nonsense")
        text = running.stdout.read()
        self.assertEqual(running.wait(timeout=60), 2, text)
        self.assertIn("nonsense", text)
        self.assertNotIn("Traceback", text)


if __name__ == "__main__":
    unittest.main()
