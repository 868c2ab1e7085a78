"""What the monitor costs a step of 20 ms or more, and what its probes add.

Two ranks train with DDP; most of a step is device-like, time that needs no processor, so that what the hooks
take is not lost in the noise of two cores. Steps with the hooks at work and at rest, in pairs of random
order, the same on both ranks. The peer is the same process at rest: a hook returns at once, and DDP's own
timing is as rare as torch has it.
"""

from __future__ import annotations

import json
import os
import random
import socket
import subprocess
import sys
import time
from statistics import fmean, median

from benchmarks.measure import Row, emit
from dtrain_lab.metrics import ring

PAIRS = int(os.environ.get("BENCH_PAIRS", "3000"))
WARM, PROBE_STEPS = 100, 200
DEVICE_S = 0.018
RESAMPLES = 1000
USUAL_RATE = 100
"""Of DDP's own timing (`kDDPRuntimeLoggingSampleRate`): one step in so many."""


def rank_main(rank: int, port: int) -> None:
    """One rank."""
    import contextlib

    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    from dtrain_lab.rank.monitor import probe
    from dtrain_lab.rank.monitor.monitor import Monitor
    from dtrain_lab.rank.torch.ddp import RATE

    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    memory = memoryview(bytearray(ring.BYTES))
    monitor = Monitor(memory, 2)
    torch.manual_seed(rank)
    layers = [m for _ in range(6) for m in (torch.nn.Linear(128, 128), torch.nn.ReLU())]
    model = DistributedDataParallel(torch.nn.Sequential(*layers), bucket_cap_mb=1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    inputs = torch.randn(8, 128)
    monitor.begin_cell()

    def step() -> float:
        began = time.perf_counter()
        out = model(inputs)
        time.sleep(DEVICE_S)
        out.square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        return time.perf_counter() - began

    monitor.probes.on = False
    for _ in range(WARM):
        step()
    choose = random.Random(0)
    pairs = []
    for _ in range(PAIRS):
        found = {}
        for on in choose.sample((True, False), 2):
            rate = model.__dict__[RATE] if on else USUAL_RATE
            model._set_ddp_runtime_logging_sample_rate(rate)
            with contextlib.nullcontext() if on else monitor.recorder.resting():
                found[on] = step()
        pairs.append((found[True], found[False]))
    # what a probe adds to its step, spread over the steps between two
    monitor.probes.on = True
    probe.FIRST = tuple(range(5, PROBE_STEPS, 6))
    monitor.begin_cell()
    for _ in range(PROBE_STEPS):
        step()
    records = ring.Reader(memory).last(PROBE_STEPS - 8)
    probed = median(r.wall for r in records if r.flags & ring.PROBED)
    plain = median(r.wall for r in records if not r.flags & ring.PROBED)
    if rank == 0:
        share = (probed - plain) / plain / probe.EVERY
        print(f"FOUND {json.dumps({'pairs': pairs, 'probe': share})}", flush=True)
    dist.barrier()
    os._exit(0)


def main() -> None:
    """Run it, and give the 90 % upper bound."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    ranks = [
        subprocess.Popen(
            [sys.executable, "-m", "benchmarks.metrics.monitor_cost", str(rank), str(port)],
            env=environment, stdout=subprocess.PIPE, text=True,
        )
        for rank in range(2)
    ]  # fmt: skip
    out, _ = ranks[0].communicate(timeout=300)
    ranks[1].wait(30)
    found = json.loads(out.split("FOUND ")[1])
    ratios = [on / off - 1 for on, off in found["pairs"]]
    draw = random.Random(1)
    medians = sorted(median(draw.choices(ratios, k=len(ratios))) for _ in range(RESAMPLES))
    low, high = medians[RESAMPLES // 20], medians[RESAMPLES * 19 // 20]
    step = fmean(off for _, off in found["pairs"]) * 1e3
    ours = f"{median(ratios):+.2%} [{low:+.2%}, {high:+.2%}]"
    emit(
        [
            Row(
                f"the monitor, step of {step:.0f} ms, 90 % upper bound, %",
                ours,
                "hooks at rest",
                high * 100,
                1.0,
            ),
            Row("… and its probes, %", f"{found['probe']:+.2%}", "no probes", found["probe"] * 100, 0.5),
        ]
    )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        rank_main(int(sys.argv[1]), int(sys.argv[2]))
    else:
        main()
