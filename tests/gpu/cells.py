"""Code of cells that tests on GPUs share."""

from __future__ import annotations

import dtrain_lab as dt

SETUP = """
import time, torch, torch.distributed as dist, dtrain_lab as dt
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
device = torch.device("cuda", torch.cuda.current_device())
def make(width=256, depth=4):
    torch.manual_seed(0)
    layers = [m for _ in range(depth) for m in (nn.Linear(width, width), nn.ReLU())]
    return nn.Sequential(*layers, nn.Linear(width, 10)).to(device)
def batches(count, size=32, width=256):
    torch.manual_seed(rank)
    for _ in range(count):
        yield torch.randn(size, width, device=device), torch.randint(10, (size,), device=device)
def train(model, optimizer, count=10, **of):
    for x, y in batches(count, **of):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    return loss.item()
def total(model):
    return round(sum(p.double().abs().sum().item() for p in model.parameters()), 6)
"""
PREDICT = """
import torchmetrics
from torch.utils.data import TensorDataset
torch.manual_seed(0)
inputs, labels = torch.randn(1001, 256), torch.randint(10, (1001,))
data = TensorDataset(inputs, labels)
model = make().eval()
with torch.no_grad():
    expected = torch.cat([model(part.to(device)).cpu() for part in inputs.split(100)])
found = dt.predict(model, data, batch_size=100)
apart = max((torch.as_tensor(f).cpu() - e).abs().max().item() for f, e in zip(found, expected))
print(len(found), apart < 1e-4)
accuracy = dt.evaluate(model, data, torchmetrics.Accuracy("multiclass", num_classes=10), batch_size=100)
print(accuracy, round((expected.argmax(1) == labels).double().mean().item(), 6))
"""


def said(cluster: dt.Cluster, code: str, timeout: float = 60) -> list[str]:
    result = cluster.run(code, timeout=timeout)
    return [result.stdout.get(rank, "").strip() for rank in result.ranks]


def replace(cluster: dt.Cluster) -> None:
    """Replace rank 1, with the variables of rank 0."""
    cluster.restart([1], source=0)
    # on one GPU (see same_gpu.py) the new rank's own `device` names a second one, which is not there
    cluster.run("import torch\ndevice = torch.device('cuda', torch.cuda.current_device())", timeout=60)


NCCL_SETUP = """
import time, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
device = torch.device("cuda", torch.cuda.current_device())
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1)).to(device)
model = DDP(net, bucket_cap_mb=0.001)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
pair_group = dist.new_group([0, 1])
def stand_still():
    while True: time.sleep(0.05)
def train(stall=-1, here=None):
    optimizer.zero_grad()
    out = model(torch.randn(4, 8, device=device))
    if rank == stall:
        out.register_hook(lambda g: (here(), stand_still()))
    out.square().mean().backward()
    optimizer.step()
def equal():  # on a GPU an interrupted step may have been taken on one rank and not on another
    for p in net.parameters(): dist.broadcast(p.data, 0)
def total():
    return sum(p.double().abs().sum().item() for p in model.parameters())
train(); train(); total()
"""
SHARDED = """
from torch.distributed.fsdp import fully_shard
torch.manual_seed(0)
sharded = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2)).to(device)
for layer in (sharded[0], sharded[2]):
    fully_shard(layer)
fully_shard(sharded)
sharded_optimizer = torch.optim.SGD(sharded.parameters(), lr=0.01)
def train_sharded(stall=-1, here=lambda: None):
    sharded_optimizer.zero_grad()
    out = sharded(torch.randn(4, 8, device=device))
    if rank == stall:
        out.register_hook(lambda g: (here(), stand_still()))
    else:
        here()
    out.square().mean().backward()
    sharded_optimizer.step()
    return round(sum(p.full_tensor().double().abs().sum().item() for p in sharded.parameters()), 9)
train_sharded()
"""
