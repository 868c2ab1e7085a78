"""What a head says of a world as it trains: figures of a busy machine, by a clock of the test's own."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from msgspec.structs import replace

from dtrain_lab.metrics.advice import reasons
from dtrain_lab.metrics.advice import text as advice_text
from dtrain_lab.metrics.advice.diagnosis_certainty import FREE, STILL, with_busy
from dtrain_lab.metrics.verdicts.device_waits import WORLD
from dtrain_lab.metrics.verdicts.hysteresis import VerdictHysteresis
from dtrain_lab.wire.cells import RunningCell
from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.wire.kinds import CellKind
from dtrain_lab.wire.links import RankSample
from dtrain_lab.wire.metrics.collective import CollectiveCall
from dtrain_lab.wire.metrics.diagnosis import Check, Diagnosis, Tried
from dtrain_lab.wire.metrics.verdicts import Verdict
from dtrain_lab.wire.node_use import HostUse
from dtrain_lab.wire.stacks import Where
from dtrain_lab.world.members import Member, Members
from dtrain_lab.world.state import State
from tests.unit.head.metrics.worlds import TICK_S, World


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    return World(monkeypatch)


EVEN = (0.01, 0.01)


def test_the_headline_of_a_noisy_machine_does_not_flip(world: World) -> None:
    luck = random.Random(1)
    said = [world.tick((luck.choice([0.0, 0.02]), luck.choice([0.0, 0.02]))).summary.text for _ in range(240)]
    assert sum(a != b for a, b in pairwise(said[20:])) <= 2


NOISY = json.loads((Path(__file__).parents[2] / "golden" / "noisy_machine.json").read_text())
"""What a head heard for 45 s of two equal ranks on two cores that two other processes wanted, on and off."""


@pytest.mark.parametrize("crowded", [True, False], ids=["as it was", "as if nobody knew that it is crowded"])
def test_the_headline_of_a_machine_as_recorded_does_not_flip(
    world: World, monkeypatch: pytest.MonkeyPatch, *, crowded: bool
) -> None:
    raw: list[str] = []
    update = VerdictHysteresis.update

    def noted(steady: VerdictHysteresis, found: Verdict | None, now: float) -> Verdict | None:
        raw.append(found.id if found is not None else "")
        return update(steady, found, now)

    monkeypatch.setattr(VerdictHysteresis, "update", noted)
    began, said, episodes = world.now, [], []
    for after, runnable, *ranks in NOISY["ticks"]:
        world.now = began + after
        samples = [
            RankSample(rank=r, synced=True, batch=32, **dict(zip(NOISY["fields"], values, strict=True)))
            for r, values in enumerate(ranks)
        ]
        host = HostUse(2, 1.0, runnable=runnable if crowded else 2.0)
        world.collector.sampled(samples, 0, host)
        found = world.look()
        said.append(found.summary.text)
        episodes.append([v.id for v in found.metrics.verdicts])
    if not crowded:  # else the machine is named throughout
        assert changes(raw) >= 15, "the figures are noisy"
    assert changes(said) <= (3 if crowded else 5)
    assert changes(episodes) <= (1 if crowded else 3)
    if crowded:
        assert not any("is slow" in text for text in said), "they are equally fast"


def changes(looks: Sequence[object]) -> int:
    return sum(a != b for a, b in pairwise(looks))


def test_where_threads_wait_for_cores_it_says_so_instead_of_who_is_slow(world: World) -> None:
    luck = random.Random(1)
    for _ in range(120):
        found = world.tick((luck.choice([0.0, 0.02]), luck.choice([0.0, 0.02])), runnable=9.0)
    [verdict] = found.metrics.verdicts
    busy = "This machine is too busy to tell which rank is slow: 9 threads compete for its 2 cores."
    assert verdict.text == busy
    assert found.summary.text == "Training on 2 ranks."
    assert not any(rank.slow for rank in found.ranks)
    assert found.metrics.advice == ()


def test_nothing_is_said_of_the_pace_of_ranks_whose_own_times_are_unknown(world: World) -> None:
    """As found by hand: "All 3 ranks keep pace." beside ranks without an own time."""
    for _ in range(120):
        found = world.tick(EVEN, error=0.03)
    assert found.summary.text == "Training on 2 ranks."
    assert found.metrics.verdicts == ()
    for _ in range(120):
        found = world.tick(EVEN)
    assert found.summary.text == "Training. Both ranks keep pace."
    assert world.tick(EVEN, error=0.03).summary.text == "Training on 2 ranks."


def test_a_machine_that_is_too_busy_for_times_is_named_while_the_loop_runs(world: World) -> None:
    for _ in range(120):
        found = world.tick(EVEN, error=0.03, runnable=9.0)
    assert [verdict.code for verdict in found.metrics.verdicts] == ["too_busy"]
    assert found.summary.text == "Training on 2 ranks."


def test_a_busy_machine_is_named_as_the_reason_for_no_advice_also_after_the_loop(world: World) -> None:
    bound = (0.03, 0.03)
    for _ in range(40):
        found = world.tick(bound, runnable=9.0)
    said = "During training, 9 threads competed for the 2 cores of this machine: times and shares are rough."
    assert (found.metrics.advice, found.metrics.too_busy) == ((), said)
    world.ends()
    ended = world.tick(bound, runnable=1.0, more=0)
    assert ended.metrics.too_busy == said
    told = advice_text.lines([], ended)
    assert told[0] == f"{said} {reasons.MEASURE}"
    assert told[1] == "    %distributed diagnose"
    assert ended.metrics.no_advice == told[0], "the panel says it, too"
    assert ended.metrics.diagnosis_helps
    assert advice_text.NOTHING not in told
    check = Check(0.6, 0.02, 0.05, 0.02, "")
    world.collector.diagnosed(Diagnosis("", "replayed", check, None, ()), 2)
    assert world.look().metrics.too_busy == world.look().metrics.no_advice == ""


@pytest.mark.parametrize(
    ("communication", "data"),
    [
        (Check(0.4, 0.5, 0.05, 0.03, ""), None),
        (Check(0.02, 0.01, 0.05, 0.049, ""), Check(0.7, 0.01, 0.05, 0.015, "", in_loop=True)),
    ],
    ids=["too unsteady", "its loader is gone"],
)
def test_a_diagnosis_that_measures_nothing_new_makes_no_advice_of_rough_times(
    world: World, communication: Check, data: Check | None
) -> None:
    """As found by hand: the notice of a busy machine was gone, and a gain of 2.9 was promised."""
    for _ in range(40):
        world.tick((0.03, 0.03), runnable=9.0)
    world.ends()
    said = world.tick((0.03, 0.03), runnable=1.0, more=0).metrics.too_busy
    assert said
    world.collector.diagnosed(Diagnosis("", "replayed", communication, data, ()), 2)
    found = world.look().metrics
    assert (found.too_busy, found.advice) == (said, ())
    assert found.no_advice == f"{said} {STILL}"
    assert found.diagnosis_helps
    told = Check(0.6, 0.02, 0.05, 0.02, "")
    world.collector.diagnosed(Diagnosis("", "replayed", told, None, ()), 2)
    assert world.look().metrics.too_busy == ""


def test_diagnose_says_itself_what_keeps_advice_from_its_shares_and_else_gives_it(world: World) -> None:
    """As found by hand: "88 % ± 1" by one view, and "times and shares are rough" by the others."""
    for _ in range(40):
        world.tick((0.03, 0.03), runnable=9.0)
    world.ends()
    busy = world.tick((0.03, 0.03), runnable=1.0, more=0).metrics.too_busy
    assert world.collector.too_busy == busy

    def told(communication: Check, data: Check) -> tuple[str, ...]:
        found = with_busy(Diagnosis("", "replayed", communication, data, ()), world.collector.too_busy)
        world.collector.diagnosed(found, 2)
        shown = world.look().metrics
        assert found.notes == ((shown.no_advice,) if shown.too_busy else ())
        return found.notes

    small = Check(0.1, 0.12, 0.05, 0.045, "")
    assert told(small, Check(0.88, 0.01, 0.05, 0.006, "", in_loop=True)) == (f"{busy} {STILL}",)
    assert told(small, Check(0.5, 0.6, 0.05, 0.025, "")) == (f"{busy} {STILL}",)
    assert told(small, Check(0.88, 0.01, 0.05, 0.006, "")) == ()
    # other work may also begin with the diagnosis
    world.tick((0.03, 0.03), runnable=9.0, more=0)
    now = world.collector.busy_now
    assert now == "9 threads competed for the 2 cores of this machine"
    assert now in busy
    steady = Diagnosis("", "replayed", Check(0.6, 0.02, 0.05, 0.02, ""), None, ())
    assert with_busy(steady, busy, now).notes == (f"While steps were repeated, {now}: {FREE}",)
    unsteady = replace(steady, communication=Check(0.3, 0.5, 0.05, 0.02, ""))
    assert with_busy(unsteady, busy, now).notes == (f"{busy} {STILL}",)
    (said,) = with_busy(unsteady, "", now).notes
    assert said == f"While steps were repeated, {now}: times and shares are rough. {STILL}"


def test_a_loop_that_ended_before_its_first_sample_has_advice_also_after_a_diagnosis(world: World) -> None:
    world.ends()
    world.collector.sampled([RankSample(rank=r, step=1, idle=True) for r in (0, 1)], 0, None)
    world.collector.cell_began((0, 1), "for batch in loader: ...")
    world.collector.cell_began((0, 1), "")  # the diagnosis
    found = world.tick(EVEN)
    assert found.metrics.last is not None
    check = Check(0.6, 0.02, 0.05, 0.02, "")
    world.collector.diagnosed(Diagnosis("", "replayed", check, None, ()), 2)
    world.collector.sampled([RankSample(rank=r, step=5, idle=True) for r in (0, 1)], 0, None)
    later = world.look().metrics
    assert later.step_s is None, "too old to be shown as now"
    assert later.last is not None
    assert later.last.comm_overhead == 0.6
    assert world.collector.measured is not None, "what advice is derived from"
    assert (world.collector.measured.step_s, world.collector.measured.share) == (0.05, 0.6)


def test_advice_is_of_the_loop_that_trained_last_or_it_says_that_this_was_too_short(world: World) -> None:
    for _ in range(8):
        world.tick(EVEN)
    world.ends()
    assert world.look().metrics.no_advice != reasons.TOO_SHORT
    world.collector.cell_began((0, 1), "another loop", Where("b.ipynb", "[2]"))
    for rank in (0, 1):
        world.collector.loops.replied(rank, world.steps + 1)
    assert world.collector.loops.ahead_of(world.collector.samples()), "what is known of its steps is older"
    world.collector.sampled([RankSample(rank=r, step=world.steps + 1, idle=True) for r in (0, 1)], 0, None)
    found = world.look().metrics
    assert not world.collector.loops.ahead_of(world.collector.samples())
    assert (found.no_advice, found.advice) == (reasons.TOO_SHORT, ())
    assert found.loop == Where("b.ipynb", "[2]")


def test_both_batches_are_known_while_it_trains_and_afterwards(world: World) -> None:
    for _ in range(8):
        found = world.tick(EVEN)
    assert (found.metrics.rank_batch, found.metrics.global_batch) == (32, 64)
    assert advice_text.batch(found.metrics, 2) == "batch 32 × 2 ranks = 64"
    world.ends()
    ended = world.tick(EVEN, more=0)
    assert ended.metrics.last is not None
    assert (ended.metrics.last.rank_batch, ended.metrics.last.global_batch) == (32, 64)
    assert advice_text.lines([], ended)[-1] == (
        "Batch 32 × 2 ranks = 64. With 4 ranks and still 32 samples on each (weak scaling), a step would "
        "train on 128 samples instead of 64, and an epoch would take 50 steps instead of 100 if each rank "
        "reads its own part of the data."
    )


def test_the_last_share_of_communication_says_that_it_is_a_lower_bound(world: World) -> None:
    for _ in range(8):
        world.tick(EVEN, bound="lower")
    world.ends()
    last = world.tick(EVEN, more=0, bound="lower").metrics.last
    assert last is not None
    assert last.comm_bound == "lower"
    world.collector.diagnosed(Diagnosis("", "replayed", Check(0.9, 0.02, 0.05, 0.02, ""), None, ()), 2)
    last = world.look().metrics.last
    assert last is not None
    assert (last.comm_overhead, last.comm_bound) == (0.9, ""), "measured is all of it"


def test_a_rank_that_takes_no_part_in_the_cell_has_no_figures_and_waits_for_nobody(world: World) -> None:
    for _ in range(20):
        world.tick(EVEN)
    alone = (Member(0, 100, True, 0, "d", "d"), Member(1, 101, True, 0, None, "c"))
    world.state = State("ready", members=Members(alone))
    running = (RunningCell("[4]", "/home/me/train.ipynb", (0,), 0.0),)
    for _ in range(8):
        world.tick((0.0, 0.0))
        found = world.head.cluster(world.state, running, ())
    assert found.summary.text == "Training on 1 rank."
    assert (found.metrics.comm_overhead, found.metrics.wait_s) == (0.0, 0.0)
    assert [rank.step_s for rank in found.ranks] == [0.05, None]
    assert [rank.wait_s for rank in found.ranks] == [0.0, None]


def test_a_rank_that_stays_slow_is_the_headline_and_marked_as_one_episode(world: World) -> None:
    found = [world.tick((0.02, 0.0)) for _ in range(80)]
    last = found[-1]
    assert last.summary.text == "Rank 1 is slow. 1 rank waits for it."
    assert [rank.slow for rank in last.ranks] == [False, True]
    assert len({v.id for c in found for v in c.metrics.verdicts}) == 1


def test_figures_of_a_cell_that_has_ended_or_is_interrupted_are_the_last_ones(world: World) -> None:
    for _ in range(20):
        found = world.tick(EVEN)
    assert (found.metrics.current, found.metrics.last) == (True, None)
    world.is_interrupted()
    asked = world.look()
    assert asked.summary.text == "Interrupting 2 ranks; variables are kept."
    world.ends()
    ended = world.tick(EVEN, more=0)
    assert not ended.metrics.current
    assert ended.metrics.last is not None
    assert ended.metrics.last.samples_per_s == 1280
    assert ended.summary.code == "ready"


def test_a_cell_that_hangs_has_the_last_figures_only_if_it_has_trained(world: World) -> None:
    """The card's "0, was 640 samples/s" is of the cell that hangs, never of one before."""

    def hangs() -> Cluster:
        world.now += TICK_S
        where = RankSample(rank=0, step=world.steps, operation="barrier", in_operation_s=12.0)
        world.collector.sampled([where, RankSample(rank=1, step=world.steps, beat_s=12.0)], 0, None)
        return world.look()

    for _ in range(60):
        world.tick(EVEN)
    world.now += 20
    found = hangs()
    assert found.metrics.verdicts[0].kind == "stuck"
    assert found.metrics.last is not None
    world.collector.cell_began((0, 1), "dist.barrier()")
    found = hangs()
    assert found.metrics.verdicts[0].kind == "stuck"
    assert found.metrics.last is None
    world.ends()
    assert world.look().metrics.last is not None, "they are still the last ones"


@pytest.mark.parametrize("collectives", ["gloo", "cpu:gloo,cuda:nccl"])
def test_only_under_nccl_a_rank_waits_where_its_thread_does_not(world: World, collectives: str) -> None:
    assert world.collector.plan is not None
    world.collector.plan = replace(world.collector.plan, collectives=collectives)
    mine = CollectiveCall(WORLD, 1, "all_reduce")
    samples = [RankSample(rank=0, beat_s=12.0, calls=(mine,), calls_noted=1), RankSample(rank=1, beat_s=12.0)]
    world.collector.sampled(samples, 0, None)
    said = [verdict.text for verdict in world.look().metrics.verdicts]
    assert said == ([] if collectives == "gloo" else ["Rank 1 is stuck. 1 rank waits for it."])
    states = [rank.state for rank in world.look().ranks]
    assert states == (["busy", "busy"] if collectives == "gloo" else ["in collective", "stuck"])


def test_figures_of_steps_that_are_overdue_are_the_last_ones(world: World) -> None:
    for _ in range(30):
        world.tick(EVEN)
    assert world.look().summary.code == "training"
    quiet = [world.tick(EVEN, more=0) for _ in range(24)]
    assert quiet[10].metrics.current, "a step may take its time"
    assert not quiet[-1].metrics.current
    assert quiet[-1].summary.text == "Running cell [3] on 2 ranks."
    assert world.tick(EVEN).summary.code == "training"


def test_nothing_is_said_of_pace_until_enough_steps_were_seen(world: World) -> None:
    said = [world.tick(EVEN).summary.text for _ in range(44)][4:]
    assert said[:10] == ["Training on 2 ranks."] * 10
    assert said[-1] == "Training. Both ranks keep pace."
    assert len(set(said)) == 2


def test_it_is_never_said_of_a_straggler_that_it_keeps_pace(world: World) -> None:
    said = [world.tick((0.04, 0.0)).summary.text for _ in range(44)][4:]
    assert set(said) == {"Training on 2 ranks.", "Rank 1 is slow. 1 rank waits for it."}
    assert said[-1].startswith("Rank 1 is slow.")


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("diagnosis", "Diagnosing…"),
        ("advice_trial", "Trying a change…"),
        ("post_mortem", "Debugging ranks 0–1."),
        ("cell", "Running cell try on 2 ranks."),
    ],
)
def test_what_runs_in_the_place_of_a_cell_is_not_called_a_cell(
    world: World, kind: CellKind, text: str
) -> None:
    found = world.head.cluster(world.state, (RunningCell("try", None, (0, 1), 0.0, kind=kind),), ())
    assert found.summary.text == text


def test_what_was_measured_is_the_figure_of_all_views(world: World) -> None:
    for _ in range(20):
        world.tick((0.035, 0.03))
    assert world.look().metrics.advice
    check = Check(0.09, 0.15, 0.05, 0.0455, "")
    world.collector.diagnosed(Diagnosis("", "replayed", check, None), 2)
    found = world.look()
    assert (found.metrics.comm_overhead, found.metrics.measured) == (0.09, True)
    assert sum(rank.comm_overhead or 0 for rank in found.ranks) / 2 == pytest.approx(0.09)
    assert found.metrics.advice == ()
    world.ends()
    ended = world.tick((0.035, 0.03), more=0)
    assert ended.metrics.last is not None
    assert (ended.metrics.last.comm_overhead, ended.metrics.last.comm_overhead_error) == (0.09, 0.15)


def test_a_loop_that_was_diagnosed_after_its_end_is_advised_by_what_was_measured(world: World) -> None:
    for _ in range(20):
        world.tick((0.0005, 0.0005), runnable=9.0)
    world.ends()
    world.tick((0.0005, 0.0005), more=0)
    assert world.collector.advice == (), "a busy machine, and an estimate of 1 %"
    diagnosed = Diagnosis("", "replayed", Check(0.5, 0.02, 0.05, 0.025, ""), None)
    world.collector.diagnosed(Diagnosis("", "live", diagnosed.communication, None), 2)
    assert world.collector.advice == ()
    world.collector.diagnosed(diagnosed, 2)
    [advice] = world.collector.advice
    assert (advice.id, advice.gain) == ("accumulate", pytest.approx(1.6))
    assert world.look().metrics.advice == (advice,), "the change is made between two runs"


def test_what_was_tried_is_shown_for_that_loop_only(world: World) -> None:
    for _ in range(20):
        world.tick((0.0005, 0.0005))
    diagnosed = Diagnosis("", "replayed", Check(0.5, 0.02, 0.05, 0.025, ""), None)
    world.collector.diagnosed(diagnosed, 2)
    world.collector.tried(Tried("accumulate", 1.5, 0.1, 1.6, 0.2, 20, ""), 2)
    world.look()
    [advice] = world.collector.advice
    assert advice.tryable
    assert advice.tried is not None
    loop, of = world.collector._advised._trained or ("", None)
    assert of is not None
    for other in (replace(of, ranks=4), replace(of, step_s=2 * (of.step_s or 0))):
        world.collector._advised._trained = loop, other
        assert [a.tried for a in world.collector.advice] == [None]


def test_what_was_tried_on_another_number_of_ranks_says_so_until_the_loop_runs_on_these(world: World) -> None:
    for _ in range(20):
        world.tick((0.0005, 0.0005))
    world.collector.diagnosed(Diagnosis("", "replayed", Check(0.5, 0.02, 0.05, 0.025, ""), None), 2)
    world.collector.tried(Tried("accumulate", 1.5, 0.1, 1.6, 0.2, 20, ""), 2)
    world.ends()

    def other_ranks() -> list[int | None]:
        return [a.tried.other_ranks for a in world.look().metrics.advice if a.tried is not None]

    assert other_ranks() == [None]
    world.state = replace(world.state, members=Members((*world.state.members, Member(2))))
    assert other_ranks() == [2]
    world.collector.tried(Tried("accumulate", 1.4, 0.1, 1.6, 0.2, 20, ""), 3)
    assert other_ranks() == [None], "tried once more, on all of them"


def test_the_ranks_of_the_steps_are_those_of_the_cell_that_takes_them(world: World) -> None:
    """As found: beside the step of a cell on rank 0 alone was "mean of both ranks"."""
    for _ in range(8):
        seen = world.tick(EVEN)
    assert seen.metrics.step_ranks == (0, 1)
    world.ends()
    assert world.look().metrics.last is not None
    alone = Member(0, 100, True, 0, "d", "d", False)
    world.state = replace(world.state, members=Members((alone, world.state.members[1])))
    world.collector.cell_began((0,), "for batch in loader: step()")
    for _ in range(8):
        seen = world.tick(EVEN)
    assert seen.metrics.step_ranks == (0,)
    world.ends()
    last = world.look().metrics.last
    assert last is not None
    assert last.step_ranks == (0,)
