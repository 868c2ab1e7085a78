"""A rank that is 3 % slower than the others: in how many steps the figures name it.

Four ranks with device-like compute (time that needs no processor). In each block another rank takes longer.
Two loops: gradients averaged by DDP, and by hand, where each collective is seen by itself. On a busy machine
another rank is late in many a step: what the layers of each rank took, by their own clock, says which steps
have one straggler, ahead of nobody else by 3 % or more.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from statistics import median
from typing import Any, NamedTuple

from benchmarks.measure import Row, emit
from dtrain_lab.metrics import ring

RANKS = 4
BLOCKS = int(os.environ.get("BENCH_BLOCKS", "8"))
STEPS = 60
WINDOW = 20
LAYERS = 6
STEP_S = 0.08
SHARE = 0.03
LOOPS = ("ddp", "by hand")


def rank_main(rank: int, port: int, loop: str) -> None:
    """One rank: own time of each step, by what the monitor writes."""
    import time

    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    from dtrain_lab.rank.monitor.monitor import Monitor

    torch.set_num_threads(1)
    slower = [0.0]
    clock = [0.0]
    """What the layers of this step have taken."""

    def compute(seconds: float) -> None:
        began = time.perf_counter()
        time.sleep(seconds)
        clock[0] += time.perf_counter() - began

    class Layer(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
            ctx.size = weight.shape
            compute((STEP_S / 3 + slower[0]) / LAYERS)
            return x + weight[0]

        @staticmethod
        def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            compute(STEP_S * 2 / 3 / LAYERS)
            return grads[0], torch.full(ctx.size, 0.01)

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weights = torch.nn.ParameterList(
                torch.nn.Parameter(torch.zeros(20_000)) for _ in range(LAYERS)
            )

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for weight in self.weights:
                x = Layer.apply(x, weight)
            return x

    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=RANKS)
    memory = memoryview(bytearray(ring.BYTES))
    monitor = Monitor(memory, RANKS)
    model: torch.nn.Module = Net()
    if loop == "ddp":
        model = DistributedDataParallel(model, bucket_cap_mb=0.2)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    x = torch.ones(8, 1, requires_grad=True)
    monitor.probes.on = False
    monitor.begin_cell()
    reader = ring.Reader(memory)
    found = []
    for block in range(BLOCKS):
        slow = block % RANKS
        slower[0] = SHARE * STEP_S if rank == slow else 0.0
        truth = []
        for _ in range(STEPS):
            clock[0] = 0.0
            model(x).sum().backward()
            if loop != "ddp":
                for parameter in model.parameters():
                    dist.all_reduce(parameter.grad)
            optimizer.step()
            optimizer.zero_grad()
            truth.append(clock[0] * 1e9)
        # the first steps of a block are those of the change, the last's tail is known only in the next
        records = reader.last(STEPS)[4:-1]
        found.append((slow, [r.wall - r.exposed - r.tail for r in records], truth[4:-1]))
    print(f"FOUND {json.dumps(found)}", flush=True)
    dist.barrier()
    os._exit(0)


class Found(NamedTuple):
    """Shares of right ranks, and by how much the slow one was late, ms."""

    steps: float
    stragglers: int
    windows: float
    lag: float


def measure(loop: str) -> Found:
    """Run the ranks; compare what the figures say with their own clocks, and with who was made slower."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    command = [sys.executable, "-m", "benchmarks.metrics.stragglers"]
    processes = [
        subprocess.Popen(
            [*command, str(rank), str(port), loop], env=environment, stdout=subprocess.PIPE, text=True
        )
        for rank in range(RANKS)
    ]
    by_rank = [json.loads(p.communicate(timeout=300)[0].split("FOUND ")[1]) for p in processes]
    steps: list[bool] = []
    windows: list[bool] = []
    lags: list[float] = []
    for block in range(BLOCKS):
        slow = by_rank[0][block][0]
        own = [by_rank[rank][block][1] for rank in range(RANKS)]
        truth = [by_rank[rank][block][2] for rank in range(RANKS)]
        for said, true in zip(zip(*own, strict=True), zip(*truth, strict=True), strict=True):
            first, second = sorted(true, reverse=True)[:2]
            if first - second >= SHARE * STEP_S * 1e9:
                steps.append(said.index(max(said)) == true.index(first))
        for at in range(0, len(own[0]) - WINDOW + 1, WINDOW):
            middle = [median(times[at : at + WINDOW]) for times in own]
            windows.append(middle.index(max(middle)) == slow)
        others = [median(own[rank]) for rank in range(RANKS) if rank != slow]
        lags.append((median(own[slow]) - median(others)) / 1e6)
    return Found(sum(steps) / max(1, len(steps)), len(steps), sum(windows) / len(windows), median(lags))


def main() -> None:
    """Measure both loops."""
    rows = []
    chance = f"chance {1 / RANKS:.0%}; at least 95 %"
    for loop in LOOPS:
        found = measure(loop)
        wanted = SHARE * STEP_S * 1e3
        rows += [
            Row(
                f"{loop}: one straggler of {SHARE:.0%} or more in {found.stragglers} steps; named in",
                f"{found.steps:.1%}", chance, 0.95 / max(found.steps, 1e-9), 1.0,
            ),
            Row(
                f"{loop}: late by {wanted:.2f} ms, seen as {found.lag:.2f} ms; windows of {WINDOW} steps",
                f"{found.windows:.1%}", chance, 0.95 / max(found.windows, 1e-9), 1.0,
            ),
        ]  # fmt: skip
    emit(rows)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        rank_main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
    else:
        main()
