"""`tutti run`: a job at a terminal or in a pipeline, as if it ran here."""
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
import unittest

from serve_case import ServeCase
from tutti_case import PROGRAM


class Person:
    """Somebody with a terminal of 33 lines of 77 characters, who has started `tutti run`."""

    def __init__(self, test, *command):
        self.test = test
        self.ours, theirs = pty.openpty()
        self.resize(33, 77)
        self.before = termios.tcgetattr(theirs)

        def sit_down():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        self.process = subprocess.Popen(
            [str(PROGRAM), "run", *map(str, command)], stdin=theirs, stdout=theirs, stderr=theirs,
            env=test.environment(), preexec_fn=sit_down)
        self.theirs = theirs
        self.seen = ""
        test.addCleanup(self.leave)

    def resize(self, rows, columns):
        fcntl.ioctl(self.ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, text):
        os.write(self.ours, text.encode())

    def sees(self, text, seconds=30):
        end = time.monotonic() + seconds
        while text not in self.seen:
            self.test.assertLess(time.monotonic(), end, f"no {text!r} in {self.seen!r}\n"
                                                        f"{self.test.said()}")
            if select.select([self.ours], [], [], 0.1)[0]:
                try:
                    self.seen += os.read(self.ours, 65536).decode(errors="replace")
                except OSError:
                    break

    def code(self):
        """How the command ended, with its terminal as it was before."""
        code = self.process.wait(timeout=60)
        self.test.assertEqual(termios.tcgetattr(self.theirs), self.before, "its terminal is raw")
        return code

    def hang_up(self):
        os.close(self.theirs)
        os.close(self.ours)
        self.ours = None

    def leave(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        if self.ours is not None:
            self.hang_up()


class RunTest(ServeCase):
    def run_job(self, *words, **more):
        return subprocess.run([str(PROGRAM), "run", *map(str, words)], env=self.environment(),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120,
                              check=False, **more)

    def spawn(self, *words):
        client = subprocess.Popen([str(PROGRAM), "run", *map(str, words)], env=self.environment(),
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE)
        self.addCleanup(lambda: [each.close() for each in (client.stdin, client.stdout,
                                                           client.stderr)])
        self.addCleanup(client.wait)
        self.addCleanup(client.kill)
        return client

    def newest(self):
        return self.ask_json("jobs")["jobs"][0]

    # --- At a terminal --------------------------------------------------------------------------

    def test_a_terminal_has_its_size_and_its_code(self):
        self.start()
        person = Person(self, "--gpus", "2", "--export", "WHO=you", "--chdir", self.folder, "--",
                        "sh", "-c",
                        "stty size; echo $TERM $WHO $CUDA_VISIBLE_DEVICES; read line; "
                        "echo got $line; exit 7")
        person.sees("33 77\r\n")
        person.sees(f"{os.environ.get('TERM', '')} you 0,1".strip())
        person.type("something\r")
        person.sees("got something")
        self.assertEqual(person.code(), 7)
        job = self.newest()
        self.assertEqual((job["state"], job["exit_code"]), ("failed", 7))
        self.assertIn("got something", self.ask("logs", job["id"]))

    def test_keys_and_changes_of_size_arrive(self):
        self.start()
        person = Person(self, "--", "sh", "-c",
                        "trap 'stty size' WINCH; trap 'echo int; exit 9' INT; echo up; "
                        "while :; do sleep 0.05; done")
        person.sees("up")
        person.resize(11, 22)
        person.sees("11 22")
        person.type("\x03")
        self.assertEqual(person.code(), 9)

    def test_a_shell_with_its_jobs(self):
        self.start()
        person = Person(self, "--", "bash", "--norc", "-i")
        person.type("sh -c 'echo r\"\"eady; exec sleep 600'\r")
        person.sees("ready")
        person.type("\x1a")
        person.sees("Stopped")
        person.type("jobs -s; kill -9 %1; w''ait; echo d''one\r")
        person.sees("done")
        person.type("exit 3\r")
        self.assertEqual(person.code(), 3)

    def test_who_hangs_up_takes_the_job_along(self):
        self.start()
        person = Person(self, "--", "bash", "--norc", "-i")
        person.type("echo u''p\r")
        person.sees("up")
        person.hang_up()
        person.process.wait(timeout=60)
        self.wait_for_state(self.newest()["id"], "cancelled")

    def test_a_signal_to_the_client_restores_its_terminal(self):
        self.start()
        person = Person(self, "--", "sh", "-c", "echo up; sleep 600")
        person.sees("up")
        person.process.send_signal(signal.SIGTERM)
        self.assertEqual(person.code(), 128 + signal.SIGTERM)
        self.wait_for_state(self.newest()["id"], "cancelled")

    def test_it_says_why_it_waits(self):
        self.start()
        first = self.submit("--gpus", "8", "--cpu", "0.1", "--", "sleep", "600")
        self.wait_for_state(first, "running")
        person = Person(self, "--gpus", "1", "--cpu", "0.1", "--", "echo", "at last")
        person.sees("job 2 waits; tutti explain 2 says why")
        self.ask("cancel", first)
        person.sees("at last")
        self.assertEqual(person.code(), 0)

    # --- In a pipeline --------------------------------------------------------------------------

    def test_input_and_output_pass_through(self):
        self.start()
        done = self.run_job("--", "sort", input=b"b\nc\na\n")
        self.assertEqual((done.stdout, done.stderr, done.returncode), (b"a\nb\nc\n", b"", 0))
        much = os.urandom(3_000_000)
        self.assertEqual(self.run_job("--", "cat", input=much).stdout, much)
        path = self.folder / "much"
        path.write_bytes(much)
        with open(path, "rb") as file:
            self.assertEqual(self.run_job("--", "cat", stdin=file).stdout, much)
        self.assertEqual(self.run_job("--", "cat", stdin=subprocess.DEVNULL).stdout, b"")

    def test_how_it_ends_passes_through(self):
        self.start()
        for script, code in (("exit 0", 0), ("exit 5", 5), ("kill -KILL $$", 137),
                             ("kill -SEGV $$", 139)):
            self.assertEqual(self.run_job("--", "sh", "-c", script,
                                          stdin=subprocess.DEVNULL).returncode, code, script)
        missing = self.run_job("--", "/no/such/program", stdin=subprocess.DEVNULL)
        self.assertEqual(missing.returncode, 2)
        self.assertIn(b"/no/such/program", missing.stderr)

    def test_signals_pass_through(self):
        self.start()
        for number in (signal.SIGINT, signal.SIGTERM):
            client = self.spawn("--", "sh", "-c",
                                "trap 'exit 9' INT; trap 'exit 10' TERM; echo up; "
                                "while :; do sleep 0.05; done")
            self.assertEqual(client.stdout.readline(), b"up\n")
            client.send_signal(number)
            self.assertEqual(client.wait(timeout=60), 9 if number == signal.SIGINT else 10)

    def test_who_is_killed_takes_the_job_along(self):
        self.start()
        client = self.spawn("--", "sh", "-c", "echo up; sleep 600")
        self.assertEqual(client.stdout.readline(), b"up\n")
        client.kill()
        self.wait_for_state(self.newest()["id"], "cancelled")

    def test_a_job_that_waits_is_cancelled_too(self):
        self.start()
        client = self.spawn("--gpus", "8xH100-80G", "--", "true")
        self.wait_for(lambda: self.ask_json("jobs")["jobs"], "the job")
        time.sleep(0.3)
        client.send_signal(signal.SIGINT)
        self.assertNotEqual(client.wait(timeout=60), 0)
        self.wait_for_state(self.newest()["id"], "cancelled")

    def test_the_job_outlives_the_server(self):
        self.start()
        client = self.spawn("--", "sh", "-c", "echo up; sleep 600")
        self.assertEqual(client.stdout.readline(), b"up\n")
        self.stop(signal.SIGKILL)
        self.assertEqual(client.wait(timeout=60), 2)
        self.assertIn(b"job 1 goes on", client.stderr.read())
        self.start()
        self.assertEqual(self.job("1")["state"], "running")
        self.ask("cancel", "1")
        self.wait_for_state("1", "cancelled")


if __name__ == "__main__":
    unittest.main()
