"""What a monitoring system reads: /metrics, /healthz, /readyz."""
import json
import re
import shutil
import subprocess
import unittest
import urllib.error
import urllib.request

from serve_case import ServeCase


class MetricsTest(ServeCase):
    def fetch(self, path, token=True):
        request = urllib.request.Request(self.url + path)
        if token:
            secret = (self.data / "admin.token").read_text().strip()
            request.add_header("Authorization", f"Bearer {secret}")
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.read().decode()

    def test_metrics_count_what_was_done(self):
        self.start()
        number = self.submit("--gpus", "2", "--", "sleep", "60")
        self.wait_for_state(number, "running")
        with self.assertRaises(urllib.error.HTTPError) as refused:
            self.fetch("/metrics", token=False)
        refused.exception.close()
        self.assertEqual(refused.exception.code, 401)
        lines = self.fetch("/metrics").splitlines()
        for line in ('tutti_jobs{state="running"} 1', 'tutti_nodes{state="ready"} 1',
                     'tutti_devices{state="used",model="A100-80G"} 2',
                     'tutti_http_requests_total{code="201",method="POST"} 1'):
            self.assertIn(line, lines)
        figures = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
        self.assertGreater(float(figures["tutti_journal_commit_seconds_sum"]), 0)
        self.assertGreater(float(figures["process_resident_memory_bytes"]), 1e6)
        for path in "/healthz", "/readyz":
            self.assertIn("status", json.loads(self.fetch(path, token=False)))

    def test_checkpoints_are_counted(self):
        self.start("--checkpoint-every", "10")
        figures = "tutti_checkpoint_rows 0\ntutti_checkpoints_failed_total 0\n"
        self.assertIn(figures, re.sub(r"(?m)^#.*\n", "", self.fetch("/metrics")))
        self.ask("submit", "--array", "0-9", "--cpu", "0.1", "--", "true")
        self.wait_for(lambda: re.search(r"(?m)^tutti_checkpoint_rows [1-9]",
                                        self.fetch("/metrics")), "a checkpoint")

    @unittest.skipUnless(shutil.which("promtool"), "missing: promtool; ./dev setup all")
    def test_prometheus_reads_them(self):
        self.start()
        self.ask("submit", "--", "true")
        done = subprocess.run(["promtool", "check", "metrics"], input=self.fetch("/metrics"),
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
