"""The line of `Job.wait`: how far the job is, with the last values that it has logged."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from dtrain_lab.api import prompts
from dtrain_lab.api.job import Job
from dtrain_lab.text.job_facts import progress
from dtrain_lab.wire.jobs.job import Job as Info
from dtrain_lab.wire.metrics.world import Metrics
from dtrain_lab.wire.summary import Summary
from tests.unit.jobs.records import FAILED

NOW = 1_000.0
QUEUED = replace(
    FAILED,
    name="train",
    state="queued",
    summary=Summary("job_queued", {}, "Waiting to start."),
    started_at=None,
    ended_at=None,
)
RUNS = replace(
    QUEUED,
    state="running",
    summary=Summary("job_running", {}, "Running on 2 ranks."),
    started_at=NOW - 12.4,
)
TRAINS = replace(RUNS, metrics=Metrics(values={"step": 1200, "loss": 0.51234567}))
DONE = replace(
    TRAINS, state="succeeded", summary=Summary("job_succeeded", {}, "Done after 14 s."), ended_at=NOW + 2
)


@pytest.mark.parametrize(
    ("job", "said"),
    [
        (QUEUED, "train: Waiting to start."),
        (RUNS, "train: Running on 2 ranks. So far: 12 s."),
        (TRAINS, "train: Running on 2 ranks. So far: 12 s, step 1,200, loss 0.5123."),
        (DONE, "train: Done after 14 s. Last: step 1,200, loss 0.5123."),
    ],
)
def test_progress_has_the_state_and_what_was_logged_last(job: Info, said: str) -> None:
    assert progress(job, NOW) == said


def test_progress_stays_one_line_where_much_is_logged() -> None:
    many = replace(RUNS, metrics=Metrics(values={f"value_{i}": i for i in range(9)}))
    assert progress(many, NOW).endswith("12 s, value_0 0, value_1 1, value_2 2.")


def api_job(*states: Info) -> Job:
    """A job that is seen in these states, one after the other."""

    async def wait(_: str, on_state: Any) -> Info:
        for state in states:
            if on_state is not None:
                on_state(state)
        return states[-1]

    return Job(SimpleNamespace(jobs=SimpleNamespace(wait=wait), call=asyncio.run), states[0])  # type: ignore[arg-type]


def test_waiting_moves_one_line_on_in_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str] = []

    def update(data: dict[str, str], *, raw: bool) -> None:
        texts.append(data["text/plain"])

    def display(data: dict[str, str], **_: Any) -> SimpleNamespace:
        texts.append(data["text/plain"])
        return SimpleNamespace(update=update)

    monkeypatch.setattr(prompts, "kernel", lambda: object())
    monkeypatch.setattr("IPython.display.display", display)
    monkeypatch.setattr("dtrain_lab.api.job.time.time", lambda: NOW)
    job = api_job(QUEUED, TRAINS, DONE)
    assert job.wait() == "succeeded"
    hint = "See its log and metrics live in the Distributed panel, under Jobs."
    begins, trains, ends = (progress(state, NOW) for state in (QUEUED, TRAINS, DONE))
    assert texts == [f"{begins}\n{hint}", f"{trains}\n{hint}", f"{ends}\n{hint}", ends]
    seen: list[Info] = []
    assert job.wait(on_change=seen.append) == "succeeded"
    assert (len(seen), len(texts)) == (3, 4), "who is told of each state shows it"


def test_waiting_writes_nothing_into_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert api_job(QUEUED, DONE).wait() == "succeeded"
    assert capsys.readouterr() == ("", "")
