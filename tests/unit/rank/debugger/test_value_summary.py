"""Values of two ranks with torch: equal ones are equal in two processes, too, whatever their addresses."""

from __future__ import annotations

import json
import subprocess
import sys

import msgspec

from dtrain_lab.debugger import compare_values
from dtrain_lab.wire.links.values import ValueSummary

CODE = """
import sys, threading, torch
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset
from dtrain_lab.rank.debugger.values.value_summary import glance
rank = int(sys.argv[1])
junk = [bytearray(10_000 * (rank + 1)) for _ in range(50)]  # no address is that of the other process
class Config:
    def __init__(self, rate): self.rate = rate
class Shown(Config):
    def __repr__(self): return f"Shown({self.rate})"
data = TensorDataset(torch.arange(64.0), torch.arange(64))
sampler = DistributedSampler(data, num_replicas=2, rank=rank)
quantized = torch.quantize_per_tensor(torch.arange(4.0), 0.1, 0, torch.qint8)
for value in (
    data, DataLoader(data), Config(0.1), Shown(torch.ones(2)), [data], [torch.eye(2).to_sparse()],
    [quantized],
    1 / 3, [1 / 3], torch.tensor(1 / 3, dtype=torch.float64), torch.tensor([0.5, 1 / 3]),
    sampler, Config(rank), Shown(torch.ones(2) * rank), threading.Lock(), [threading.Lock()],
):
    print(glance(value))
"""


def answers(rank: int) -> list[ValueSummary]:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CODE, str(rank)], capture_output=True, text=True, check=True
    )
    return [msgspec.convert(json.loads(line), ValueSummary) for line in done.stdout.splitlines()]


def test_only_what_objects_hold_makes_them_differ_and_never_their_address() -> None:
    rows = [
        compare_values.row("x", {0: zero, 1: one}, {}, {})
        for zero, one in zip(answers(0), answers(1), strict=True)
    ]
    assert not [row.text for row in rows if "0x" in row.text]
    assert [row.text for row in rows[:7] if not row.same] == []
    assert rows[0].text == "<torch.utils.data.dataset.TensorDataset object> on all ranks"
    assert [(row.groups[0].text, row.groups[0].exact) for row in rows[7:11]] == [
        ("0.333333", "0.3333333333333333"),
        ("[0.333333]", "[0.3333333333333333]"),
        ("0.333333", "0.3333333333333333"),
        ("[0.5, 0.333333]", "[0.5, 0.3333333432674408]"),
    ]
    sampler, config, shown, lock, locks = rows[11:]
    assert sampler.first == "rank"
    assert config.first == "rate"
    assert len(shown.groups) == 2
    assert (lock.comparable, locks.comparable) == (False, False)
