"""A loop that waits for something else: bars, tables and exports say what the verdict says."""

from __future__ import annotations

import re

import pytest

from dtrain_lab.metrics.advice.reasons import why_none
from dtrain_lab.metrics.history import point, to_csv
from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.wire.links import RankSample
from dtrain_lab.wire.metrics.diagnosis import Check, Diagnosis
from dtrain_lab.wire.node_use import HostUse
from tests.unit.head.metrics.worlds import TICK_S, World


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    return World(monkeypatch)


def sample(rank: int, step: int, ran: float) -> RankSample:
    """A step of 100 ms, of which 4 are communication; the rank runs for a share of the others."""
    return RankSample(
        rank=rank, step=step, step_s=0.1, samples_per_s=320.0, exposed_s=0.004, exposed_error_s=0.001,
        synced=True, batch=32, data_s=0.0, compute_s=0.085, optimizer_s=0.001, starved=0.0, on_processor=ran,
        cpu_utilization=ran,
    )  # fmt: skip


def trains(world: World, *ran: float, seconds: float = 12.0) -> Cluster:
    for _ in range(int(seconds / TICK_S)):
        world.now += TICK_S
        world.steps += 3
        world.collector.sampled([sample(r, world.steps, x) for r, x in enumerate(ran)], 0, HostUse(2, 0.2))
        world.look()
    return world.look()


def test_what_a_step_is_made_of_has_the_share_that_the_verdict_names(world: World) -> None:
    seen = trains(world, 0.2, 0.3)
    metrics = seen.metrics
    told = re.search(r"for (\d+) % of a step", metrics.no_advice)
    assert told is not None, metrics.no_advice
    assert metrics.asleep_s is not None
    assert round(100 * metrics.asleep_s / 0.1) == int(told[1]) == 71
    assert [r.asleep_s for r in seen.ranks] == pytest.approx([0.076, 0.066])
    assert metrics.compute_s == pytest.approx(0.085), "as declared: whatever runs or waits in it"
    table = to_csv([point(0.0, metrics, (), 0)])
    assert f",{metrics.asleep_s}," in table


def test_a_loop_that_computes_has_no_such_part(world: World) -> None:
    seen = trains(world, 1.0, 0.9)
    assert (seen.metrics.asleep_s, [r.asleep_s for r in seen.ranks]) == (None, [None, None])
    assert "something else" not in why_none(world.collector.measured, "")


def trains_with_a_slow_rank(world: World) -> Cluster:
    """Rank 1 sleeps for most of a step of 100 ms, rank 0 waits for it."""
    for _ in range(48):
        world.now += TICK_S
        world.steps += 3
        slow = sample(1, world.steps, 0.2)
        waits = RankSample(
            rank=0, step=world.steps, step_s=0.1, samples_per_s=320.0, exposed_s=0.08, exposed_error_s=0.001,
            synced=True, batch=32, data_s=0.0, starved=0.0, on_processor=1.0, cpu_utilization=0.2,
        )  # fmt: skip
        world.collector.sampled([waits, slow], 0, HostUse(2, 0.2))
        world.look()
    return world.look()


def test_a_slow_rank_that_sleeps_has_it_as_its_verdict_says(world: World) -> None:
    seen = trains_with_a_slow_rank(world)
    assert [v.code for v in seen.metrics.verdicts] == ["slow"]
    assert "sleeps" in seen.metrics.verdicts[0].hint
    assert [r.asleep_s for r in seen.ranks] == [None, pytest.approx(0.076)]
    assert seen.metrics.asleep_s == pytest.approx(0.038), "the mean over the ranks"


def test_a_diagnosis_leaves_ranks_the_waiting_for_a_slow_one_which_its_steps_do_not_have(
    world: World,
) -> None:
    """As found: "transfer + waiting" fell from 49 % to 10 %, and rank 0's waiting was nowhere."""
    trains_with_a_slow_rank(world)
    world.ends()
    before = world.look()
    check = Check(0.03, 0.02, 0.01, 0.007, "")
    world.collector.diagnosed(Diagnosis("", "replayed", check, None, slow_rank=1), 2)
    after = world.look()
    assert after.metrics.last == before.metrics.last
    assert after.metrics.last is not None
    assert after.metrics.last.comm_overhead == pytest.approx(0.42)
    assert [r.comm_overhead for r in after.ranks] == pytest.approx([0.8, 0.04])
    assert [r.wait_s for r in after.ranks] == pytest.approx([0.076, 0.0])
    of = world.collector.measured
    assert of is not None
    assert (of.share, of.transfer_s, of.diagnosed) == (0.03, pytest.approx(0.003), True), "advice has it"
    world.collector.diagnosed(Diagnosis("", "replayed", check, None), 2)
    assert [r.comm_overhead for r in world.look().ranks] != pytest.approx([0.8, 0.04])


@pytest.mark.parametrize("diagnosed", [False, True])
def test_the_reason_for_no_advice_on_a_loop_with_a_slow_rank_names_it(
    world: World, *, diagnosed: bool
) -> None:
    """The newcomer was told that computation takes the time, of 7 in 94 ms."""
    trains_with_a_slow_rank(world)
    world.ends()
    world.look()
    if diagnosed:  # the steps that are repeated leave out the sleep
        found = Diagnosis("", "replayed", Check(0.03, 0.02, 0.01, 0.007, ""), Check(0.0, 0.01, 0.1, 0.1, ""))
        world.collector.diagnosed(found, 2)
    assert world.look().metrics.no_advice == (
        "Rank 1 is slow: rank 0 waits for it, 76 % of a step. It takes 76 ms a step longer than rank 0: "
        "its own code sleeps, or waits for a file or a network."
    )
