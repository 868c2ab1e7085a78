"""A healthy run in which ranks wait long for each other: no alarm may come. At its end a real hang: one must.

The default threshold of 10 s. Two ranks train for `BENCH_MINUTES`; in turn, one rank's data takes 13 s, one
compiles for 13 s, one writes a checkpoint for 13 s, while the other stands in a collective.
"""

from __future__ import annotations

import os
import threading
import time
from typing import Any

import dtrain_lab as dt
from benchmarks.measure import Row, emit
from dtrain_lab.metrics.verdicts.hang import STUCK_AFTER_S
from dtrain_lab.wire.metrics.verdicts import ALARMS

MINUTES = float(os.environ.get("BENCH_MINUTES", "10"))
POLL_S = 0.1
TRAIN = """
import io, time, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset
LONG = 13
slow_data = [False]
class Slow(Dataset):
    def __len__(self):
        return 100_000
    def __getitem__(self, i):
        time.sleep(0.004)
        if slow_data[0]:
            slow_data[0] = False
            time.sleep(LONG)
        return torch.randn(16)
class SlowFile(io.BytesIO):
    def write(self, piece):
        time.sleep(0.05)
        return super().write(piece)
def slow_compiler(graph, inputs):
    time.sleep(LONG)
    return graph
torch.manual_seed(rank)
model = DDP(torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1)))
optimizer = torch.optim.AdamW(model.parameters())
state = {str(i): torch.zeros(8) for i in range(int(LONG / 0.05))}
began = mark = time.time()
turn = 0
for batch in DataLoader(Slow(), batch_size=8):
    done = torch.tensor(float(time.time() - began > SECONDS))
    dist.all_reduce(done)
    if done > 0:
        break
    model(batch).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    late = torch.tensor(float(time.time() - mark > 25))
    dist.all_reduce(late)
    if late > 0:
        if turn % 3 == 0 and rank == 1:
            slow_data[0] = True
        elif turn % 3 == 1 and rank == 0:
            torch.compiler.reset()
            torch.compile(torch.nn.Linear(16, 16), backend=slow_compiler)(batch)
        elif turn % 3 == 2 and rank == 0:
            torch.save(state, SlowFile())
        turn += 1
        mark = time.time()
        print("long wait", turn, flush=True)
"""
HANG = "import time\nif rank == 1:\n    time.sleep(600)\ndist.barrier()"


def watched(cluster: dt.Cluster, code: str, until: Any) -> tuple[dict[str, str], float, dt.Result | None]:
    """Run a cell; every verdict that was seen meanwhile, how long the longest wait was, and its result."""
    results: list[dt.Result] = []
    thread = threading.Thread(target=lambda: results.append(cluster.run(code, check=False)))
    thread.start()
    seen: dict[str, str] = {}
    longest = 0.0
    while thread.is_alive() and not until(seen):
        for verdict in cluster.info()["metrics"]["verdicts"]:
            if verdict["kind"] not in seen:
                print(f"{verdict['kind']}: {verdict['text']}", flush=True)
            seen[verdict["kind"]] = verdict["text"]
            longest = max(longest, verdict["since_s"] or 0.0)
        time.sleep(POLL_S)
    if thread.is_alive():
        cluster.interrupt()
    thread.join(30)
    return seen, longest, results[0] if results else None


def main() -> None:
    """Count alarms in health, and see that there is one in need."""
    with dt.start(ranks=2, name="healthy") as cluster:
        cluster.run(f"SECONDS = {MINUTES * 60}")
        seen, longest, result = watched(cluster, TRAIN, lambda _: False)
        assert result is not None
        assert result.ok, result.sentence
        waits = result.stdout[0].count("long wait")
        hang, _, _ = watched(cluster, HANG, lambda kinds: "stuck" in kinds)
    alarms = [text for kind, text in seen.items() if kind in ALARMS]
    print(f"{waits} waits of 13 s; told without an alarm: {sorted(set(seen) - set(ALARMS))}; {alarms}")
    assert waits >= MINUTES, "nothing was waited for"
    assert longest > STUCK_AFTER_S, "no wait was longer than the threshold"
    emit(
        [
            Row(
                f"{MINUTES:g} min of healthy training, {waits} waits beyond the threshold: alarms",
                f"{len(alarms)}", f"a hang after it: {hang.get('stuck', 'not seen')}",
                float(len(alarms) + ("stuck" not in hang)), 0.0,
            )
        ]
    )  # fmt: skip


if __name__ == "__main__":
    main()
