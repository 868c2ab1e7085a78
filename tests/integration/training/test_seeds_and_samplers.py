"""What ranks have to do alike: start from the same parameters, and read different samples."""

from __future__ import annotations

import pytest

import dtrain_lab as dt

pytestmark = pytest.mark.processes

BEGIN = """
import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, IterableDataset, Sampler, TensorDataset
torch.manual_seed(0)
data = TensorDataset(torch.randn(48, 8))
def train(sampler=None, epochs=2, loader=None, told=False, **options):
    model = DDP(torch.nn.Linear(8, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(epochs):
        if told:
            sampler.set_epoch(epoch)
        if loader is None:
            batches = DataLoader(data, batch_size=4, sampler=sampler, **options)
        for (x,) in batches if loader is None else loader:
            optimizer.zero_grad()
            model(x).sum().backward()
            optimizer.step()
def steps(model, sync, steps=5):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(steps):
        optimizer.zero_grad()
        model(torch.randn(4, 8)).sum().backward()
        sync()
        optimizer.step()
class Stream(IterableDataset):
    def __iter__(self):
        yield from data
class Own(Sampler):
    def __len__(self):
        return len(data)
    def __iter__(self):
        return iter(range(len(data)))
def net(seed):
    torch.manual_seed(seed)
    return torch.nn.Linear(8, 2)
def without_ddp(model, average, sampler=None, epochs=2, told=False):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(epochs):
        if told:
            sampler.set_epoch(epoch)
        for (x,) in DataLoader(data, batch_size=4, sampler=sampler, shuffle=sampler is None):
            optimizer.zero_grad()
            model(x).sum().backward()
            average(model)
            optimizer.step()
def sharded():
    from torch.distributed.fsdp import fully_shard
    return fully_shard(net(0))
def flat(model):
    flat = torch.cat([p.grad.flatten() for p in model.parameters()])
    dist.all_reduce(flat)
    torch.nn.utils.vector_to_parameters(flat / 2, [p.grad for p in model.parameters()])
def by_hand(model):
    for p in model.parameters():
        dist.all_reduce(p.grad.data)
"""
SHARD = "DistributedSampler(data, num_replicas=2, rank=0)"
CASES = {
    "no sampler": ("train()", "2 ranks read the same data: the loader has no DistributedSampler"),
    "shuffled": ("train(shuffle=True)", "2 ranks read the same data"),
    "one shard": (
        f"train({SHARD}, told=True)",
        "Ranks 0, 1 read the same shard: their DistributedSampler has rank=0, and no rank reads shard 1 of "
        "2.",
    ),
    "no epoch": ("train(DistributedSampler(data))", "set_epoch is never called on the DistributedSampler"),
    "other seeds": (
        "train(DistributedSampler(data, seed=rank), told=True)",
        "The DistributedSampler has a different seed on each rank (seed 0, 1 on ranks 0, 1)",
    ),
    "init_sync": (
        "steps(DDP(net(rank), init_sync=False), lambda: None)",
        "The parameters of 2 ranks differ before the first step (weight, bias), although DistributedDataPar",
    ),
    "by hand": (
        "model = net(rank)\nsteps(model, lambda: by_hand(model))",
        "The parameters of 2 ranks differ before the first step (weight, bias), although their gradients are",
    ),
    "by hand, in one tensor": (
        "model = net(rank)\nsteps(model, lambda: flat(model))",
        "The parameters of 2 ranks differ before the first step (weight, bias), although their gradients are",
    ),
    "no epoch, by hand": (
        "without_ddp(net(0), flat, DistributedSampler(data))",
        "set_epoch is never called on the DistributedSampler",
    ),
    "no sampler, FSDP2": ("without_ddp(sharded(), lambda model: None)", "2 ranks read the same data"),
    "one shard, FSDP2": (
        f"without_ddp(sharded(), lambda model: None, {SHARD}, told=True)",
        "Ranks 0, 1 read the same shard",
    ),
    "loaded on one rank": (
        "model = DDP(net(0))\nif rank:\n    model.module.load_state_dict(net(1).state_dict())\n"
        "steps(model, lambda: None)",
        "The parameters of 2 ranks differ",
    ),
}
FINE = {
    "a sampler": "train(DistributedSampler(data), told=True)",
    "one epoch": "train(DistributedSampler(data), epochs=1)",
    "not shuffled": "train(DistributedSampler(data, shuffle=False))",
    "looked into": "s = DistributedSampler(data)\nnext(iter(DataLoader(data, sampler=s)))\n"
    "train(s, epochs=1)",
    "own sampler": "train(Own())",
    "a stream": "train(loader=DataLoader(Stream(), batch_size=4))",
    "batch sampler": "train(loader=DataLoader(data, batch_sampler=[[0, 1], [2, 3], [4, 5]]))",
    "data of its own": "data = TensorDataset(torch.randn(48, 8) + rank)\ntrain(shuffle=True)",
    "a part of its own": "train(loader=DataLoader(torch.utils.data.Subset(data, range(rank, 48, 2))))",
    "groups": "a, b = dist.new_group([0]), dist.new_group([1])\ntrain(DistributedSampler(data), epochs=1)",
    "one rank's group": "mine = [dist.new_group([r]) for r in (0, 1)][rank]\n"
    "steps(DDP(net(rank), process_group=mine), lambda: dist.barrier())",
    "sparse gradients by hand": "table = torch.nn.Embedding(9, 4, sparse=True)\n"
    "optimizer = torch.optim.SGD(table.parameters(), lr=0.1)\n"
    "for step in range(5):\n"
    "    optimizer.zero_grad()\n"
    "    table(torch.tensor([1, rank])).sum().backward()\n"
    "    dist.all_reduce(table.weight.grad)\n"
    "    optimizer.step()",
    "same start": "model = net(0)\nsteps(model, lambda: by_hand(model))",
    "tensor parallel": "model = net(rank)\nsteps(model, lambda: dist.all_reduce(model.bias.grad))",
    "FSDP2": "steps(sharded(), lambda: None)\n"
    "without_ddp(sharded(), lambda model: None, DistributedSampler(data), told=True)",
    "FSDP2 in one of two dimensions": "from torch.distributed.device_mesh import init_device_mesh\n"
    "from torch.distributed.fsdp import fully_shard\n"
    "mesh = init_device_mesh('cpu', (1, 2), mesh_dim_names=('r', 's'))\n"
    "without_ddp(fully_shard(net(0), mesh=mesh), lambda model: None)",
    "by hand, where ranks may take parts of a batch": "without_ddp(net(0), by_hand)",
    "by hand, with a sampler": "without_ddp(net(0), by_hand, DistributedSampler(data), told=True)",
    "parameters averaged": "without_ddp(net(rank), lambda model: [dist.all_reduce(p.data) for p in "
    "model.parameters()])",
    "local SGD": "model = DDP(net(0))\nwith model.no_sync():\n    steps(model, lambda: None)\n"
    "steps(model, lambda: None)",
}


@pytest.mark.parametrize("case", CASES)
def test_ranks_that_are_not_alike_are_told_once(pair: dt.Cluster, case: str) -> None:
    code, told = CASES[case]
    said = pair.run(BEGIN + code, timeout=60).stderr
    assert sum(text.count("dtrain-lab: ") for text in said.values()) == 1, said
    assert sum(text.count(told) for text in said.values()) == 1, said


def test_ranks_that_are_alike_or_differ_on_purpose_hear_nothing(pair: dt.Cluster) -> None:
    for case, code in FINE.items():
        said = pair.run(BEGIN + code, timeout=60).stderr
        assert not any("dtrain-lab" in text for text in said.values()), (case, said)
