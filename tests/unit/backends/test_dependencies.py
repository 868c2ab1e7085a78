"""A job that waits for another's success: it does, or it is refused in words."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from dtrain_lab.errors import Conflict
from dtrain_lab.jobs.state import job
from dtrain_lab.services.jobs import dependencies
from dtrain_lab.services.policy import backends
from dtrain_lab.wire.jobs.folder import FolderState
from dtrain_lab.wire.jobs.job import JobRecord
from dtrain_lab.wire.processes.head_record import Handle
from dtrain_lab.wire.profile import Profile, Ssh
from dtrain_lab.wire.status import Status
from dtrain_lab.wire.traits import Traits
from tests.unit.jobs.records import RECORD

HERE, THERE = Profile(backend="slurm", ssh=Ssh(login="one")), Profile(backend="slurm", ssh=Ssh(login="two"))


class Queue:
    """The scheduler of one login node."""

    traits = Traits(schedules=True)

    async def find(self, record: JobRecord) -> Handle | None:
        return Handle(record.id, "one", job="77") if record.profile.ssh.login == "one" else None


def on(backend: Any, **more: Any) -> JobRecord:
    return replace(RECORD, plan=replace(RECORD.plan, backend=backend), **more)


def waits(record: JobRecord, first: JobRecord, state: Any = "running") -> str | None:
    seen = replace(job(first, FolderState(), Status("running"), 200.0), state=state)
    backend = backends.backend(record.plan.backend)
    return asyncio.run(dependencies.resolve(record, seen, first, backend)).request.after


def test_slurm_is_asked_for_the_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "backend", lambda _: Queue())
    first = on("slurm", profile=HERE, handle=None)  # it is in the queue, and its number was not noted yet
    assert waits(on("slurm", profile=HERE), first, "planned") == "77"
    with pytest.raises(Conflict) as refused:  # its number would be another job's there
        waits(on("slurm", profile=THERE), replace(first, handle=Handle("x", "one", job="77")))
    assert "has no such job in its queue" in refused.value.hint


def test_local_jobs_of_two_workdirs_wait_for_each_other() -> None:
    assert waits(on("local"), on("local", directory="/elsewhere/jobs/a")) == "/elsewhere/jobs/a"
    with pytest.raises(Conflict, match="don't run in the same queue"):
        waits(on("local"), on("local", host="far"))


def test_what_will_not_succeed_is_not_waited_for() -> None:
    assert waits(on("slurm"), on("slurm"), "succeeded") is None
    for state in ("failed", "cancelled", "lost"):
        with pytest.raises(Conflict, match=f'"n" has not succeeded \\({state}\\)'):
            waits(on("local"), on("local"), state)
    with pytest.raises(Conflict, match="don't run in the same queue"):
        waits(on("local"), on("ssh"))
