"""Another number of ranks, with the same models."""

from __future__ import annotations

from pathlib import Path

import pytest

import dtrain_lab as dt
from dtrain_lab.errors import BadSize, Conflict
from tests.books import write
from tests.integration.ranks import in_background, stands_in

pytestmark = pytest.mark.processes

SETUP = """
import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DistributedSampler
torch.manual_seed(0)
model = DDP(torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
sampler = DistributedSampler(range(12), shuffle=False)
pair = dist.new_group([0, 1])
def train():
    optimizer.zero_grad()
    model(torch.randn(4, 8)).square().mean().backward()
    optimizer.step()
train()
"""
SUM = "t = torch.ones(1)\ndist.all_reduce(t)\nprint(t.item(), world_size, dist.get_world_size())"


def test_a_world_grows_and_shrinks_and_its_models_train_on() -> None:
    with dt.start(ranks=2) as cluster:
        cluster.run(SETUP)
        said = cluster.resize(3)
        assert said.startswith(
            f"{cluster.name} has 3 ranks now. Rank 2 is empty: run the set-up cells there, %%distributed 2, "
            "or copy rank 0's variables: %distributed restart 2 --from 0. Process group 1"
        )
        assert "no connection to the new group on ranks 0–1" in said
        cluster.run("import torch, torch.distributed as dist", ranks=[2])
        assert set(cluster.run(SUM).stdout.values()) == {"3.0 3 3\n"}
        assert cluster.info()["world"]["size"] == 3
        assert cluster.run("print(len(sampler), rank)", ranks=[0]).stdout == {0: "4 0\n"}
        cluster.restart([2], source=0)
        cluster.run("for _ in range(2): train()", timeout=60)
        assert cluster.diff("model").equal
        assert cluster.resize(2) == f"{cluster.name} has 2 ranks now."
        cluster.run("for _ in range(2): train()", timeout=60)
        assert cluster.diff("model").equal
        assert set(cluster.run(SUM).stdout.values()) == {"2.0 2 2\n"}
        assert len(cluster.info()["ranks"]) == 2


def test_a_size_that_can_not_be_is_refused_and_nothing_changes(pair: dt.Cluster) -> None:
    with pytest.raises(BadSize):
        pair.resize(0)
    with pytest.raises(BadSize):
        pair.resize(5000)
    thread, results = in_background(lambda: pair.run("import time; time.sleep(600)", check=False))
    stands_in(pair, 0, ("busy",))
    with pytest.raises(Conflict, match="can't change its size now: a cell is running"):
        pair.resize(3)
    pair.interrupt()
    thread.join(20)
    assert "interrupted" in results[0].sentence


def test_a_job_has_its_own_size_whatever_the_cluster_has_become(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A notebook whose cluster has another number of ranks now is submitted, and runs, as it was before."""
    monkeypatch.setenv("HOME", str(tmp_path))
    cells = [
        "import torch, torch.distributed as dist",
        "t = torch.ones(1)\ndist.all_reduce(t)",
        "print('sum', t.item())",
    ]
    book = write(tmp_path / "train.ipynb", cells)
    with dt.start(ranks=1) as cluster:
        cluster.resize(2)
        cluster.resize(1)
        job = dt.submit(book, nodes=1, ranks_per_node=2)
        try:
            assert job.wait(90) == "succeeded", job.logs()
            assert job.info()["size"] == {"nodes": 1, "ranks_per_node": 2}
            assert job.logs().count("sum 2.0") == 2
            assert cluster.info()["world"]["size"] == 1
        finally:
            job.cancel()
            job.wait(60)
