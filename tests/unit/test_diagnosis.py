from __future__ import annotations

import pytest

from dtrain_lab.core.cluster import Metrics
from dtrain_lab.core.diagnosis import Report, conclude, feeding, from_live, scheme


def report(
    rank: int, with_ms: float, without_ms: float, real_ms: float = 0, loop_s: float | None = None
) -> Report:
    real = (real_ms / 1e3,) * 5 if real_ms else ()
    return Report(rank, (with_ms / 1e3,) * 5, (without_ms / 1e3,) * 5, real, loop_s)


def test_both_checks_end_in_a_sentence_and_a_number() -> None:
    found = conclude([report(0, 20, 15, 40), report(1, 20, 15, 40)])
    assert found.communication is not None
    assert found.data is not None
    assert found.communication.share == pytest.approx(0.125), "5 of 40 ms"
    assert found.communication.text == (
        "Communication takes 12 % ± 1 of a step of 40 ms: "
        "the same batch again takes 20 ms with it, 15 ms without."
    )
    assert found.data.share == pytest.approx(0.5)
    assert found.data.text == (
        "Waiting for data takes 50 % ± 1 of a step: 40 ms with the loader, 20 ms with the same batch again."
    )
    assert found.text == "Input-bound: 50 % of a step waits for data."


def test_a_step_that_waits_for_data_is_input_bound_however_much_of_the_rest_is_communication() -> None:
    found = conclude([report(0, 2.7, 0.3, 20), report(1, 2.7, 0.3, 20)])
    assert found.text == "Input-bound: 86 % of a step waits for data."
    assert found.communication is not None
    assert found.communication.share == pytest.approx(0.12)


def test_slow_steps_are_run_less_often() -> None:
    assert scheme(0.02) == (5, 4)
    assert scheme(3) == (3, 3)
    assert scheme(60) == (2, 2)


def test_what_workers_read_ahead_is_not_counted_and_no_batch_is_missing() -> None:
    assert feeding(1000, 1, 0.02, 5) == (5, 13)
    assert feeding(1000, 9, 0.02, 5) == (5, 21)
    for available in range(3, 60):
        for ahead in range(1, available):
            cycles, steps = feeding(available, ahead, 0.02, 5)
            assert cycles * steps <= available
            assert steps > ahead
    assert feeding(1000, 1, 10, 2) == (2, 2), "slow ones are run less often"


def test_without_a_loader_communication_is_of_the_step_that_repeats_a_batch() -> None:
    found = conclude([report(0, 20, 15), report(1, 20, 15)])
    assert found.communication is not None
    assert found.communication.text == (
        "Communication takes 25 % ± 1 of a step: 20 ms with it, 15 ms without."
    )
    assert found.text == "Communication-bound: 25 % of a step."


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
    skipped = Report(0, (0.02,), (0.02,), skipped={"data": "No DataLoader was read."})
    assert conclude([skipped]).notes == ("No DataLoader was read.",)


def test_of_a_loop_that_runs_the_monitor_knows() -> None:
    found = from_live(Metrics(step_s=0.1, data_s=0.02, comm_overhead=0.4, comm_overhead_error=0.02))
    assert found.source == "live"
    assert found.text == "Communication-bound: 40 % of a step."


def test_what_is_none_of_the_model_is_said() -> None:
    found = conclude([report(r, 20, 15, loop_s=0.05) for r in (0, 1)])
    (note,) = found.notes
    assert note.startswith("A step of your own loop took 50 ms: 30 ms of it is neither the model, nor")
    assert found.text == "Your loop's own code takes the time: 60 % of a step."
    assert found.communication is not None
    assert found.communication.share == pytest.approx(0.1), "5 of 50 ms"
    assert conclude([report(r, 20, 15, loop_s=0.022) for r in (0, 1)]).notes == ()
