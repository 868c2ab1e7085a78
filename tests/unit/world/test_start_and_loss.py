"""Usual starts, losses, and worlds that go on without some of their ranks."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from dtrain_lab.errors import BadSize
from dtrain_lab.head.metrics.lost_ranks import Losses
from dtrain_lab.head.metrics.start_history import StartHistory
from dtrain_lab.wire.cells import CellRecord
from dtrain_lab.wire.cluster import WithoutLost
from dtrain_lab.wire.plan import NodePlan, Plan
from dtrain_lab.world import initial
from dtrain_lab.world.members import Member, Members
from dtrain_lab.world.shrinking import offered, without
from dtrain_lab.world.start_duration import Start, usual
from dtrain_lab.world.state import Loss


def test_the_usual_start_is_that_of_this_size_where_one_is_known() -> None:
    known = [Start("a", 2, 4.0), Start("a", 8, 9.0), Start("a", 2, 6.0), Start("b", 2, 60.0)]
    assert usual(known, "a", 2) == 5.0
    assert usual(known, "a", 64) == 6.0
    assert usual(known, "c", 2) is None


def test_a_start_is_remembered_by_the_next_head(tmp_path: Path) -> None:
    plan = Plan(
        backend="local",
        profile="p",
        nodes=(NodePlan(name="n", address="127.0.0.1", first_rank=0, ranks=2, gpus=0, threads=1),),
        collectives="gloo",
        python="python",
        directory="/",
        variables={},
        monitor=True,
    )
    file = tmp_path / "starts.jsonl"
    first, second = StartHistory(file), StartHistory(file)
    first.began(plan)
    assert first.usual_s is None
    first.ready()
    file.write_bytes(file.read_bytes() + b"{cut off\n")
    second.began(plan)
    assert second.usual_s is not None
    assert second.usual_s < 10


@pytest.mark.parametrize(
    ("lost", "size", "per_node", "stay", "moves"),
    [
        ((1,), 2, 1, 1, ()),
        ((0,), 2, 1, 1, ((0, 1),)),
        ((40,), 64, 1, 63, ((40, 63),)),
        ((40,), 64, 8, 56, ((40, 56),)),
        ((2, 7), 8, 1, 6, ((2, 6),)),
    ],
)
def test_who_stands_in_for_whom(
    lost: tuple[int, ...], size: int, per_node: int, stay: int, moves: tuple[tuple[int, int], ...]
) -> None:
    plan = without(lost, size, per_node)
    assert (plan.size, plan.moves) == (stay, moves)


@pytest.mark.parametrize(
    ("lost", "size", "nodes", "expected"),
    [
        ((), 2, 1, None),
        ((0, 1), 2, 1, None),
        ((0,), 8, 1, WithoutLost(7, (0,), (0,), (7,))),
        ((1,), 2, 1, WithoutLost(1, (1,), (), ())),
        ((2,), 8, 4, WithoutLost(6, (2,), (2,), (6, 7))),
        ((7, 2), 8, 8, WithoutLost(6, (2, 7), (2,), (6,))),
    ],
)
def test_what_it_costs_to_go_on_without_lost_ranks(
    lost: tuple[int, ...], size: int, nodes: int, expected: WithoutLost | None
) -> None:
    assert offered(lost, size, nodes) == expected


def test_a_world_of_nobody_is_refused() -> None:
    with pytest.raises(BadSize):
        without((0,), 8, 8)


def test_a_loss_says_when_and_in_which_cell_until_the_rank_is_back() -> None:
    losses = Losses()
    lost = replace(Member(1), lost=True)
    loss = Loss(1, -9, "epoch 1\nloss nan", "id7", "killed by signal 9 (SIGKILL)")
    state = replace(initial(), members=Members((Member(0), lost)), losses=(loss,))
    ran = CellRecord("id7", "[7]", (0, 1), "running", 0, "a.ipynb", "cell-7")
    losses.update(state, [ran])
    [one] = losses.all
    assert (one.rank, one.cell, one.notebook, one.cell_id, one.last) == (
        1, "[7]", "a.ipynb", "cell-7", "loss nan",
    )  # fmt: skip
    assert one.why == "Killed by signal 9 (SIGKILL)."
    losses.update(state, [])
    assert losses.all == (one,), "the time of a loss is that of its first news"
    losses.update(replace(state, members=Members((Member(0), Member(1)))), [])
    assert losses.all == ()
