"""torch.compile makes the same graphs with the monitor as without it, and warns of nothing more."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from subprocess import PIPE
from typing import Any

import pytest

from dtrain_lab.metrics import ring

FUNCTIONS = """
import json, sys, warnings
import torch, torch.distributed as dist, torch.nn as nn
import torch.distributed._functional_collectives as functional
from torch.nn.parallel import DistributedDataParallel as DDP
from dtrain_lab.metrics import ring

dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
memory = memoryview(bytearray(ring.BYTES))
if sys.argv[1] == "watched":
    from dtrain_lab.rank.monitor.monitor import Monitor
    monitor = Monitor(memory, 2)
    monitor.begin_cell()
import torch._dynamo as dynamo

group = dist.group.WORLD
linear = nn.Linear(8, 8)
optimizer = torch.optim.AdamW(linear.parameters(), lr=0.1)
linear(torch.randn(4, 8)).sum().backward()

def functional_all_reduce(x):
    return functional.all_reduce(x * 2, "sum", group)
def all_reduce(x):
    y = x * 2
    dist.all_reduce(y)
    return y + 1
def all_gather(x):
    out = torch.empty(4, 8)
    dist.all_gather_into_tensor(out, x)
    return out
def gathered_and_waited(x):
    return functional.wait_tensor(functional.all_gather_tensor(x, 0, group))
def barrier(x):
    dist.barrier()
    return x
def backward(x):
    loss = linear(x).sum()
    loss.backward()
    return loss
def stepped(x):
    optimizer.step()
    return x

found = {}
for function in (
    functional_all_reduce, all_reduce, all_gather, gathered_and_waited, barrier, backward, stepped,
):
    dynamo.reset()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        torch.compile(function, backend="aot_eager")(torch.ones(4, 8))
        breaks = sum(dynamo.utils.counters["graph_break"].values())
        dynamo.utils.counters.clear()
        try:
            torch.compile(function, backend="aot_eager", fullgraph=True)(torch.ones(4, 8))
            whole = True
        except dynamo.exc.Unsupported:
            whole = False
    found[function.__name__] = [breaks, whole, len(warned)]
steps = ring.Reader(memory).steps
compiled = torch.compile(lambda: optimizer.step(), backend="aot_eager")
for _ in range(3):
    linear(torch.randn(4, 8)).sum().backward()
    compiled()
reader = ring.Reader(memory)
found["steps"] = [reader.steps - steps, reader.header(ring.ERRORS)]

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 16), nn.Linear(16, 8)
    def forward(self, x):
        return self.b(self.a(x).relu())

dynamo.reset()
dynamo.utils.counters.clear()
torch.manual_seed(1)
model = torch.compile(DDP(Net()), backend="aot_eager")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
before = reader.header(ring.STEPS)
if sys.argv[1] == "watched":
    monitor.begin_cell()
for _ in range(12):
    model(torch.randn(4, 8)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
records = reader.last(reader.header(ring.STEPS) - before) if reader.header(ring.STEPS) > before else []
found["model"] = [
    dynamo.utils.counters["stats"]["unique_graphs"], [p.tolist() for p in model.parameters()]
]
found["flags"] = [r.flags for r in records]
print("FOUND", json.dumps(found))
"""


def compiled() -> Iterator[Any]:
    """Of each function: graph breaks, whether it can be one graph, warnings. And of a compiled DDP model.

    First without a monitor, then with it.
    """
    both = [
        subprocess.Popen([sys.executable, "-c", FUNCTIONS, how], stdout=PIPE, stderr=PIPE, text=True)
        for how in ("plain", "watched")
    ]
    for said, errors in [one.communicate() for one in both]:
        assert "FOUND " in said, errors[-3000:]
        yield json.loads(said.split("FOUND ")[1])


@pytest.mark.timeout(120)
def test_code_compiles_as_without_a_monitor_and_its_steps_are_seen() -> None:
    plain, watched = compiled()
    assert watched.pop("steps") == [3, 0], "and no error in a hook"
    flags = watched.pop("flags")
    assert len(flags) == 12
    assert all(f & ring.SYNCED for f in flags), "a compiled DDP model is measured …"
    assert [index for index, f in enumerate(flags) if f & ring.PROBED] == [8], "… and probed"
    plain.pop("steps")
    plain.pop("flags")
    graphs, _ = plain["model"]
    assert graphs == 1, "one, also where it is probed; its parameters are compared below"
    # torch breaks the graph of a step, too, at another line of its own
    assert plain.pop("stepped")[1:] == watched.pop("stepped")[1:]
    assert watched == plain
    assert plain["all_reduce"][1], "it can be one graph: or nothing was tried"
