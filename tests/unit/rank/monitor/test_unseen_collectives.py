"""Communication is a lower bound exactly where collectives run that no hook sees."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

LOOPS = """
import json, sys, torch, torch.distributed as dist, torch.nn as nn
import torch.distributed._functional_collectives as functional
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel as DDP
from dtrain_lab.metrics import ring
from dtrain_lab.rank.monitor.monitor import Monitor

rank = int(sys.argv[1])
dist.init_process_group("gloo", store=dist.FileStore(sys.argv[2], 2), rank=rank, world_size=2)
monitor = Monitor(memoryview(bytearray(ring.BYTES)), 2)
cells = monitor.recorder.writer.cells
group = dist.group.WORLD
found = {}

def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))

def train(model, after=lambda: None, steps=8):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        model(torch.randn(4, 8)).sum().backward()
        after()
        optimizer.step()
        optimizer.zero_grad()

def by_hand(model, async_op=False):
    for p in model.parameters():
        work = dist.all_reduce(p.grad, async_op=async_op)
        if async_op:
            work.wait()

class Sum(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = net()
    def forward(self, x):
        return self.inner(functional.all_reduce(x * 2, "sum", group))

def point_to_point():
    work = dist.isend(torch.ones(4), 1) if rank == 0 else dist.irecv(torch.ones(4), 0)
    work.wait()

def objects():
    dist.all_gather_object([None] * 2, {"loss": 1.0})
    dist.broadcast_object_list([1, 2])
    dist.barrier()

def sharded():
    model = net()
    for layer in (model[0], model[2]):
        fully_shard(layer)
    return fully_shard(model)

def joined():
    model = DDP(net())
    def loss():
        dist.all_reduce(torch.ones(1))
    train(model, loss)

def elsewhere():
    "another thread has collectives of its own, now and then"
    import threading
    other = dist.new_group()
    def now_and_then(count=[0]):
        count[0] += 1
        if count[0] % 4 == 0:
            thread = threading.Thread(target=lambda: dist.barrier(group=other))
            thread.start()
            thread.join()
    plain = net()
    train(plain, lambda: (by_hand(plain), now_and_then()))

def compiled(module):
    return torch.compile(module, backend="aot_eager")

def run(name, loop):
    monitor.begin_cell()
    loop()
    monitor.end_cell()
    found[name] = [cells[ring.BOUND], cells[ring.ERRORS]]

model = net()
run("nothing sent", lambda: train(model))
run("by hand", lambda: train(model, lambda: by_hand(model)))
run("by hand, async", lambda: train(model, lambda: by_hand(model, True)))
run("point to point", lambda: train(model, point_to_point))
run("objects", lambda: train(model, objects))
run("functional", lambda: train(Sum()))
run("DDP", lambda: train(DDP(net())))
run("DDP and a loss", joined)
run("DDP around a compiled model", lambda: train(DDP(compiled(net()))))
run("FSDP2", lambda: train(sharded()))
run("another thread", elsewhere)
run("compiled: functional", lambda: train(compiled(Sum())))
run("compiled: DDP", lambda: train(compiled(DDP(net()))))
run("DDP after that", lambda: train(DDP(net())))
print("FOUND", json.dumps(found))
"""
SEEN = (
    "nothing sent",
    "by hand",
    "by hand, async",
    "point to point",
    "objects",
    "functional",
    "DDP",
    "DDP and a loss",
    "DDP around a compiled model",
    "FSDP2",
    "another thread",
    "compiled: DDP",
    "DDP after that",
)
HIDDEN = ("compiled: functional",)


@pytest.mark.timeout(120)
def test_only_what_no_hook_sees_makes_it_a_lower_bound(tmp_path: Path) -> None:
    ranks = [
        subprocess.Popen(
            [sys.executable, "-c", LOOPS, str(rank), str(tmp_path / "store")],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "GLOO_SOCKET_IFNAME": "lo"},
        )
        for rank in range(2)
    ]
    for said, errors in [rank.communicate() for rank in ranks]:
        assert "FOUND " in said, errors[-3000:]
        found = json.loads(said.split("FOUND ")[1])
        assert found == {name: [0, 0] for name in SEEN} | {name: [1, 0] for name in HIDDEN}
