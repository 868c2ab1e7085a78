"""`dt.predict` on two ranks against an ordinary loop on one, one core a rank.

Two models: one that computes on the processor, and one that is device-like, time that needs no processor:
there only what sharing costs is left to see. Runs of both in turn; the results have to be the same.
"""

from __future__ import annotations

import os
import sys

import dtrain_lab as dt
from benchmarks.measure import Row, emit, middle

REPEATS = int(os.environ.get("BENCH_REPEATS", "7"))
AT_MOST = 1 / 1.8
SETUP = """
import time, torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
import dtrain_lab as dt
torch.set_num_threads(1)
torch.manual_seed(0)
data = TensorDataset(torch.randn({samples}, 1024), torch.zeros({samples}))
class Device(nn.Module):
    def forward(self, x):
        time.sleep(0.01)
        return x[:, :16]
computes = nn.Sequential(nn.Linear(1024, 4096), nn.ReLU(), nn.Linear(4096, 16))
models = dict(computes=computes, device=Device())
def by_hand(model):
    model.eval()
    with torch.no_grad():
        return torch.cat([model(x) for x, _ in DataLoader(data, batch_size=32)])
"""
OURS = """
torch.distributed.barrier()
began = time.perf_counter()
found = dt.predict(models[{name!r}], data, batch_size=32)
print(time.perf_counter() - began, float(found.double().sum()))
"""
PEER = """
began = time.perf_counter()
found = by_hand(models[{name!r}])
print(time.perf_counter() - began, float(found.double().sum()))
"""


def taken(cluster: dt.Cluster, code: str) -> tuple[float, str]:
    """Seconds that the slowest rank took, and the sum of the results."""
    said = [text.split() for text in cluster.run(code, timeout=300).stdout.values()]
    sums = {result for _, result in said}
    assert len(sums) == 1, sums
    return max(float(seconds) for seconds, _ in said), sums.pop()


def main() -> None:
    """Measure both models."""
    samples = int(os.environ.get("BENCH_SAMPLES", "12800"))
    with dt.start(ranks=1, name="one") as one, dt.start(ranks=2, name="two") as two:
        for cluster in (one, two):
            cluster.run(SETUP.format(samples=samples), timeout=120)
        for name, what in (
            ("computes", "on the processor"),
            ("device", "10 ms a batch, no processor"),
        ):
            mine, theirs = [], []
            for turn in range(REPEATS + 1):
                found = taken(two, OURS.format(name=name))
                expected = taken(one, PEER.format(name=name))
                assert found[1] == expected[1], "the same results"
                if turn:  # the first is a warm-up
                    mine.append(found[0])
                    theirs.append(expected[0])
            ratio = middle([a / b for a, b in zip(mine, theirs, strict=True)])
            row = Row(
                f"predict on 2 ranks, {samples // 32} batches, {what}; {1 / ratio:.2f}× as fast",
                f"{middle(mine):.2f} s",
                f"{middle(theirs):.2f} s a loop on one",
                ratio,
                round(AT_MOST, 2),
            )
            emit([row])


if __name__ == "__main__":
    sys.exit(main())
