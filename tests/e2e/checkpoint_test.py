"""Checkpoints, dropped rows, backups and replays of a server that runs."""
import json
import os
import pathlib
import random
import signal
import subprocess
import tarfile
import threading
import time
import unittest

from serve_case import ServeCase
from tutti_case import PROGRAM


class CheckpointCase(ServeCase):
    quick = ("--checkpoint-every", "40", "--keep-history", "0s")

    def checkpoints(self):
        """Their rows, the newest first."""
        found = (self.data / "checkpoints").glob("checkpoint-*")
        return sorted((int(path.name[11:]) for path in found if path.name[11:].isdigit()),
                      reverse=True)

    def first_row(self):
        import sqlite3
        with sqlite3.connect(f"file:{self.data}/journal.db?mode=ro", uri=True) as journal:
            return journal.execute("SELECT base_row FROM tutti_journal").fetchone()[0] + 1

    def run_jobs(self, count):
        job_file = self.file("many.yaml", "jobs:\n" + "".join(
            f"  - name: j-{n}\n    cpu: 0.1\n    command: [echo, 'said {n}']\n"
            for n in range(count)))
        ids = self.ask_json("submit", job_file)["ids"]
        self.wait_for(lambda: all(job["finished"] for job in self.all_jobs() if job["id"] in ids),
                      "jobs to end")
        return ids

    def all_jobs(self):
        return self.ask_json("jobs", "--all")["jobs"]


class CheckpointTest(CheckpointCase):
    def test_a_server_goes_on_from_a_checkpoint(self):
        self.start(*self.quick)
        held = self.submit("--hold", "--export", "A=b", "--", "sh", "-c", "echo $A")
        ids = self.run_jobs(40)
        self.wait_for(lambda: len(self.checkpoints()) >= 1, "a checkpoint")
        ids += self.run_jobs(40)
        self.wait_for(lambda: len(self.checkpoints()) == 2, "another one")
        before = self.all_jobs()
        self.stop(signal.SIGKILL)
        self.start(*self.quick)
        self.assertEqual(self.all_jobs(), before)
        self.wait_for(lambda: self.first_row() > 1, "rows to be dropped")
        self.stop(signal.SIGKILL)
        self.start(*self.quick)
        self.assertEqual(self.all_jobs(), before)
        self.assertEqual(self.ask("logs", ids[3]), "said 3\n")
        self.ask("release", held)
        self.wait_for_state(held, "succeeded")
        self.assertEqual(self.ask("logs", held), "b\n")
        said = self.tutti("replay", "--data", str(self.data), "--all", code=0)
        self.assertIn("all the same, bit for bit", said)
        said = self.tutti("replay", "--data", str(self.data), "--cycle", "1", code=2)
        self.assertIn("were dropped", said)

    def test_a_damaged_one_is_named_and_left_aside(self):
        self.start(*self.quick[:2])
        self.run_jobs(40)
        self.wait_for(lambda: len(self.checkpoints()) >= 1, "a checkpoint")
        before = self.all_jobs()
        self.stop(signal.SIGKILL)
        newest = self.data / "checkpoints" / f"checkpoint-{self.checkpoints()[0]}"
        damaged = bytearray(newest.read_bytes())
        damaged[len(damaged) // 3] ^= 16
        newest.write_bytes(damaged)
        self.start("--checkpoint-every", "0")
        self.assertIn("a checkpoint is not used", self.said())
        self.assertIn("are damaged", self.said())
        self.assertEqual(self.all_jobs(), before)

    def test_without_rows_and_without_checkpoints_it_says_what_to_do(self):
        self.start(*self.quick)
        self.run_jobs(40)
        self.wait_for(lambda: len(self.checkpoints()) >= 1, "a checkpoint")
        self.run_jobs(40)
        self.wait_for(lambda: self.first_row() > 1, "rows to be dropped")
        self.stop()
        for path in (self.data / "checkpoints").iterdir():
            path.unlink()
        said = self.tutti("serve", "--data", str(self.data), "--listen", "127.0.0.1:0",
                          *self.devices, code=2)
        self.assertIn("were dropped, and no checkpoint stands for them", said)
        self.assertIn("restore a backup", said)


class KillTest(CheckpointCase):
    """Servers and what makes their checkpoints are killed at any moment."""

    ROUNDS = int(os.environ.get("TUTTI_KILLS", "12"))
    SEED = int(os.environ.get("TUTTI_SEED", "1"))

    def kill_makers(self):
        for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = path.read_bytes().split(b"\0")
                if words[1:3] == [b"checkpoint", str(self.data).encode()]:
                    os.kill(int(path.parent.name), signal.SIGKILL)
            except (OSError, ValueError):
                pass

    def test_no_acknowledged_job_is_lost(self):
        random.seed(self.SEED)
        acknowledged = []
        over = threading.Event()

        def submit():
            while not over.is_set():
                done = subprocess.run(
                    [str(PROGRAM), "submit", "--json", "--cpu", "0.1", "--", "true"],
                    capture_output=True, text=True, env=self.environment(), check=False)
                if done.returncode == 0:
                    acknowledged.append(json.loads(done.stdout)["id"])
                else:
                    time.sleep(0.02)

        self.start(*self.quick)
        client = threading.Thread(target=submit)
        client.start()
        try:
            for round_number in range(self.ROUNDS):
                time.sleep(random.uniform(0, 1.5))
                self.kill_makers()
                if round_number % 2 == 0:
                    self.stop(signal.SIGKILL)
                    self.start(*self.quick)
        finally:
            over.set()
            client.join()
        self.wait_for(lambda: all(job["finished"] for job in self.all_jobs()), "all jobs to end",
                      seconds=120)
        known = {job["id"]: job["state"] for job in self.all_jobs()}
        self.assertEqual([number for number in acknowledged if number not in known], [])
        self.assertGreater(len(self.checkpoints()), 0)
        self.stop(signal.SIGKILL)
        self.start(*self.quick)
        self.assertEqual({job["id"]: job["state"] for job in self.all_jobs()}, known)
        said = self.tutti("replay", "--data", str(self.data), "--all", code=0)
        self.assertIn("bit for bit", said)


class BackupTest(CheckpointCase):
    def test_a_backup_made_under_load_is_restored_beside_the_first_server(self):
        self.start(*self.quick)
        held = self.submit("--hold", "--export", "SECRET=s3cret", "--", "sh", "-c", "echo $SECRET")
        ids = self.run_jobs(30)
        over = threading.Event()

        def load():
            while not over.is_set():
                subprocess.run([str(PROGRAM), "submit", "--cpu", "0.1", "--", "true"],
                               capture_output=True, env=self.environment(), check=False)

        client = threading.Thread(target=load)
        client.start()
        try:
            backup = self.folder / "backup.tar"
            said = self.tutti("backup", "--data", str(self.data), str(backup), code=0)
        finally:
            over.set()
            client.join()
        self.assertIn("not in it: what tasks printed", said)
        self.assertEqual(backup.stat().st_mode & 0o777, 0o600)
        said = self.tutti("backup", "--data", str(self.data), str(backup), code=2)
        self.assertIn("does not exist yet", said)
        here = self.all_jobs()
        first, self.server = self.server, None
        there = self.data
        try:
            self.data = self.folder / "restored"
            self.data.mkdir()
            with tarfile.open(backup) as archive:
                archive.extractall(self.data)
            self.start(*self.quick)
            restored = {job["id"]: job["name"] for job in self.all_jobs()}
            for job_id in [held, *ids]:
                self.assertIn(job_id, restored)
            self.assertLessEqual(set(restored), {job["id"] for job in here})
            self.ask("release", held)
            self.wait_for_state(held, "succeeded")
            self.assertEqual(self.ask("logs", held), "s3cret\n")
            self.stop()
        finally:
            self.data = there
            self.server = first


class ReplayTest(ServeCase):
    def test_decisions_are_the_same_and_other_policies_decide_otherwise(self):
        self.start()
        for gpus in "1", "2", "1":
            self.wait_for_state(self.submit("--gpus", gpus, "--", "true"), "succeeded")
        data = ("--data", str(self.data))
        said = self.tutti("replay", *data, "--all", code=0)
        self.assertRegex(said, r"3 cycles, 3 actions: all the same, bit for bit")
        said = self.tutti("replay", *data, "--cycle", "1", code=2)
        self.assertIn("row 1 is no cycle: it is node_reported", said)
        row = next(row for row in range(2, 9)
                   if "same plan" in self.call("replay", *data, "--cycle", row, code=None).stdout)
        said = self.call("replay", *data, "--cycle", row, "--policy", "random", code=None).stdout
        self.assertRegex(said, "the same plan, bit for bit|"
                         "another plan than that of tutti .*, policy "
                         "default\n  then  place task 1")
        said = self.tutti("replay", *data, "--cycle", "99999", code=2)
        self.assertIn("no cycle 99999", said)
        self.assertIn("which cycle?", self.tutti("replay", *data, code=2))

    def test_each_cycle_is_decided_by_the_policy_of_its_time(self):
        policy = self.file("mine.yaml", "policy: 1\nname: mine\nscores: [{name: random}]\n")
        for chosen in "pack", policy:
            self.start("--policy", chosen)
            for gpus in "0.5", "0.3", "0.5", "0.3":
                job = self.submit("--cpu", "0.1", "--gpus", gpus, "--", "sleep", "600")
                self.wait_for_state(job, "running")
            self.stop()
        pathlib.Path(policy).unlink()
        data = ("--data", str(self.data), "--all")
        self.assertIn("8 cycles, 8 actions: all the same", self.tutti("replay", *data, code=0))
        said = self.call("replay", *data, "--policy", "pack", code=1).stdout
        self.assertRegex(said, "another plan than that of tutti .*, policy mine\n")


if __name__ == "__main__":
    unittest.main()
