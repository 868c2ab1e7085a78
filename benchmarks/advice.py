"""What advice promises against what it brings: the same model with gradients averaged half as often.

Two ranks, layers that take a known time without the processor, parameters that make communication a fifth to
half of a step. Both ways in turn, in blocks of one cell each.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from statistics import median

import dtrain_lab as dt
from benchmarks.measure import Row, emit

REPEATS = int(os.environ.get("BENCH_REPEATS", "3"))
SIZES = (600_000, 1_500_000)
SETUP = """
import contextlib, time, torch
from torch.nn.parallel import DistributedDataParallel as DDP
class Layer(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.size = weight.shape
        time.sleep(0.0015)
        return x + weight[0]
    @staticmethod
    def backward(ctx, *grads):
        time.sleep(0.003)
        return grads[0], torch.full(ctx.size, 0.01)
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weights = torch.nn.ParameterList(torch.nn.Parameter(torch.zeros(SIZE)) for _ in range(6))
    def forward(self, x):
        for weight in self.weights:
            x = Layer.apply(x, weight)
        return x
model = DDP(Net(), bucket_cap_mb=8)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
x = torch.ones(16, 1, requires_grad=True)
def train(steps, batches):
    began = time.perf_counter()
    for _ in range(steps):
        for number in range(batches):
            with contextlib.nullcontext() if number == batches - 1 else model.no_sync():
                model(x).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    return (time.perf_counter() - began) / steps / batches
"""


def promised(cluster: dt.Cluster) -> float:
    """The gain that is advised while a usual loop runs; 1 where nothing is."""
    running = threading.Thread(target=cluster.run, args=("train(150, 1)",))
    running.start()
    gain = 1.0
    while running.is_alive():
        advice = cluster.info()["metrics"]["advice"]
        gain = advice[0]["gain"] if advice else gain
        time.sleep(0.1)
    running.join()
    return gain


def main() -> None:
    """Compare, for each size."""
    rows = []
    for size in SIZES:
        with dt.start(ranks=2, name=f"advice-{size}") as cluster:
            cluster.run(f"SIZE = {size}\n{SETUP}\ntrain(5, 1)")
            gains, truths = [], []
            for _ in range(REPEATS):
                gains.append(promised(cluster))
                times = [
                    float(cluster.run(f"print(train({steps}, {batches}))").stdout[0])
                    for steps, batches in ((60, 1), (30, 2))
                ]
                truths.append(times[0] / times[1])
            promise, truth = median(gains), median(truths)
            rows.append(
                Row(
                    f"accumulate 2, {size * 6 * 4 / 1e6:.0f} MB of gradients: promised; points off",
                    f"{promise - 1:+.0%}", f"measured {truth - 1:+.0%}", abs(promise - truth) * 100, 10.0,
                )
            )  # fmt: skip
    emit(rows)


if __name__ == "__main__":
    sys.exit(main())
