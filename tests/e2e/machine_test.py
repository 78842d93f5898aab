"""`tutti serve` on machines with other hardware than this one: tests/fake_nvml plays the driver."""
import os
import pathlib
import sys
import unittest

from serve_case import ServeCase
from tutti_case import PROGRAM

DRIVER = PROGRAM.parent / "tests" / "libfake_nvml.so"

# Two of these find each other by what they were given, in each of the ways that frameworks know.
WORKER = """
import json, os, socket, time
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
assert size == 2 and os.environ["LOCAL_RANK"] == str(rank)
job = os.environ["TUTTI_JOB_ID"]
config = json.loads(os.environ["TF_CONFIG"])
assert config["task"] == {"type": "worker", "index": rank}, config
master = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
assert config["cluster"]["worker"][0] == f"{master[0]}:{master[1]}", config
assert len(config["cluster"]["worker"]) == 2
hosts = os.environ["TUTTI_HOSTFILE"]
assert open(hosts).read() == "localhost slots=2\\n"
if rank == 0:
    with socket.create_server(master) as server:
        peer, _ = server.accept()
        print(rank, "heard", peer.recv(100).decode(), hosts, flush=True)
        peer.sendall(f"welcome-{job}".encode())
        peer.close()
else:
    end = time.monotonic() + 60
    while True:
        try:
            peer = socket.create_connection(master)
            break
        except ConnectionRefusedError:
            assert time.monotonic() < end
            time.sleep(0.05)
    peer.sendall(f"hello-{job}-from-{rank}".encode())
    print(rank, "heard", peer.recv(100).decode(), master[1], flush=True)
"""


class MachineTest(ServeCase):
    devices = ()

    def play(self, text):
        """The machine from now on; as a whole, so that nobody reads half of it."""
        (self.folder / "next").write_text("driver 550.54.15 12040\n" + text)
        os.replace(self.folder / "next", self.folder / "machine")

    def start(self, *options, **more):
        super().start("--nvml", DRIVER, *options,
                      env={"TUTTI_FAKE_NVML": str(self.folder / "machine")}, **more)

    def cards(self, count, more=""):
        return "".join(f"card GPU-{n} 00000000:{n + 16:x}:00.0 NVIDIA_H100_80GB_HBM3 81559 "
                       f"links=00000000:05:00.0 {more}\n" for n in range(count))

    def devices_of_node(self):
        return self.ask_json("nodes")["nodes"][0]["devices"]

    def output(self, *words):
        number = self.submit(*words)
        self.assertEqual(self.wait_for_state(number, "succeeded", "failed")["state"], "succeeded",
                         self.job(number))
        return self.ask("logs", number)

    def test_cards_are_found_and_named_by_their_uuids(self):
        self.play(self.cards(8))
        self.start("--device", "2xAscend-910B2")
        self.assertIn("8 x H100-80G in 1 NVLink island, cuda 12.4, nvidia_driver 550.54.15",
                      self.said())
        self.assertIn("declared: 2 x Ascend-910B2", self.said())
        show = ["sh", "-c", "echo $CUDA_VISIBLE_DEVICES $ASCEND_RT_VISIBLE_DEVICES"]
        self.assertEqual(self.output("--gpus", "2xH100-80G", "--", *show), "GPU-0,GPU-1\n")
        self.assertEqual(self.output("--gpus", "1xAscend-910B2", "--", *show), "0\n")

    def test_a_sick_card_gets_no_new_task(self):
        self.play(self.cards(2))
        self.start()
        self.play(self.cards(2) + "xid 0 13\nxid 0 79\n")
        self.wait_for(lambda: self.devices_of_node()[0]["health"] == "failed", "the XID")
        self.assertIn("card 0 (GPU-0) is failed: XID 79: it fell off its bus", self.said())
        show = ["sh", "-c", "echo $CUDA_VISIBLE_DEVICES"]
        self.assertEqual(self.output("--gpus", "1", "--", *show), "GPU-1\n")
        both = self.submit("--gpus", "2", "--", "true")
        self.assertIn("waits", self.ask("explain", both))
        self.assertEqual(self.job(both)["state"], "pending")

    def test_a_task_keeps_its_card_while_another_one_disappears(self):
        self.play(self.cards(3))
        self.start()
        sleepers = [self.submit("--gpus", "1", "--cpu", "0.1", "--", "sleep", "600")
                    for _ in range(2)]
        for each in sleepers:
            self.wait_for_state(each, "running")
        self.stop()
        self.play("\n".join(self.cards(3).split("\n")[1:]))
        self.start()
        self.assertEqual([each["id"] for each in self.devices_of_node()],
                         ["GPU-0", "GPU-1", "GPU-2"])
        self.assertEqual([each["health"] for each in self.devices_of_node()],
                         ["failed", "online", "online"])
        show = ["sh", "-c", "echo $CUDA_VISIBLE_DEVICES"]
        self.assertEqual(self.output("--gpus", "1", "--", *show), "GPU-2\n")
        for each in sleepers:
            self.ask("cancel", each)
            self.wait_for_state(each, "cancelled")

    def test_slices_are_devices(self):
        self.play("card GPU-0 00000000:10:00.0 NVIDIA_A100-SXM4-80GB 81920 mig=1\n"
                  "slice 0 MIG-1 NVIDIA_A100-SXM4-80GB_MIG_3g.40gb 3 40192\n"
                  "slice 0 MIG-2 NVIDIA_A100-SXM4-80GB_MIG_3g.40gb 3 40192\n")
        self.start()
        self.assertEqual(self.output("--gpus", "1", "--", "sh", "-c",
                                     "echo $CUDA_VISIBLE_DEVICES"), "MIG-1\n")

    def test_a_file_describes_the_machine(self):
        path = self.file("node.yaml", "nodes: [{name: edge-7, labels: {zone: east}, gpus: 2xT4}]\n")
        self.play("")
        self.start("--node-file", path)
        node = self.ask_json("nodes")["nodes"][0]
        self.assertEqual(node["name"], "edge-7")
        self.assertEqual(len(node["devices"]), 2)

    def test_two_workers_find_each_other(self):
        program = self.file("worker.py", WORKER)
        self.play("")
        self.start()
        jobs = [self.submit("--name", f"pair-{n}", "--tasks", "2", "--cpu", "0.1", "--",
                            sys.executable, program) for n in range(3)]
        masters = set()
        for job in jobs:
            state = self.wait_for_state(job, "succeeded", "failed")
            said = [self.ask("logs", job, "--task", task) for task in "01"]
            self.assertEqual(state["state"], "succeeded", said)
            self.assertEqual(said[0].split()[:3], ["0", "heard", f"hello-{job}-from-1"])
            self.assertFalse(pathlib.Path(said[0].split()[3]).exists(), "its host file is left")
            self.assertEqual(said[1].split()[:3], ["1", "heard", f"welcome-{job}"])
            masters.add(said[1].split()[3])
        self.assertEqual(len(masters), 3, "each job has a port of its own")

    def test_whole_cores_belong_to_one_task(self):
        self.play("")
        self.start()
        cores = ["python3", "-c", "import os; print(*os.sched_getaffinity(0))"]
        everywhere = self.output("--cpu", "0.5", "--", *cores).split()
        self.assertEqual(set(map(int, everywhere)), os.sched_getaffinity(0))
        if len(everywhere) < 2:
            self.skipTest("missing: a second processor")
        first = self.submit("--cpu", "1", "--", "sh", "-c", " ".join(cores[:2]) + f" '{cores[2]}'"
                            "; sleep 600")
        self.wait_for(lambda: self.ask("logs", first), "its processors")
        self.stop()
        self.start()
        second = self.output("--cpu", "1", "--", *cores).split()
        self.assertEqual(len(second), 1)
        self.assertNotEqual(second, self.ask("logs", first).split(), "also after a restart")
        self.ask("cancel", first)
        self.wait_for_state(first, "cancelled")

    def test_without_a_driver_it_serves_all_the_same(self):
        ServeCase.start(self, "--nvml", "libnot-there.so")
        self.assertIn("no NVIDIA driver: libnot-there.so", self.said())
        self.assertEqual(self.devices_of_node(), [])
        self.stop()
        ServeCase.start(self, "--nvml", "none")
        self.assertEqual(self.said().count("no NVIDIA driver"), 1)


if __name__ == "__main__":
    unittest.main()
