"""How long trials and sweeps have run: the time in which nothing ran is nobody's."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from dtrain_lab.sweeps.events import ActionRequested, HandingOver, Missing, Polled
from dtrain_lab.sweeps.times import ran_s, sweep_ran_s
from dtrain_lab.sweeps.view import shown
from dtrain_lab.wire.sweeps import TrialRecord, TrialRun
from tests.unit.sweeps.studies import begun, sweep, through


def polled(state: Any, started: float, ended: float | None = None) -> Polled:
    return Polled(0, state, started, ended)


def test_a_resumed_trial_has_the_time_of_its_jobs_and_not_that_between_them() -> None:
    record, _ = through(sweep(1), *begun(0, "a"))
    assert shown(record, "/f", 100.0).trials[0].ran_s is None
    assert shown(record, "/f", 100.0).ran_s is None
    record, _ = through(record, polled("running", 110.0))
    assert shown(record, "/f", 115.0).trials[0].ran_s == 5.0
    record, _ = through(record, ActionRequested("stop", 1, 130.0), polled("cancelled", 110.0, 139.0))
    made = shown(record, "/f", 2000.0)
    assert (record.state, made.trials[0].ran_s, made.ran_s) == ("stopped", 29.0, 29.0)

    record, _ = through(record, ActionRequested("run", 2, 2000.0), HandingOver(0, "b"))
    assert shown(record, "/f", 2000.0).trials[0].ran_s == 29.0, "its ranks have not started"
    record, _ = through(record, polled("running", 2001.0))
    made = shown(record, "/f", 2011.0)
    assert (made.trials[0].ran_s, made.ran_s) == (39.0, 39.0)
    record, _ = through(record, polled("succeeded", 2001.0, 2020.0))
    made = shown(record, "/f", 9000.0)
    assert (made.trials[0].ran_s, made.ran_s) == (48.0, 48.0)
    assert (made.trials[0].started_at, made.trials[0].ended_at) == (110.0, 2020.0)


def test_a_job_that_is_gone_runs_no_longer() -> None:
    record, _ = through(sweep(1), *begun(0, "a"), polled("running", 110.0), Missing(0, 114.0))
    assert shown(record, "/f", 900.0).trials[0].ran_s == 4.0
    record, _ = through(sweep(1), *begun(0, "a"), polled("lost", 110.0))
    assert shown(record, "/f", 900.0).trials[0].ran_s == 0.0, "its end is not known"


def test_a_sweep_has_the_time_in_which_any_of_its_trials_ran() -> None:
    trials = [
        TrialRecord(0, "succeeded", {}, runs=(TrialRun("a", 10.0, 20.0), TrialRun("d", 50.0, 55.0))),
        TrialRecord(1, "succeeded", {}, runs=(TrialRun("b", 12.0, 26.0),)),
        TrialRecord(2, "running", {}, runs=(TrialRun("c", 52.0),)),
        TrialRecord(3, "waiting", {}),
    ]
    assert [ran_s(trial, 60.0) for trial in trials] == [15.0, 14.0, 8.0, None]
    assert sweep_ran_s(trials, 60.0) == 16.0 + 10.0


def test_a_trial_of_an_earlier_version_has_the_time_from_its_start_to_its_end() -> None:
    old = TrialRecord(0, "succeeded", {}, started_at=10.0, ended_at=13.0)
    assert ran_s(old, 99.0) == 3.0
    assert ran_s(replace(old, state="running", ended_at=None), 99.0) == 89.0
    assert ran_s(replace(old, state="waiting", ended_at=None), 99.0) is None


def test_clients_are_not_told_what_only_the_driver_needs() -> None:
    record, _ = through(sweep(1), *begun(0, "a"), polled("succeeded", 1.0, 2.0))
    fields = set(shown(record, "/f", 3.0).trials[0].__struct_fields__)
    assert not fields & {"handed", "seen", "ending", "rungs", "runs"}
