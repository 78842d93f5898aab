"""`tutti serve` as a service of its machine: its port, its limits, TLS, systemd, restarts."""
import json
import os
import pathlib
import resource
import shutil
import signal
import socket
import subprocess
import time
import unittest

from serve_case import ServeCase
from tutti_case import PROGRAM, ROOT

NOBODY = 65534


class ServiceTest(ServeCase):
    def test_a_busy_port_is_refused_with_who_has_it(self):
        self.start()
        port = self.url.rsplit(":", 1)[1]
        done = self.call("serve", "--data", self.folder / "other", "--listen", f"127.0.0.1:{port}",
                         code=2)
        self.assertIn(f"the port is in use by process {self.server.pid}", done.stderr)

    def test_tasks_have_the_limits_that_the_server_was_started_with(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.start()
        limits = pathlib.Path(f"/proc/{self.server.pid}/limits").read_text()
        line = next(each for each in limits.splitlines() if each.startswith("Max open files"))
        self.assertEqual(line.split()[3], line.split()[4])
        number = self.submit("--", "sh", "-c", "ulimit -Sn; ulimit -Hn")
        self.wait_for_state(number, "succeeded")
        self.assertEqual(self.ask("logs", number).split(), [str(soft), str(hard)])

    def test_the_file_of_a_job_is_shown_too(self):
        self.start()
        path = self.folder / "mine.log"
        number = self.submit("--output", path, "--", "sh", "-c", "echo first; sleep 0.3; echo last")
        self.assertEqual(self.ask("logs", "-f", number), "first\nlast\n")
        self.assertEqual(path.read_text(), "first\nlast\n")
        if os.geteuid() == 0:
            os.chown(path, NOBODY, NOBODY)
            self.assertIn("mine.log", self.call("logs", number, code=2,
                                                env=self.environment()).stderr)

    @unittest.skipUnless(shutil.which("openssl"), "missing: openssl")
    def test_https_with_a_certificate_that_is_renewed(self):
        def certificate(name):
            subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days",
                            "2", "-keyout", self.folder / f"{name}.key", "-out",
                            self.folder / f"{name}.pem", "-subj", f"/CN={name}", "-addext",
                            "subjectAltName=DNS:localhost,IP:127.0.0.1"], check=True,
                           capture_output=True)
        certificate("old")
        certificate("new")
        for kind in ("pem", "key"):
            shutil.copy(self.folder / f"old.{kind}", self.folder / f"now.{kind}")
        self.start("--tls-cert", self.folder / "now.pem", "--tls-key", self.folder / "now.key")
        self.assertTrue(self.url.startswith("https://127.0.0.1:"), self.url)
        token = (self.data / "admin.token").read_text().strip()
        env = {**os.environ, "TUTTI_SERVER": self.url, "TUTTI_TOKEN": token}

        def jobs(name, code):
            return self.call("jobs", "--tls-ca", self.folder / f"{name}.pem", env=env, code=code)
        self.assertEqual(jobs("old", 0).stdout, "no jobs\n")
        self.assertIn("certificate", jobs("new", 2).stderr)
        self.assertIn("certificate", self.call("jobs", env=env, code=2).stderr)
        for kind in ("pem", "key"):
            shutil.copy(self.folder / f"new.{kind}", self.folder / f"now.{kind}")
        self.server.send_signal(signal.SIGHUP)
        self.wait_for(lambda: "read the certificates anew" in self.said(), "the new certificate")
        jobs("new", 0)
        jobs("old", 2)
        (self.folder / "now.pem").write_text("nonsense")
        self.server.send_signal(signal.SIGHUP)
        self.wait_for(lambda: "now.pem" in self.said(), "a complaint")
        jobs("new", 0)

    def test_a_certificate_needs_its_key(self):
        done = self.call("serve", "--data", self.data, "--tls-cert", "x.pem", code=2)
        self.assertIn("--tls-key", done.stderr)

    def test_the_service_manager_is_told(self):
        path = str(self.folder / "notify")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(path)
            manager.settimeout(30)
            self.start(env={"NOTIFY_SOCKET": path})
            self.assertEqual(manager.recv(100), b"READY=1")
            self.stop()
            self.assertEqual(manager.recv(100), b"STOPPING=1")

    def test_tasks_have_groups_with_what_they_asked_for(self):
        group = self.folder / "group"
        group.mkdir()
        (group / "cgroup.controllers").write_text("cpu memory pids\n")
        self.start("--cgroup", group)
        self.assertIn(f"memory and time of each task, in {group}", self.said())
        number = self.submit("--cpu", "0.5", "--memory", "64Mi", "--", "true")
        self.wait_for_state(number, "succeeded")
        mine = group / f"{number}.0.1"
        self.assertEqual((mine / "memory.max").read_text(), str(64 << 20))
        self.assertEqual((mine / "cpu.max").read_text(), "50000 100000")
        self.stop()
        (group / "cgroup.controllers").write_text("cpu\n")
        self.start("--cgroup", group)
        self.assertIn("no controller of memory is delegated", self.said())

    @unittest.skipUnless(os.geteuid() == 0, "missing: root")
    def test_who_is_not_root_is_told_what_is_open_and_needs_no_login(self):
        """Without XDG_RUNTIME_DIR, server and client meet in the data folder."""
        away = {"XDG_RUNTIME_DIR", "XDG_STATE_HOME", "TUTTI_SERVER"}
        someone = {"user": NOBODY, "group": NOBODY, "extra_groups": [], "env": {
            **{name: value for name, value in os.environ.items() if name not in away},
            "HOME": str(self.folder)}}
        try:
            subprocess.run([PROGRAM, "--version"], user=NOBODY, check=True, capture_output=True)
        except (PermissionError, subprocess.CalledProcessError):
            self.skipTest("missing: a program that other users may run")
        os.chown(self.folder, NOBODY, NOBODY)
        done = subprocess.Popen([PROGRAM, "serve", "--listen", "127.0.0.1:0", "--ready-file",
                                 self.folder / "ready"], stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, **someone)
        end = time.monotonic() + 60
        while not (self.folder / "ready").exists() and time.monotonic() < end:
            time.sleep(0.05)
        asked = subprocess.run([PROGRAM, "jobs"], capture_output=True, text=True, timeout=60,
                               check=False, **someone)
        done.terminate()
        self.assertIn(f"can read and write {self.folder}/.local/state/tutti".encode(),
                      done.communicate()[0])
        self.assertEqual(asked.returncode, 0, asked.stderr)

    def test_after_a_restart_of_the_machine_jobs_begin_again(self):
        self.start()
        starts = self.folder / "starts"
        number = self.submit("--", "sh", "-c", f"echo $TUTTI_ATTEMPT >> {starts}; "
                                               "[ $TUTTI_ATTEMPT != 1 ] || exec sleep 600")
        self.wait_for(starts.exists, "its start")
        self.wait_for_state(number, "running")
        over = self.submit("--", "true")
        self.wait_for_state(over, "succeeded")
        self.stop(signal.SIGKILL)
        self.lose_power()
        self.start()
        self.assertIn("restarted:", self.said())
        self.wait_for_state(number, "succeeded", "failed")
        self.assertEqual(starts.read_text().split(), ["1", "2"])
        self.assertEqual(self.job(over)["attempt"], 1)
        self.stop()
        self.start()
        self.assertEqual(self.said().count("restarted:"), 1)

    def lose_power(self):
        """Ends all that runs, without a word, and lets it have run under another start."""
        self.kill_tasks()
        for path in (self.data / "tasks").glob("*/identity.json"):
            text = path.read_text()
            identity = json.loads(text)
            path.write_text(text.replace(identity["boot"], "another-start"))
            launch = path.parent / "launch.json"
            launch.write_text(launch.read_text().replace(identity["boot"], "another-start"))
        (self.data / "boot").write_text("another-start")

    @unittest.skipUnless(shutil.which("systemd-analyze"), "missing: systemd-analyze")
    def test_the_unit_of_systemd_is_one(self):
        text = (ROOT / "deploy" / "systemd" / "tutti.service").read_text()
        self.assertIn("ExecStart=/usr/local/bin/tutti serve", text)
        unit = self.file("tutti.service", text.replace("/usr/local/bin/tutti", str(PROGRAM)))
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", str(unit)],
                              capture_output=True, text=True, check=False)
        about_it = [each for each in done.stderr.splitlines() if "tutti" in each
                    and "'DelegateSubgroup'" not in each]  # Older ones leave it out, as it says.
        self.assertEqual((done.returncode, about_it), (0, []), done.stderr)


if __name__ == "__main__":
    unittest.main()
