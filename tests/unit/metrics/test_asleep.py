"""Loops that wait for something that is neither data nor another rank."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from dtrain_lab.metrics.advice.measured import Measured
from dtrain_lab.metrics.advice.reasons import why_none
from dtrain_lab.metrics.diagnosis import conclude, from_live
from dtrain_lab.metrics.other_waits import part_s
from dtrain_lab.metrics.verdicts.asleep import Asleep, asleep_shares
from dtrain_lab.wire.links import RankSample
from dtrain_lab.wire.metrics.diagnosis import StepTimings
from dtrain_lab.wire.metrics.verdicts import Verdict
from dtrain_lab.wire.metrics.world import Metrics

SLEEPS = RankSample(
    rank=0, step_s=0.1, exposed_s=0.02, data_s=0.0, on_processor=0.125, starved=0.0, cpu_utilization=0.1
)
WORKS = replace(SLEEPS, on_processor=1.0, cpu_utilization=0.8)
ON_GPU = replace(WORKS, on_processor=0.0, cpu_utilization=0.1, device_memory_total_bytes=8 << 30)


@pytest.mark.parametrize(
    ("sample", "share"),
    [
        (SLEEPS, 0.7),
        (WORKS, 0.0),
        (replace(SLEEPS, data_s=0.08), -0.1),  # it waits for its loader
        (replace(SLEEPS, exposed_s=0.1), -0.1),  # and for another rank
        (replace(SLEEPS, starved=0.7), 0.0),  # for a core
        (replace(SLEEPS, cpu_utilization=4.0), -0.2),  # for its own threads, which compute
        (replace(SLEEPS, bound="lower"), None),  # perhaps in a collective that nobody sees
        (replace(SLEEPS, starved=None), None),
        (replace(SLEEPS, exposed_s=None), None),
        (ON_GPU, None),  # nobody measures the GPU
        (replace(ON_GPU, device_utilization=0.9), -0.2),  # the host waits for its GPU
        (replace(ON_GPU, device_utilization=0.0), 0.7),
        (replace(SLEEPS, idle=True), None),  # its cell is over, and it waits for no core any more
    ],
)
def test_only_what_is_known_to_be_neither_work_nor_waiting_is_sleep(
    sample: RankSample, share: float | None
) -> None:
    found = asleep_shares([sample, replace(sample, rank=1)])
    assert found == ({} if share is None else pytest.approx({0: share, 1: share}, abs=1e-9))


def test_one_rank_that_sleeps_is_no_loop_that_sleeps() -> None:
    asleep = Asleep()
    one = [SLEEPS, replace(WORKS, rank=1), replace(WORKS, rank=2)]
    for t in range(6):
        assert asleep.update([replace(s, step=t) for s in one], float(t)) == 0.0
    assert asleep_shares([SLEEPS, replace(ON_GPU, rank=1)]) == {}
    assert asleep_shares([]) == {}
    assert list(asleep_shares([SLEEPS, replace(WORKS, rank=1, idle=True)])) == [0], "not of this cell"
    assert asleep.of_ranks(None) == {}
    slow = Verdict("a", "slow", "slow", {"cause": ", in every step: asleep"}, "", ranks=(0,))
    assert asleep.of_ranks(slow) == pytest.approx({0: 0.7}), "its verdict says that it sleeps"
    assert asleep.of_ranks(replace(slow, values={"cause": ": data"})) == {}


def test_a_part_of_a_step_leaves_room_for_data_and_communication() -> None:
    assert part_s(0.7, 0.1, 0.01, 0.1) == pytest.approx(0.07)
    assert part_s(0.7, 0.1, 0.03, 0.4) == pytest.approx(0.03)
    assert part_s(0.7, 0.1, None, None) == pytest.approx(0.07)
    assert [part_s(*of, None, None) for of in ((0.0, 0.1), (None, 0.1), (0.7, None), (-0.1, 0.1))] == [
        None
    ] * 4


def taking(share: float, steps: int) -> list[RankSample]:
    """A rank that has taken a number of steps, and is asleep for a share of each."""
    return [replace(SLEEPS, step=steps, exposed_s=0.0, cpu_utilization=0.0, on_processor=1 - share)]


def test_it_neither_flickers_nor_outlives_the_loop() -> None:
    asleep = Asleep()
    told = [asleep.update(taking(0.7, 10 * t), float(t)) for t in range(4)]
    assert told == [0.0, 0.0, 0.0, pytest.approx(0.7)], "the first samples may be of a time before the loop"
    assert asleep.due(4.0)
    assert not asleep.due(3.5)
    assert asleep.update(taking(0.1, 40), 4.0) > 0, "more than 0.35 on average"
    assert asleep.update([ON_GPU], 5.0) > 0, "unknown for a moment"
    assert [asleep.update(taking(0.4, 100 * t), 20.0 + t) > 0 for t in range(1, 9)] == [True] * 8
    assert [asleep.update(taking(0.1, 1000 * t), 40.0 + t) for t in range(1, 12)][-1] == 0.0
    asleep.forget()
    assert asleep.share == 0.0


def test_what_a_cell_does_after_its_loop_is_no_sleep_of_the_loop() -> None:
    asleep = Asleep()
    for t in range(6):
        asleep.update(taking(0.1, 10 * t), float(t))
    for t in range(6, 20):  # it saves, or evaluates elsewhere: no steps
        assert asleep.update(taking(0.95, 50), float(t)) == 0.0


def test_nothing_is_said_on_a_crowded_machine() -> None:
    asleep = Asleep()
    for t in range(6):
        asleep.update(taking(0.7, 10 * t), float(t))
    assert asleep.share > 0
    assert asleep.update(taking(0.7, 60), 6.0, crowded=True) == 0.0
    assert asleep.update(taking(0.7, 70), 7.0) == 0.0, "measured anew"


def test_a_loop_that_sleeps_does_not_compute() -> None:
    said = "Training mostly waits for something else: for 70 % of a step its ranks neither compute nor"
    of = Measured(ranks=2, step_s=0.1, data_s=0.0, share=0.04, transfer_s=0.004, plain_ddp=True, asleep=0.7)
    of = replace(of, gradient_bytes=8, gradient_item=4, workers=0)
    assert why_none(of, "").startswith(said)
    assert why_none(of, "Busy.").startswith("Busy."), "it may wait for a core"
    assert why_none(replace(of, asleep=0.0), "").startswith("Computation takes the time")
    assert why_none(replace(of, share=0.8, transfer_s=0.08), "").startswith("Communication takes 80 %")
    live = Metrics(step_s=0.1, data_s=0.0, comm_overhead=0.04, comm_overhead_error=0.01)
    assert from_live(live, asleep=0.7).text.startswith(said)
    timings = StepTimings(with_sync=(0.02,) * 5, without_sync=(0.02,) * 5)
    assert conclude([timings, timings], asleep=0.7).text.startswith(said), (
        "a sleep in the model is repeated, too"
    )
