"""The state machine of sweeps, what is tried next, and who is stopped early: without a process."""

from __future__ import annotations

import asyncio
import math
import random
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from dtrain_lab.api.sweep import Sweep as ApiSweep
from dtrain_lab.cli.jobs.sweep import sweep_group
from dtrain_lab.errors import Conflict, EnvironmentUnfit, NotFound, Unreachable, WireMismatch
from dtrain_lab.services.index import sweep_names
from dtrain_lab.services.sweeps import check
from dtrain_lab.services.sweeps import folder as folders
from dtrain_lab.services.sweeps.sweeps import Sweeps
from dtrain_lab.sweeps import reasons, rungs, study
from dtrain_lab.sweeps.events import (
    Action,
    ActionRequested,
    Continue,
    End,
    Event,
    HandingOver,
    Judge,
    Judged,
    Missing,
    Polled,
    Refused,
    Submit,
    Suggest,
    Suggested,
    Tick,
)
from dtrain_lab.sweeps.transitions import step
from dtrain_lab.sweeps.view import can_resume, shown, summary, trial_word
from dtrain_lab.text.state_words import sweep_word
from dtrain_lab.wire.summary import Summary
from dtrain_lab.wire.sweeps import (
    SWEEP_ENDED,
    TRIAL_ENDED,
    Rung,
    SweepRecord,
    SweepRequest,
    TrialRecord,
)
from dtrain_lab.wire.sweeps import Sweep as Info
from tests.unit.sweeps.studies import begun, ended, sweep, through, told

TAKEN = Summary("slots", {}, "2 of 2 slots are taken.")


def said(record: SweepRecord, number: int = 0) -> tuple[str, dict[str, Any], str]:
    reason = record.trials[number].reason
    assert reason is not None
    return reason.code, reason.values, reason.text


def test_so_many_run_at_once_and_each_runs_once() -> None:
    record, actions = step(sweep(), Tick(0.0))
    assert actions == (Suggest(),)
    record, actions = step(record, Suggested({"lr": 0.1}))
    assert actions == (Submit(0), Suggest())
    record, actions = through(record, HandingOver(0, "a"), *begun(1, "b"))
    assert actions == ()
    record, actions = step(record, Polled(0, "running", 1.0, reports=told(3.0, 2.0)))
    assert (record.trials[0].state, record.trials[0].value, record.trials[0].step) == ("running", 2.0, 1)
    record, actions = step(record, ended(0, 3.0, 1.0))
    assert actions == (Suggest(),)
    record, _ = through(record, *begun(2, "c"), ended(1, 5.0), *begun(3, "d"))
    record, actions = through(record, ended(2, 4.0), ended(3, 0.5))
    assert (record.state, actions) == ("succeeded", ())
    assert summary(record).text == "4 of 4 trials done; best loss 0.5 in trial 3."
    other = replace(record.trials[0], state="stopped"), replace(record.trials[1], state="failed")
    part = replace(record, trials=(*other, *record.trials[2:]))
    assert summary(part).text.startswith("Finished: 2 of 4 trials done, 1 failed;")
    early = replace(part, trials=(replace(other[0], state="pruned"), *part.trials[1:]))
    assert summary(early).text.startswith("Finished: 2 of 4 trials done, 1 stopped early, 1 failed;")
    assert sweep_word(early.state, summary(early).code) == "finished"
    pruned = replace(record, trials=(replace(other[0], state="pruned"), *record.trials[1:]))
    for whole in (record, pruned):  # what was stopped early has not failed
        assert summary(whole).code == "sweep_succeeded"
        assert sweep_word(whole.state, summary(whole).code) == "done"
    values = summary(early).values
    assert (values["done"], values["early"], values["failed"], values["ended"]) == (2, 1, 1, 4)
    assert shown(record, "/f", 9.0).may == ("delete",)
    best = shown(replace(record, request=replace(record.request, direction="maximize")), "/f", 9.0).best
    assert best is not None
    assert best.number == 1


def test_a_queued_trial_waits_and_says_for_what() -> None:
    record, _ = through(sweep(), *begun(0, "a"), Polled(0, "queued", error=TAKEN))
    trial = record.trials[0]
    assert (trial.state, trial.reason, trial.handed) == ("waiting", TAKEN, True)


def test_a_driver_that_died_before_the_hand_over_loses_nothing() -> None:
    record, _ = through(sweep(), *begun(0, "a"))
    record, actions = step(record, Missing(0, 1.0))
    assert record.trials[0].jobs == ()
    assert actions[0] == Submit(0)


def test_a_job_that_was_seen_and_is_gone_is_not_run_again() -> None:
    record, actions = through(sweep(1), *begun(0, "a"), Polled(0, "running", 1.0), Missing(0, 3.0))
    assert said(record) == ("job_deleted", {}, "The trial's job was deleted.")
    assert (record.state, actions) == ("failed", ())


def test_it_is_told_apart_whether_a_trial_goes_on_or_begins_anew() -> None:
    record, _ = through(sweep(1), *begun(0, "a"))
    assert record.trials[0].resumed_step is None
    for job, saved in (("b", None), ("c", 4), ("d", 9)):
        killed = Polled(0, "failed", 1.0, 2.0, killed=True, checkpoint_step=saved)
        record, _ = through(record, killed, HandingOver(0, job))
        # what it saves afterwards is not where it went on
        record, _ = step(record, Polled(0, "running", 1.0, checkpoint_step=7))
        assert record.trials[0].resumed_step == saved
        assert trial_word(record.trials[0]) == (
            "started over" if saved is None else f"resumed at step {saved}"
        )
    never_loads = Polled(0, "failed", 1.0, 2.0, killed=True, checkpoint_step=9, begins_again=True)
    record, _ = through(sweep(1), *begun(0, "a"), never_loads, HandingOver(0, "b"))
    assert record.trials[0].resumed_step is None, "its checkpoint is not loaded"


def test_a_killed_trial_goes_on_from_its_checkpoint_and_not_for_ever() -> None:
    record, _ = through(sweep(1), *begun(0, "a"))
    for job in "bcd":
        record, actions = step(record, Polled(0, "failed", 1.0, 2.0, killed=True, reports=told(1.0)))
        assert actions == (Continue(0, record.trials[0].job or ""),)
        record, _ = through(
            record, HandingOver(0, job), Polled(0, "running", 1.0, reports=told(0.5, first=1))
        )
        assert record.trials[0].state == "resumed"
    assert [r.value for r in record.trials[0].curve] == [1.0, 0.5]
    assert record.trials[0].resumes == 3
    record, _ = step(record, Polled(0, "lost", error=Summary("job_lost", {}, "its processes are gone.")))
    assert (record.trials[0].state, record.state) == ("failed", "failed")
    assert record.reason is not None
    assert record.reason.message == "No trial has succeeded. its processes are gone."


def test_stop_ends_what_runs_and_resume_continues_it() -> None:
    record, _ = through(sweep(3), *begun(0, "a"), *begun(1, "b"), Polled(0, "running", 1.0))
    record, actions = step(record, ActionRequested("stop", 1, 2.0))
    assert (record.state, actions) == ("stopping", (End(0, "a", "stop"), End(1, "b", "stop")))
    record, _ = step(record, ended(0, 1.0, state="cancelled"))
    record, actions = step(record, ended(1, 0.9))
    assert (record.state, actions) == ("stopped", ())
    assert [trial.state for trial in record.trials] == ["stopped", "succeeded"]
    assert shown(record, "/f", 9.0).may == ("resume", "delete")
    record, actions = step(record, ActionRequested("stop", 1, 3.0))
    assert record.state == "stopped", "a wish is obeyed once"
    record, actions = step(record, ActionRequested("run", 2, 3.0))
    assert shown(record, "/f", 9.0).may == ("stop",)
    assert actions == (Continue(0, "a"), Suggest())
    record, _ = through(record, HandingOver(0, "c"), ended(0, 0.1), *begun(2, "d"), ended(2, 0.2))
    assert record.state == "succeeded"
    assert shown(record, "/f", 9.0).may == ("delete",)
    assert record.trials[0].jobs == ("a", "c")


def test_an_objective_that_is_never_reported_stops_the_sweep_with_a_sentence() -> None:
    record, actions = through(sweep(), *begun(0, "a"), *begun(1, "b"), ended(0, names=("accuracy", "lr")))
    assert actions == (End(1, "b", "stop"),)
    record, _ = step(record, ended(1, state="cancelled"))
    assert record.state == "failed"
    assert record.reason is not None
    assert record.reason.message == 'Trial 0: "loss" was never reported; the trial reported accuracy, lr.'
    assert "dt.log(step, loss=" in record.reason.hint


def test_an_objective_that_is_no_number_fails_its_trial() -> None:
    record, _ = through(sweep(), *begun(0, "a"), ended(0, 1.0, math.nan))
    trial = record.trials[0]
    assert (trial.state, trial.value) == ("failed", None)
    values = {"objective": "loss", "value": "nan", "step": 1}
    assert said(record) == ("not_finite", values, "The last loss is nan, at step 1.")
    assert record.state == "running"


def test_what_is_refused_for_now_is_tried_again_and_the_rest_ends_the_sweep() -> None:
    record, _ = step(sweep(), Suggested({"lr": 0.1}))
    record, actions = step(record, Refused(0, "unreachable", "gpu-1 is silent.", "", again=True, at=10.0))
    assert (record.state, actions) == ("running", ())
    assert "gpu-1 is silent." in summary(record).text
    assert step(record, Tick(12.0))[1] == ()
    record, actions = step(record, Tick(16.0))
    assert actions[0] == Submit(0)
    record, _ = step(record, HandingOver(0, "a"))
    assert record.reason is None
    record, _ = step(record, Refused(0, "bad_size", "Too large.", "", again=False, at=17.0))
    assert (record.state, record.trials[0].state) == ("failed", "waiting")


@pytest.mark.parametrize("state", ["queued", "running"])
def test_a_scheduler_that_takes_no_more_jobs_is_asked_again_while_trials_go_on(state: Any) -> None:
    record, _ = through(sweep(), *begun(0, "a"), Polled(0, state), Suggested({"lr": 0.2}))
    limit = Refused(1, "refused", "Slurm refuses: too many jobs.", "", again=False, at=10.0)
    record, _ = step(record, limit)
    assert (record.state, record.trials[1].state) == ("running", "waiting")
    record, _ = through(record, ended(0, 1.0, 0.5), limit)
    assert (record.state, record.trials[1].state) == ("failed", "waiting")
    assert can_resume(record)
    complete = replace(record, total=2)
    assert can_resume(complete), "the trial that waits is left"


def test_a_trial_that_can_not_be_continued_fails_alone() -> None:
    record, _ = through(sweep(2, 1), *begun(0, "a"), Polled(0, "lost"))
    record, actions = step(
        record, Refused(0, "conflict", "Others go on from there.", "", again=False, at=1.0)
    )
    assert (record.trials[0].state, actions) == ("failed", (Suggest(),))


def run(record: SweepRecord, choose: random.Random) -> tuple[SweepRecord, dict[int, int]]:
    """A driver that dies anywhere, with jobs that fail, hang, are killed and cancelled at random."""
    submitted: dict[int, int] = {}
    jobs: dict[str, str] = {}
    todo: list[Action] = []
    for at in range(4000):
        if record.state in SWEEP_ENDED and not todo:
            break
        if choose.random() < 0.1:  # it died: all that it knows is the record
            todo = []
        if not todo:
            active = [t for t in record.trials if t.handed and t.job]
            events: list[Event] = [Tick(float(at))]
            for trial in active:
                state = jobs.get(trial.job or "")
                if state is None:
                    events.append(Missing(trial.number, float(at)))
                    continue
                if state == "running" and choose.random() < 0.4:
                    state = choose.choice(["succeeded", "failed", "lost", "cancelled"])
                    jobs[trial.job or ""] = state
                events.append(
                    Polled(trial.number, state, 1.0, 2.0, reports=told(choose.random(), choose.random()))  # type: ignore[arg-type]
                )
            for event in events:
                record, actions = step(record, event)
                todo = list(actions)
                if todo and isinstance(todo[0], Judge):
                    record, actions = step(record, Judged(todo[0].number, choose.random() < 0.3))
                    todo = list(actions)
            continue
        action = todo.pop(0)
        match action:
            case Suggest():
                record, actions = step(record, Suggested({"lr": choose.random()}))
            case Submit(number) | Continue(number, _):
                job = f"{number}.{at}"
                record, actions = step(record, HandingOver(number, job))
                assert sum(t.handed for t in record.trials) <= record.parallel
                if choose.random() < 0.2:  # it died between the two
                    todo = []
                    continue
                jobs[job] = "running"
                if isinstance(action, Submit):
                    submitted[number] = submitted.get(number, 0) + 1
            case End(number, job, _):
                jobs[job] = "cancelled" if jobs.get(job) == "running" else jobs.get(job, "cancelled")
                continue
            case Judge(number):
                record, actions = step(record, Judged(number, False))
        todo = list(actions)
    return record, submitted


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 12), st.integers(1, 4))
def test_however_the_driver_dies_each_trial_is_submitted_once_and_ends(
    seed: int, total: int, parallel: int
) -> None:
    record, submitted = run(sweep(total, parallel, pruner="asha"), random.Random(seed))
    assert record.state in SWEEP_ENDED
    assert [trial.number for trial in record.trials] == list(range(total))
    assert all(trial.state in TRIAL_ENDED for trial in record.trials)
    assert submitted == dict.fromkeys(range(total), 1)


# ---- early stopping


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_record_with_an_objective_that_is_no_number_can_be_read_again(value: float, tmp_path: Path) -> None:
    record, _ = through(sweep(), *begun(0, "a"), ended(0, 3.0, 2.0, 1.0), *begun(1, "b"))
    record, _ = step(record, Polled(1, "running", 1.0, reports=told(value, value, value)))
    assert record.trials[1].rungs, "the first trial has said where they are"
    assert record.trials[1].rungs[0].value is None
    folders.write(tmp_path, record)
    assert folders.read(tmp_path) == record


OLD = (Path(__file__).parents[1] / "golden" / "sweep_9fb5380.json").read_bytes()
"""A running sweep of a version whose trials' reasons were sentences."""


def test_a_sweep_of_a_version_whose_reasons_were_sentences_is_still_read(tmp_path: Path) -> None:
    (tmp_path / sweep_names.RECORD).write_bytes(OLD)
    record = folders.read(tmp_path)
    assert [t.reason for t in record.trials] == [
        None,
        Summary("", {}, "Rank 0, cell [2], line 3: ValueError: no"),
        Summary("", {}, "2 of 2 slots are taken."),
    ]
    assert (record.state, record.trials[0].rungs) == ("running", (Rung(3, 0.5),))
    folders.write(tmp_path, record)
    assert folders.read(tmp_path) == record


@pytest.fixture
def unreadable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The id of a sweep that runs, and that this version can't read."""
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))
    made = sweep_names.base() / "5eed00000001"
    made.mkdir()
    (made / sweep_names.RECORD).write_bytes(OLD.replace(b'"total":4', b'"total":"four"'))
    return made.name


@pytest.mark.parametrize("name", ["5eed00000001", "5eed0", "train"])
async def test_a_sweep_that_can_not_be_read_is_said_to_be(unreadable: str, name: str) -> None:
    ours = Sweeps(None)  # type: ignore[arg-type]
    with pytest.raises(WireMismatch, match=f"The sweep {unreadable} was written by another version"):
        await ours.sweep(name)
    with pytest.raises(NotFound):
        await ours.sweep("another")
    assert await ours.listing() == []
    (one,) = await ours.unreadable()
    assert (one.id, one.name, one.directory) == (unreadable, "train", str(sweep_names.base() / unreadable))
    assert one.directory in one.hint


async def test_a_damaged_record_is_said_to_be_damaged(unreadable: str) -> None:
    (sweep_names.base() / unreadable / sweep_names.RECORD).write_bytes(OLD[:99] + b"\xff")
    ours = Sweeps(None)  # type: ignore[arg-type]
    with pytest.raises(Unreachable, match=f"The record of the sweep {unreadable} is damaged: .* Restore /"):
        await ours.sweep(unreadable)
    (one,) = await ours.unreadable()
    assert (one.id, one.name) == (unreadable, "")


def test_the_terminal_lists_sweeps_that_can_not_be_read(unreadable: str) -> None:
    found = CliRunner().invoke(sweep_group, ["list", "--json"])
    assert (found.exit_code, found.stdout.strip()) == (0, "[]")
    assert found.stderr.startswith(f"train ({unreadable}) can't be shown: The sweep {unreadable} was written")


def test_a_name_is_taken_while_its_sweep_runs_whatever_version_wrote_it(unreadable: str) -> None:
    request = SweepRequest("train.ipynb", space={}, objective="loss", name="train")
    with pytest.raises(Conflict, match='A sweep "train" already exists'):
        check._name(request, Path("train.ipynb"))
    assert check._name(replace(request, name=None), Path("train.ipynb")) == "train-2"
    file = sweep_names.base() / unreadable / sweep_names.RECORD
    file.write_bytes(OLD.replace(b'"state":"running","reason":null,"trials"', b'"state":"stopped","trials"'))
    assert check._name(request, Path("train.ipynb")) == "train"


def test_the_page_has_words_for_each_reason() -> None:
    sources = Path(__file__).parents[3]
    codes = set(re.findall(r'Summary\("(\w+)"', (sources / "dtrain_lab/sweeps/reasons.py").read_text()))
    assert {"behind", "job_failed"} <= codes
    words = (sources / "src/job/list/sweeps.ts").read_text()
    assert codes | {"job_lost"} <= set(re.findall(r"case '(\w+)':", words))


@pytest.mark.parametrize("state", ["failed", "lost"])
def test_a_job_that_says_why_it_ended_says_it_for_its_trial(state: Any) -> None:
    why = Summary(f"job_{state}", {"why": "exit code 3.", "took": "5 s"}, "Failed after 5 s: exit code 3.")
    job = SimpleNamespace(state=state, error=None, reason=None, summary=why)
    assert reasons.of_job(job) == why  # type: ignore[arg-type]


def test_a_stop_that_takes_long_says_that_it_goes_on() -> None:
    info = shown(sweep(), "/sweeps/s1", 9.0)

    class Slow:
        async def stop(self, _: str) -> Info:
            return info

        async def wait(self, _: str, __: Any) -> Info:
            await asyncio.Event().wait()
            raise AssertionError

    portal = SimpleNamespace(sweeps=Slow(), call=asyncio.run)
    target = ApiSweep(portal, info)  # type: ignore[arg-type]
    with pytest.raises(TimeoutError, match=r"is stopping; its trials are still running after 0\.01 s"):
        target.stop(timeout=0.01)
    target.stop(wait=False)


def test_rungs_and_curves_are_few_points() -> None:
    assert rungs.first_rung(270) == 10
    assert rungs.first_rung(5) == 1
    course = told(*(1 / (n + 1) for n in range(271)))
    assert [r.step for r in rungs.at_rungs(course, 10)] == [10, 30, 90]
    assert [r.step for r in rungs.at_rungs(course[:40], 10)] == [10, 30]
    assert rungs.at_rungs(course[200:], 10, course[10:11])[0].step == 10, "what was reached stays"
    drawn = rungs.curve(course)
    assert len(drawn) == rungs.MOST_POINTS
    assert (drawn[0], drawn[-1]) == (course[0], course[-1])


def test_who_falls_behind_at_a_rung_is_ended_there_and_keeps_what_it_has() -> None:
    record, _ = through(sweep(9, 3, pruner="asha"), *begun(0, "a"), ended(0, *([1.0] * 28)))
    assert record.first_rung == 1
    record, _ = through(record, *begun(1, "b"), *begun(2, "c"))
    record, actions = step(record, Polled(1, "running", 1.0, reports=told(9.0, 9.0)))
    assert actions == (Judge(1),)
    assert study.falls_behind(record, 1)
    record, actions = step(record, Judged(1, True))
    assert actions[0] == End(1, "b", "prune")
    record, actions = step(record, Polled(2, "running", 1.0, reports=told(0.5, 0.5)))
    assert not study.falls_behind(record, 2)
    record, actions = step(record, Polled(2, "running", 1.0, reports=told(0.5, 0.5)))
    assert Judge(2) not in actions, "once at each rung"
    record, _ = step(record, Polled(1, "stopping", 1.0, checkpoint_step=1, reports=told(9.0, 9.0)))
    record, _ = step(record, Polled(1, "cancelled", 1.0, 2.0, checkpoint_step=1, reports=told(9.0, 9.0)))
    trial = record.trials[1]
    assert (trial.state, trial.checkpoint_step, trial.value) == ("pruned", 1, 9.0)
    assert trial.reason is not None
    assert trial.reason.text == "loss was 9 at step 1, not among the best third of 2 trials there."
    assert trial.reason.code == "behind"
    assert trial.reason.values == {"objective": "loss", "value": 9.0, "step": 1, "trials": 2}


def test_a_loss_that_is_no_number_falls_behind_and_the_other_direction_counts() -> None:
    done = TrialRecord(0, "succeeded", {"lr": 0.1}, 1.0, 27, rungs=(Rung(1, 1.0),))
    for direction, value, behind in (
        ("minimize", math.nan, True), ("minimize", 0.5, False), ("minimize", 2.0, True),
        ("maximize", 0.5, True), ("maximize", 2.0, False),
    ):  # fmt: skip
        other = TrialRecord(
            1, "running", {"lr": 0.2}, rungs=(Rung(1, None if math.isnan(value) else value),), handed=True
        )
        record = replace(sweep(pruner="asha", direction=direction), first_rung=1, trials=(done, other))
        assert study.falls_behind(record, 1) is behind, (direction, value)


# ---- what is tried next


def grown(record: SweepRecord, count: int) -> SweepRecord:
    for number in range(count):
        found = study.suggest(record)
        if found is None:
            break
        value = abs(math.log10(found["lr"]) + 3) if "lr" in found else float(number)
        trial = TrialRecord(number, "succeeded", found, value, 10)
        record = replace(record, trials=(*record.trials, trial))
    return record


@pytest.mark.parametrize("sampler", ["tpe", "random", "grid"])
def test_no_point_is_tried_twice_and_the_record_alone_decides(sampler: Any) -> None:
    made = sweep(space={"a": [1, 2, 3], "b": ["x", "y"], "c": "randint(0, 1)"}, sampler=sampler)
    record = grown(made, 20)
    points = [tuple(trial.parameters.values()) for trial in record.trials]
    assert len(points) == len(set(points)) == 12
    assert study.suggest(record) is None
    half = replace(record, trials=record.trials[:5])
    assert study.suggest(half) == record.trials[5].parameters, "after a restart, too"


def test_tpe_finds_better_values_than_it_began_with() -> None:
    record = grown(sweep(), 40)
    first = [trial.value or 0.0 for trial in record.trials[:10]]
    last = [trial.value or 0.0 for trial in record.trials[-10:]]
    assert sum(last) < sum(first) * 0.7


def test_trials_that_run_pruned_and_failed_ones_are_known_to_the_sampler() -> None:
    trials = (
        TrialRecord(0, "running", {"lr": 1e-3}, handed=True), TrialRecord(1, "pruned", {"lr": 1e-2}, 4.0, 3),
        TrialRecord(2, "failed", {"lr": 1e-1}), TrialRecord(3, "stopped", {"lr": 1e-4}),
    )  # fmt: skip
    found = study.suggest(replace(sweep(), trials=trials))
    assert found is not None
    assert 1e-5 <= found["lr"] <= 1e-1


def test_without_optuna_a_grid_works_and_the_rest_says_what_to_install(monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    assert study.suggest(sweep(sampler="grid", space={"a": [1, 2]})) == {"a": 1}
    with pytest.raises(EnvironmentUnfit, match=r'pip install "dtrain-lab\[sweep\]"') as error:
        study.suggest(sweep())
    assert error.value.code == "no_optuna"
