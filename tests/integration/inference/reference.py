"""What tests of `dt.predict` and `dt.evaluate` share: data, a model, and the result by hand."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet

import dtrain_lab as dt

SETUP = """
import torch, torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import IterableDataset, TensorDataset
import dtrain_lab as dt
torch.manual_seed(0)
x, y = torch.randn(101, 8), torch.arange(101) % 3
data = TensorDataset(x, y)
def make():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.Dropout(0.5), nn.Linear(16, 3))
def by_hand(model, x, size):
    model.eval()
    with torch.no_grad():
        found = torch.cat([model(part) for part in x.split(size)])
    model.train()
    return found
model = make()
"""


def said(cluster: dt.Cluster, code: str, timeout: float = 60) -> list[str]:
    """What each rank printed."""
    result = cluster.run(code, timeout=timeout)
    return [result.stdout[rank].strip() for rank in (0, 1)]


def read(path: Path) -> list[float]:
    table = pyarrow.parquet.read_table(path)
    return [row[0] for row in table.column("prediction").to_pylist()]
