"""Advice and verdicts on a loop once the ranks are others: one was lost, or the world was resized."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from dtrain_lab.metrics.advice import text
from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.wire.metrics.diagnosis import Check, Diagnosis, Tried
from dtrain_lab.world.members import Member, Members
from tests.unit.head.metrics.worlds import World

HALF = Diagnosis("", "replayed", Check(0.5, 0.02, 0.05, 0.025, ""), None)
"""Communication takes half of a step."""
RESIZED = (
    "The last training loop ran on 2 ranks; the cluster has 3 ranks now. "
    "Train a few steps on these ranks for advice."
)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    return World(monkeypatch)


def advised(world: World) -> Cluster:
    """Both ranks have trained, with advice on that."""
    for _ in range(20):
        world.tick((0.0005, 0.0005))
    world.collector.diagnosed(HALF, 2)
    world.ends()
    seen = world.look()
    assert [(a.id, a.values["batch"]) for a in seen.metrics.advice] == [("accumulate", 256)]
    return seen


def resize(world: World, size: int) -> Cluster:
    assert world.collector.plan is not None
    [node] = world.collector.plan.nodes
    world.collector.plan = replace(world.collector.plan, nodes=(replace(node, ranks=size),))
    members = tuple(world.state.members)[:size] + tuple(Member(r) for r in range(2, size))
    world.state = replace(world.state, members=Members(members))
    for rank in range(size, 2):
        world.collector.forget(rank)
    return world.look()


def lose(world: World, rank: int) -> Cluster:
    world.state = replace(world.state.member(rank, lost=True, pid=None, joined=False), phase="degraded")
    world.collector.forget(rank)
    return world.look()


def restart(world: World) -> Cluster:
    world.ends()
    return world.look()


def test_what_was_predicted_for_other_ranks_is_not_advised_after_a_resize(world: World) -> None:
    """As found: after a resize from 3 ranks to 2, "The effective batch becomes 96" was that of 3."""
    before = advised(world).metrics.advice
    seen = resize(world, 3)
    assert seen.metrics.advice == world.collector.advice == ()
    assert seen.metrics.no_advice == RESIZED
    assert not seen.metrics.diagnosis_helps
    assert text.lines((), seen)[0] == RESIZED
    assert resize(world, 2).metrics.advice == before


def test_what_was_tried_has_the_batch_of_the_ranks_of_now(world: World) -> None:
    advised(world)
    world.collector.tried(Tried("accumulate", 1.5, 0.1, 1.6, 0.2, 20, ""), 2)
    [advice] = resize(world, 3).metrics.advice
    assert advice.tried is not None
    assert advice.tried.other_ranks == 2
    assert advice.cost.startswith("The effective batch becomes 384: ")
    assert advice.values["batch"] == 384
    alone = resize(world, 1).metrics
    assert alone.advice == (), "one rank exchanges nothing"
    assert alone.no_advice.endswith(" has 1 rank now. Train a few steps on that rank, or run Diagnose.")
    assert alone.diagnosis_helps


def test_a_diagnosis_on_the_ranks_of_now_gives_their_advice(world: World) -> None:
    advised(world)
    resize(world, 3)
    world.collector.diagnosed(HALF, 3)
    [advice] = world.look().metrics.advice
    assert advice.values["batch"] == 384


def test_a_loop_that_ended_before_the_resize_is_not_taken_for_one_of_fewer_ranks(world: World) -> None:
    """A short loop, which is read from its last samples: those of the ranks that are left remain."""
    world.collector.loops.replied(0, 0)
    for _ in range(4):
        world.tick((0.03, 0.03))
    world.collector._observed = 0
    world.ends()
    batch = world.look().metrics.last
    assert batch is not None
    assert batch.global_batch == 64
    last = resize(world, 1).metrics.last
    assert last is not None
    assert last.global_batch == 64


def test_without_a_rank_nothing_is_advised(world: World) -> None:
    before = advised(world).metrics.advice
    seen = lose(world, 1)
    assert (seen.metrics.advice, world.collector.advice, seen.metrics.no_advice) == ((), (), "")
    assert text.lines((), seen)[0] == f"{seen.summary.text} There is no advice until training continues."
    assert restart(world).metrics.advice == before, "the code is the same"


def test_a_slow_rank_that_was_lost_is_not_slow_any_more(world: World) -> None:
    """As found: beside "Rank 1 was lost.", the panel went on with "Rank 1 is slow: rank 0 waits for it"."""
    for _ in range(44):
        world.tick((0.04, 0.0))
    world.ends()
    assert world.look().metrics.no_advice.startswith("Rank 1 is slow: rank 0 waits for it")
    assert world.collector.slow is not None
    assert lose(world, 1).metrics.no_advice == ""
    assert restart(world).metrics.no_advice == ""
    assert world.collector.slow is None
