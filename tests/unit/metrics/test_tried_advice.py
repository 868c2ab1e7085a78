"""What advice gained when it was tried."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from dtrain_lab.metrics.advice.tried import change, tried
from dtrain_lab.metrics.advice.wording import faster_when_tried
from dtrain_lab.wire.metrics.diagnosis import Change, StepTimings, Tried
from dtrain_lab.wire.metrics.verdicts import Advice


def advice(id: str, **values: object) -> Advice:
    return Advice(id, "Change it", 1.6, 0.2, "", "", values)


def test_advice_that_names_a_number_is_tried_with_that() -> None:
    assert change(advice("accumulate", every=4)) == Change("accumulate", 4, "optimize")
    assert change(advice("accumulate", every=4, way="loop")) == Change("accumulate", 4, "loop")
    assert change(advice("workers", workers=2)) == Change("workers", 2)
    assert change(advice("bf16", item=4)) == Change("bf16", 0)
    assert change(advice("more_ranks")) is None
    assert change(advice("float32")) is None


def test_the_gain_is_of_batches_in_turns_and_of_all_ranks() -> None:
    timings = [
        StepTimings((0.04, 0.06), changed=(0.02, 0.03), steps=16),
        StepTimings((0.04, 0.06), changed=(0.02, 0.03), steps=16),
    ]
    found = tried(timings, advice("accumulate", every=4))
    assert found.gain == pytest.approx(2.0), "whatever both kinds have in common is left out"
    assert found.gain_error == pytest.approx(0.01)
    assert found.text == (
        "Change it: 2.0 ± 0.1 times as fast when tried. Measured over 16 batches with dt.optimize. "
        "Predicted: about 60 % faster."
    )
    assert found.way == "optimize"
    in_loop = tried(timings, advice("accumulate", every=4, way="loop"))
    assert "Measured over 16 batches with the loop changed. " in in_loop.text
    assert "Measured over 16 batches. " in tried(timings, advice("bf16", item=4)).text


@pytest.mark.parametrize(
    ("gain", "error", "said"),
    [
        (1.48, 0.05, "48 % ± 5 faster when tried"),
        (1.45, 0.25, "20 to 70 % faster when tried"),
        (1.4, 0.3, "faster when tried"),
        (4.32, 1.06, "4.3 ± 1.1 times as fast when tried"),
        (4.46, 1.9, "2.6 to 6.4 times as fast when tried"),
        (1.4, 0.6, "not clearly faster when tried"),
        (1.02, 0.06, "no faster when tried"),
        (0.92, 0.03, "no faster when tried"),
    ],
)
def test_what_was_measured_is_told_with_its_error(gain: float, error: float, said: str) -> None:
    trial = Tried("bf16", gain, error, 1.6, 0.2, 24, "")
    assert faster_when_tried(trial) == said
    assert faster_when_tried(replace(trial, other_ranks=2)) == f"{said} with 2 ranks"


def test_the_time_of_the_loops_own_code_stays() -> None:
    timings = StepTimings((0.04,) * 5, changed=(0.02,) * 5, steps=16, loop_s=0.1)
    assert tried([timings, timings], advice("bf16")).gain == pytest.approx(100 / 80)
    slowed = replace(timings, beside_s=0.001)
    assert tried([slowed, slowed], advice("bf16")).gain == pytest.approx(2), (
        "the machine was busy in the loop"
    )


def test_steps_that_read_the_loader_are_compared_by_their_means_since_workers_give_them_in_bursts() -> None:
    timings = StepTimings((0.08,) * 8, changed=(0.05, 0.01, 0.05, 0.01), steps=4)
    found = tried([timings], advice("workers", workers=2))
    assert found.gain == pytest.approx(80 / 30)
    assert found.gain_error > 1, "four steps that differ so much tell little"


def test_few_batches_are_less_sure() -> None:
    few = [StepTimings((0.04, 0.05), changed=(0.02, 0.02), steps=8)]
    found = tried(few, advice("accumulate", every=4))
    assert found.gain_error > 1, "two cycles that differ by a quarter"
    assert found.text.startswith("Change it: not clearly faster when tried. Measured over only 8 batches")
    many = [StepTimings((0.04, 0.05) * 5, changed=(0.02, 0.02) * 5, steps=40)]
    assert tried(many, advice("accumulate", every=4)).gain_error < 0.3
    read = [StepTimings((0.04, 0.05, 0.06), changed=(0.02, 0.02, 0.03), steps=3)]
    assert tried(read, advice("workers", workers=4)).gain_error > 1
