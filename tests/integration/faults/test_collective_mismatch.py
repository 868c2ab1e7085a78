"""The guard: ranks that are about to call different collectives stop with the difference."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import dtrain_lab as dt
from dtrain_lab.errors import CellFailed

pytestmark = [pytest.mark.processes, pytest.mark.timeout(90)]


@pytest.fixture(scope="module")
def world() -> Iterator[dt.Cluster]:
    with dt.start(ranks=3, name="guarded") as cluster:
        cluster.run("import dtrain_lab as dt, torch, torch.distributed as dist\nx = torch.ones(8)")
        cluster.run("dt.guard()")
        yield cluster


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (
            "dist.all_reduce(x) if rank else dist.broadcast(x, 0)",
            "Rank 0 called broadcast where 2 ranks called all_reduce. Nothing was run.",
        ),
        (
            "dist.all_reduce(torch.ones(8 + (rank == 2)))",
            "Rank 2 called all_reduce float32[9] where 2 ranks called all_reduce float32[8].",
        ),
        (
            "dist.broadcast(x, src=int(rank == 1))",
            "Rank 1 called broadcast float32[8] from rank 1 where 2 ranks called broadcast float32[8] from",
        ),
    ],
    ids=["operation", "shape", "root"],
)
def test_what_differs_is_an_error_on_every_rank_before_it_runs(
    world: dt.Cluster, code: str, says: str
) -> None:
    with pytest.raises(CellFailed) as error:
        world.run(code, timeout=20)
    assert says in str(error.value)
    # nothing hangs, no group was broken: the next collective is right
    assert world.run("y = torch.ones(2)\ndist.all_reduce(y)\nprint(y.tolist())").stdout[0] == "[3.0, 3.0]\n"


def test_the_first_collective_may_be_a_subgroups() -> None:
    """Ranks 0 and 1 meet it a group before rank 2 does; then two ranks make a group by themselves."""
    with dt.start(ranks=3, name="guarded-first") as cluster:
        cluster.run(
            "import dtrain_lab as dt, torch, torch.distributed as dist\nx = torch.ones(8)\ndt.guard()"
        )
        code = (
            "pair, single = dist.new_group([0, 1]), dist.new_group([2])\n"
            "if rank < 2: dist.all_reduce(x, group=pair)\n"
            "dist.all_reduce(x)\n"
            "if rank > 0:\n"
            "    other = dist.new_group([1, 2], use_local_synchronization=True)\n"
            "    dist.all_reduce(x, group=other)\n"
            "print(x[0].item())"
        )
        assert cluster.run(code, timeout=20).stdout == {0: "5.0\n", 1: "10.0\n", 2: "10.0\n"}


def test_subgroups_models_and_a_rebuilt_world_are_guarded_too(world: dt.Cluster) -> None:
    world.run(
        "pair = dist.new_group([0, 1])\n"
        "model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 2))\n"
        "if rank < 2: dist.all_reduce(x, group=pair)\n"
        "model(torch.ones(2, 4)).sum().backward()"
    )
    with pytest.raises(CellFailed, match="Nothing was run"):
        world.run("dist.barrier() if rank == 1 else model(torch.ones(2, 4))", timeout=6)
    world.restart("2")
    world.run("import dtrain_lab as dt, torch, torch.distributed as dist\nx = torch.ones(8)\ndt.guard()")
    with pytest.raises(CellFailed, match="Rank 2 called barrier"):
        world.run("dist.barrier() if rank == 2 else dist.all_reduce(x)", timeout=20)
    world.run("dt.guard(False)\nx = torch.ones(4)\ndist.all_reduce(x)")
