"""`dt.predict` on two ranks against an ordinary loop on one, and against two ordinary loops at once.

Three models: one whose weights fill the caches that cores share, one whose weights fit into a core's own, and
one that is device-like, time that needs no processor: there only what sharing costs is left to see. The two
loops, each over half of the samples and never meeting, are what the machine allows: its cores share caches
and memory. Runs in turn; the results have to be the same.
"""

from __future__ import annotations

import os

import dtrain_lab as dt
from benchmarks.measure import Row, emit, middle

REPEATS = int(os.environ.get("BENCH_REPEATS", "7"))
AT_MOST = 1 / 1.8
OF_TWO_LOOPS = 1 / 0.95
SETUP = """
import time, torch
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset
import dtrain_lab as dt
torch.set_num_threads(1)
torch.manual_seed(0)
data = TensorDataset(torch.randn({samples}, 1024), torch.zeros({samples}))
class Device(nn.Module):
    def forward(self, x):
        time.sleep(0.01)
        return x[:, :16]
class Fits(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.inner, self.last = nn.Linear(1024, 128), nn.Linear(128, 128), nn.Linear(128, 16)
    def forward(self, x):
        x = self.first(x)
        for _ in range(160):
            x = torch.relu(self.inner(x))
        return self.last(x)
fits = Fits()
computes = nn.Sequential(nn.Linear(1024, 4096), nn.ReLU(), nn.Linear(4096, 16))
models = dict(computes=computes, fits=fits, device=Device())
def by_hand(model, share=0, of=1):
    model.eval()
    size = len(data) // of
    some = Subset(data, range(share * size, share * size + size)) if of > 1 else data
    with torch.no_grad():
        return torch.cat([model(x) for x, _ in DataLoader(some, batch_size=32)])
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
HALVES = """
torch.distributed.barrier()
began = time.perf_counter()
found = by_hand(models[{name!r}], rank, 2)
print(time.perf_counter() - began, 0)
"""


def taken(cluster: dt.Cluster, code: str) -> tuple[float, str]:
    """Seconds that the slowest rank took, and the sum of the results."""
    said = [text.split() for text in cluster.run(code, timeout=300).stdout.values()]
    sums = {result for _, result in said}
    assert len(sums) == 1, sums
    return max(float(seconds) for seconds, _ in said), sums.pop()


def main() -> None:
    """Measure the models."""
    samples = int(os.environ.get("BENCH_SAMPLES", "25600"))
    with dt.start(ranks=1, name="one") as one, dt.start(ranks=2, name="two") as two:
        for cluster in (one, two):
            cluster.run(SETUP.format(samples=samples), timeout=120)
        for name, what in (
            ("computes", "on the processor, 17 MB of weights"),
            ("fits", "on the processor, 0.6 MB of weights"),
            ("device", "10 ms a batch, no processor"),
        ):
            mine, theirs, apart = [], [], []
            for turn in range(REPEATS + 1):
                found = taken(two, OURS.format(name=name))
                halves = taken(two, HALVES.format(name=name))
                expected = taken(one, PEER.format(name=name))
                assert found[1] == expected[1], "the same results"
                if turn:  # the first is a warm-up
                    mine.append(found[0])
                    theirs.append(expected[0])
                    apart.append(halves[0])
            ratio = middle([a / b for a, b in zip(mine, theirs, strict=True)])
            allowed = middle([a / b for a, b in zip(apart, theirs, strict=True)])
            label = f"predict on 2 ranks, {samples // 32} batches, {what}"
            rows = [
                Row(
                    f"{label}; {1 / ratio:.2f}× as fast (two loops at once {1 / allowed:.2f}×)",
                    f"{middle(mine):.2f} s",
                    f"{middle(theirs):.2f} s a loop on one",
                    ratio,
                    round(AT_MOST, 2),
                ),
                Row(
                    f"{label}, against two loops at once",
                    f"{middle(mine):.2f} s",
                    f"{middle(apart):.2f} s, a plain loop of half the batches on each",
                    middle([a / b for a, b in zip(mine, apart, strict=True)]),
                    round(OF_TWO_LOOPS, 2),
                ),
            ]
            emit(rows)


if __name__ == "__main__":
    main()
