"""What advice gained when it was tried."""

from __future__ import annotations

import pytest

from dtrain_lab.metrics.advice.tried import change, outcome, tried
from dtrain_lab.wire.metrics.diagnosis import Change, Report
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
    reports = [
        Report((0.04, 0.06), changed=(0.02, 0.03), steps=16),
        Report((0.04, 0.06), changed=(0.02, 0.03), steps=16),
    ]
    found = tried(reports, advice("accumulate", every=4))
    assert found.gain == pytest.approx(2.0), "whatever both kinds have in common is left out"
    assert found.gain_error == pytest.approx(0.01)
    assert found.text == (
        "Change it: 2.0 times as fast (±0.1), measured over 16 batches with dt.optimize. "
        "Predicted: 60 % faster (±20)."
    )
    assert found.way == "optimize"
    in_loop = tried(reports, advice("accumulate", every=4, way="loop"))
    assert "measured over 16 batches with the loop changed. " in in_loop.text
    assert "measured over 16 batches. " in tried(reports, advice("bf16", item=4)).text


@pytest.mark.parametrize(
    ("gain", "error", "said"),
    [
        (1.48, 0.05, "48 % faster (±5)"),
        (1.58, 0.4, "18 to 98 % faster"),
        (4.32, 1.06, "4.3 times as fast (±1.1)"),
        (4.46, 2.32, "2.1 to 6.8 times as fast"),
        (1.4, 0.6, "not surely faster (+40 % ±60)"),
        (1.02, 0.06, "no faster (+2 % ±6)"),
        (0.92, 0.03, "no faster (−8 % ±3)"),
    ],
)
def test_what_was_measured_is_told_with_its_error(gain: float, error: float, said: str) -> None:
    assert outcome(gain, error) == said


def test_the_time_of_the_loops_own_code_stays() -> None:
    report = Report((0.04,) * 5, changed=(0.02,) * 5, steps=16, loop_s=0.1)
    assert tried([report, report], advice("bf16")).gain == pytest.approx(100 / 80)


def test_steps_that_read_the_loader_are_compared_by_their_means_since_workers_give_them_in_bursts() -> None:
    report = Report((0.08,) * 8, changed=(0.05, 0.01, 0.05, 0.01), steps=4)
    found = tried([report], advice("workers", workers=2))
    assert found.gain == pytest.approx(80 / 30)
    assert found.gain_error > 1, "four steps that differ so much tell little"


def test_few_batches_are_less_sure() -> None:
    few = [Report((0.04, 0.05), changed=(0.02, 0.02), steps=8)]
    found = tried(few, advice("accumulate", every=4))
    assert found.gain_error > 1, "two cycles that differ by a quarter"
    assert found.text.startswith("Change it: not surely faster (+125 % ±501), measured over 8 batches")
    assert "which are few." in found.text
    many = [Report((0.04, 0.05) * 5, changed=(0.02, 0.02) * 5, steps=40)]
    assert tried(many, advice("accumulate", every=4)).gain_error < 0.3
    read = [Report((0.04, 0.05, 0.06), changed=(0.02, 0.02, 0.03), steps=3)]
    assert tried(read, advice("workers", workers=4)).gain_error > 1
