"""What is measured on a GPU: time on the compute stream against a known wait, memory, who holds a slot."""

from __future__ import annotations

import json
import subprocess

import dtrain_lab as dt
from dtrain_lab.machine import gpus

EVENTS = """
import time, torch
from dtrain_lab.rank.monitor.step import cuda_stream
torch.cuda.init()
clock = cuda_stream.of_device()
side = torch.cuda.Stream()
cycles = 20_000_000
a, b = (torch.cuda.Event(enable_timing=True) for _ in range(2))
torch.cuda._sleep(cycles); torch.cuda.synchronize()
found = []
for turn in range(5):
    with torch.cuda.stream(side):
        a.record(); torch.cuda._sleep(cycles); b.record()
        done = torch.cuda.Event(); done.record()
    begin = clock.mark()
    torch.cuda.current_stream().wait_event(done)
    clock.waited(begin, 0)
    torch.cuda.synchronize()
    found.append((clock.read() / 1e6, a.elapsed_time(b)))
print(*(abs(ours - true) / true for ours, true in found[1:]))
"""


def test_a_wait_of_the_compute_stream_is_timed_as_it_is(alone: dt.Cluster) -> None:
    apart = alone.run(EVENTS, timeout=60).stdout[0].split()
    assert max(map(float, apart)) < 0.02


def test_the_memory_and_the_use_of_a_gpu_are_shown(alone: dt.Cluster) -> None:
    size = 3 << 30
    alone.run(f"import torch\nballast = torch.empty({size}, dtype=torch.uint8, device='cuda')", timeout=60)
    code = """
import time
a = torch.randn(4096, 4096, device="cuda")
until = time.monotonic() + 3
while time.monotonic() < until:
    for _ in range(20): a @ a
    torch.cuda.synchronize()
"""
    alone.run(code, timeout=60)
    rank = alone.info()["ranks"][0]
    assert size < rank["device_memory_bytes"] < size + (4 << 30)
    assert rank["device_memory_total_bytes"] > size
    assert rank["device_utilization"] > 0.5


def test_the_driver_tells_who_computes_on_a_gpu(alone: dt.Cluster) -> None:
    rank = alone.info()["ranks"][0]
    alone.run("import torch\nx = torch.empty(1 << 30, dtype=torch.uint8, device='cuda')", timeout=60)
    used = {pid: size for each in gpus.processes().values() for pid, size in each}
    assert used[rank["pid"]] >= 1 << 30
    done = subprocess.run(["dtrain-lab", "slots", "--json"], capture_output=True, text=True, check=True)
    slot = json.loads(done.stdout)["nodes"][0]["slots"][0]
    assert (slot["device"], slot["held_by"]["kind"]) == ("cuda:0", "cluster")


def test_the_doctor_is_content() -> None:
    done = subprocess.run(["dtrain-lab", "doctor", "--gpu"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
