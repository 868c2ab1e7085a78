"""The terminal's lists: a sweep in one row, what has ended already, and values that are not known."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from dtrain_lab.api.portal import Portal
from dtrain_lab.cli import doctor, measurements
from dtrain_lab.cli.main import main
from dtrain_lab.jobs.state import job
from dtrain_lab.services.jobs.jobs import Jobs
from dtrain_lab.services.sweeps.sweeps import Sweeps
from dtrain_lab.sweeps.view import shown
from dtrain_lab.text.job_rows import rows
from dtrain_lab.wire.jobs.folder import End, FolderState
from dtrain_lab.wire.jobs.job import Job
from dtrain_lab.wire.status import Status
from dtrain_lab.wire.sweeps import Sweep
from tests.unit.jobs.records import RECORD
from tests.unit.sweeps.studies import begun, ended, sweep, through


def terminal(*words: str) -> str:
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, (done.output, done.exception)
    return done.output


def done_sweep() -> Sweep:
    record, _ = through(sweep(2), *begun(0, "a"), ended(0, 1.5), *begun(1, "b"), ended(1, 2.5))
    return shown(replace(record, created_at=150.0), "/f", 9.0)


def jobs_of(made: Sweep) -> list[Job]:
    end = job(RECORD, FolderState(190.0, End(0, 200.0)), Status("ended"), 201.0)
    pruned = replace(RECORD, cancelled_at=191.0, cancelled_for="prune")
    early = job(pruned, FolderState(190.0, End(143, 193.0)), Status("ended"), 201.0)
    return [
        replace(end, id="late0001", name="late", created_at=160.0),
        replace(end, id="a", name="train 0", sweep=made.id, created_at=152.0),
        replace(early, id="b", name="train 1", sweep=made.id, created_at=151.0),
        replace(end, id="c", name="gone 0", sweep="deleted", created_at=120.0),
    ]


def test_the_trials_of_a_sweep_are_one_row_unless_all_are_wanted() -> None:
    made = done_sweep()
    folded = rows(jobs_of(made), [made], 300.0)
    assert [row[:2] for row in folded] == [
        ("late0001", "late"),
        (made.id, "train"),
        ("c", "gone 0"),
    ], "of a sweep that is not known, a trial is a job like others"
    text = "Sweep: 2 of 2 trials done; best loss 1.5 in trial 0."
    assert folded[1][2:] == ("done", "local", "2 trials of 1 × 1", "1.0 s", text)
    each = rows(jobs_of(made), [], 300.0)
    assert [row[1] for row in each] == ["late", "train 0", "train 1", "gone 0"]
    assert (each[2][2], each[2][6]) == ("stopped early", "Stopped early by its sweep after 3.0 s.")


def test_the_list_has_the_rows_and_its_json_all_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    made = done_sweep()

    async def every(self: Jobs) -> Any:
        return jobs_of(made)

    async def sweeps(self: Sweeps) -> Any:
        return [made]

    monkeypatch.setattr(Jobs, "listing", every)
    monkeypatch.setattr(Sweeps, "listing", sweeps)
    monkeypatch.setattr(Portal.get("terminal"), "_sweeps", Sweeps(Portal.get("terminal").jobs))
    assert "2 trials of 1 × 1" in terminal("job", "list")
    assert "train 1" not in terminal("job", "list")
    assert "train 1" in terminal("job", "list", "--all")
    assert '"train 1"' in terminal("job", "list", "--json")


def test_to_end_what_has_ended_is_the_same_for_jobs_and_sweeps(monkeypatch: pytest.MonkeyPatch) -> None:
    made = done_sweep()
    end = jobs_of(made)[0]

    async def of_jobs(self: Jobs, *_: Any, **__: Any) -> Any:
        return end

    async def of_sweeps(self: Sweeps, *_: Any, **__: Any) -> Any:
        return made

    for name in ("job", "cancel", "wait"):
        monkeypatch.setattr(Jobs, name, of_jobs)
    for name in ("sweep", "adopted", "stop", "wait"):
        monkeypatch.setattr(Sweeps, name, of_sweeps)
    assert terminal("job", "cancel", "late") == "late (late0001) has already ended: Done after 10 s.\n"
    said = "train (s1) has already ended: 2 of 2 trials done; best loss 1.5 in trial 0.\n"
    assert terminal("sweep", "stop", "train") == said


def test_a_history_without_steps_has_no_none(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [{"at": 1.0, "step": None, "samples_per_s": None}, {"at": 2.0, "step": 1200}]
    monkeypatch.setattr(measurements, "reach", lambda _: SimpleNamespace(history=lambda: points))
    said = terminal("cluster", "history", "local-2")
    assert "None" not in said
    assert "1,200" in said


def test_doctor_has_no_line_without_content(capsys: pytest.CaptureFixture[str]) -> None:
    doctor._print(
        {"packages": {"torch": None}, "torch_lacks": [], "recovered": {}, "problems": [], "ok": True}
    )
    assert capsys.readouterr().out.splitlines() == ["packages:", "  torch: not installed", "ok: True"]
