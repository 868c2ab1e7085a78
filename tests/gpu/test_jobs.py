"""Jobs on GPUs: one rank with NCCL, and more ranks than GPUs, which share them."""

from __future__ import annotations

from pathlib import Path

import pytest

import dtrain_lab as dt
from tests.books import write
from tests.gpu.conftest import COUNT

GROUP = """import torch, torch.distributed as dist, dtrain_lab as dt
print(device, dist.get_backend_config())"""
TRAIN = """model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 8).to(device))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(200):
    loss = model(torch.randn(32, 64, device=device)).square().mean()
    optimizer.zero_grad(); loss.backward(); optimizer.step()
    dt.log(step, loss=loss.item())
t = torch.ones(1, device=device)
dist.all_reduce(t)
print("sum", t.item())"""


@pytest.mark.parametrize(("ranks", "collectives"), [(1, "cuda:nccl"), (COUNT + 1, "cuda:gloo")])
def test_a_job_trains_on_gpus(tmp_path: Path, ranks: int, collectives: str) -> None:
    job = dt.submit(write(tmp_path / "train.ipynb", [GROUP, TRAIN]), ranks_per_node=ranks)
    assert job.wait(90) == "succeeded", job.logs()
    assert collectives in job.logs()
    assert f"sum {float(ranks)}" in job.logs()
