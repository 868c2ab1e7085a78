from __future__ import annotations

import pytest

from dtrain_lab.core.cluster import Metrics
from dtrain_lab.core.diagnosis import Report, conclude, from_live


def report(rank: int, with_ms: float, without_ms: float, real_ms: float = 0) -> Report:
    real = (real_ms / 1e3,) * 5 if real_ms else ()
    return Report(rank, (with_ms / 1e3,) * 5, (without_ms / 1e3,) * 5, real)


def test_both_checks_end_in_a_sentence_and_a_number() -> None:
    found = conclude([report(0, 20, 15, 40), report(1, 20, 15, 40)])
    assert found.communication is not None
    assert found.data is not None
    assert found.communication.share == pytest.approx(0.25)
    assert found.communication.text == (
        "Communication takes 25 % ± 1 of a step: 20 ms with it, 15 ms without."
    )
    assert found.data.share == pytest.approx(0.5)
    assert found.text == "Input-bound: 50 % of a step waits for data."


def test_what_spreads_is_said_to_be_unsure() -> None:
    spread = Report(0, (0.02, 0.03, 0.022, 0.04, 0.025), (0.015,) * 5)
    found = conclude([spread, spread])
    assert found.communication is not None
    assert found.communication.error > 0.05
    assert found.data is None


def test_one_rank_has_no_communication_to_check() -> None:
    found = conclude([report(0, 20, 20, 21)])
    assert found.communication is None
    assert found.text == "Computation takes the time: data is not worth a change."
    skipped = Report(0, (0.02,), (0.02,), (), {"data": "No DataLoader was read."})
    assert conclude([skipped]).notes == ("No DataLoader was read.",)


def test_of_a_loop_that_runs_the_monitor_knows() -> None:
    found = from_live(Metrics(step_s=0.1, data_s=0.02, comm_overhead=0.4, comm_overhead_error=0.02))
    assert found.source == "live"
    assert found.text == "Communication-bound: 40 % of a step."


def test_what_is_none_of_the_model_is_said() -> None:
    found = conclude([report(0, 20, 15), report(1, 20, 15)], loop_s=0.05)
    (note,) = found.notes
    assert note.startswith("A step of your own loop took 50 ms: 30 ms of it is neither the model, nor")
    assert conclude([report(0, 20, 15), report(1, 20, 15)], loop_s=0.022).notes == ()
