"""A step of an allocation is known by its pid, its start and its system, as every process is."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from dtrain_lab.backends.hosts.base import Done
from dtrain_lab.backends.hosts.local_transport import LocalTransport
from dtrain_lab.backends.slurm import allocation
from dtrain_lab.backends.slurm.queue import Queue
from dtrain_lab.errors import Unreachable
from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.machine import processes
from dtrain_lab.wire.plan import NodePlan, Plan
from dtrain_lab.wire.processes.endpoints import Endpoints, Keys
from dtrain_lab.wire.processes.head_record import Handle
from dtrain_lab.wire.processes.submission import ClusterRecord
from dtrain_lab.wire.profile import Profile, Slurm
from tests.waiting import wait_until

PLAN = Plan("s", "slurm", (NodePlan("a", "", 0, 1, 0, 1),), "", {}, "", "gloo", monitor=True)
PROFILE = Profile(backend="slurm", slurm=Slurm(allocation="7"))
RUNS, OVER = b"7|RUNNING|None|N/A|a|salloc\n", b"7|COMPLETED|None|N/A|a|salloc\n"


class Scheduler:
    """Answers as `squeue` does of the allocation."""

    def __init__(self, listed: bytes) -> None:
        self._listed = listed

    async def run(self, command: Sequence[str], stdin: bytes = b"", within_s: float = 60.0) -> Done:
        return Done(0, self._listed, "")


class Commands(LocalTransport):
    """Those of this machine, but the scheduler's. `steps`: what `squeue` lists in turn."""

    def __init__(self, *steps: bytes) -> None:
        self._steps = list(steps) or [b""]
        self.cancelled: list[str] = []
        self.scancel = Done(0, b"", "")

    async def run(self, command: Sequence[str], stdin: bytes = b"", within_s: float = 60.0) -> Done:
        if command[0] == "squeue":
            return Done(0, self._steps.pop(0) if len(self._steps) > 1 else self._steps[0], "")
        if command[0] == "scancel":
            self.cancelled += command[1:]
            return self.scancel
        return await super().run(command, stdin, within_s)


def of(
    cluster: ClusterRecord, listed: bytes = RUNS, commands: LocalTransport | None = None
) -> allocation.Step:
    scheduler: Any = Scheduler(listed)
    return allocation.Step(cluster, commands or Commands(), Queue(scheduler, lambda: 30.0))


def fate(cluster: ClusterRecord, listed: bytes = RUNS) -> str:
    return asyncio.run(of(cluster, listed).status()).fate


@pytest.fixture
def step() -> Iterator[subprocess.Popen[bytes]]:
    made = subprocess.Popen(["sleep", "60"], start_new_session=True)
    yield made
    made.kill()
    made.wait()


@pytest.fixture
def cluster(step: subprocess.Popen[bytes]) -> ClusterRecord:
    handle = Handle("c", "here", step.pid, processes.started(step.pid), job="7", system=processes.system())
    return ClusterRecord("c", "mine", PROFILE, PLAN, handle=handle)


def test_a_step_is_ended_and_nobody_who_has_its_pid(
    step: subprocess.Popen[bytes], cluster: ClusterRecord
) -> None:
    handle = cluster.handle
    assert handle is not None
    for other in (replace(handle, started=handle.started - 2), replace(handle, started=0.0, system="")):
        ended = replace(cluster, handle=other)
        assert fate(ended) == "ended", "the allocation goes on, and its job says nothing about the cluster"
        asyncio.run(of(ended).cancel())
        assert step.poll() is None, other
    assert fate(cluster) == "running"
    asyncio.run(of(cluster).cancel())
    wait_until(lambda: fate(cluster) == "ended", 20, "its end, also before its parent has reaped it")
    assert step.wait(5) == -signal.SIGTERM
    assert fate(cluster) == "ended"


ELSEWHERE = "another boot pid:[1]"


def test_a_step_that_another_machine_has_started_is_ended_by_slurm(
    step: subprocess.Popen[bytes], cluster: ClusterRecord
) -> None:
    assert cluster.handle is not None
    other = replace(cluster, handle=replace(cluster.handle, system=ELSEWHERE))
    commands = Commands(b"7.1|dtl:c\n7.2|dtl:other\n")
    assert asyncio.run(of(other, commands=commands).status()).fate == "running"
    asyncio.run(of(other, commands=commands).cancel())
    assert commands.cancelled == ["7.1"]
    assert step.poll() is None, "another process here has its pid"
    late = Commands(b"", b"7.1|dtl:c\n")
    asyncio.run(of(other, commands=late).cancel())
    assert late.cancelled == ["7.1"], "its step began as it was stopped"
    endpoints = Endpoints("c", "a", "python", 1, 0.0, "/d", ("tcp://l",), ("tcp://c",), Keys("", "", ""))
    listened = replace(other, handle=replace(cluster.handle, system=ELSEWHERE, endpoints=endpoints))
    assert fate(listened) == "ended", "its step had begun, and Slurm has none"
    asyncio.run(of(listened).cancel())


def test_of_a_step_elsewhere_that_slurm_does_not_list_only_the_end_of_its_allocation_is_known(
    step: subprocess.Popen[bytes], cluster: ClusterRecord
) -> None:
    assert cluster.handle is not None
    other = replace(cluster, handle=replace(cluster.handle, system=ELSEWHERE))
    assert (fate(other, OVER), fate(other, b"")) == ("ended", "ended")
    asyncio.run(of(other, OVER).cancel())
    for work in (of(other).status(), of(other).cancel()):
        with pytest.raises(Unreachable, match="was started on here, and can't be checked from here"):
            asyncio.run(work)
    assert step.poll() is None


def test_a_step_that_can_t_be_ended_is_told(step: subprocess.Popen[bytes], cluster: ClusterRecord) -> None:
    class Refusing(Commands):
        """Its shell may not end the process."""

        async def run(self, command: Sequence[str], stdin: bytes = b"", within_s: float = 60.0) -> Done:
            forbids = "kill() { echo 'Operation not permitted' >&2; return 1; };"
            given = [*command[:2], forbids + command[2], *command[3:]] if command[0] == "bash" else command
            return await super().run(given, stdin, within_s)

    with pytest.raises(Unreachable, match="The step of mine was not ended: Operation not permitted"):
        asyncio.run(of(cluster, commands=Refusing()).cancel())
    assert step.poll() is None


@pytest.mark.parametrize("left", [b"", b"7.2|dtl:c\n"])
def test_the_steps_of_its_agents_end_with_it(cluster: ClusterRecord, left: bytes) -> None:
    assert cluster.handle is not None
    ended = replace(cluster, handle=replace(cluster.handle, started=cluster.handle.started - 2))
    commands = Commands(b"7.batch|batch\n7.1|dtl:c\n7.2|dtl:c\n7.3|dtl:other\n", left)
    commands.scancel = Done(1, b"", "scancel: error: Kill job error on job step id 7.2: Job is busy")
    if left:
        with pytest.raises(Unreachable, match=r"Slurm did not cancel 7\.2: .*busy"):
            asyncio.run(of(ended, commands=commands).cancel())
    else:
        asyncio.run(of(ended, commands=commands).cancel())
    assert commands.cancelled == ["7.1", "7.2"]


def test_a_step_is_found_by_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "srun").write_text('#!/bin/bash\necho $$ > "${@: -1}.srun"\nexec sleep 60\n')
    (tmp_path / "srun").chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    folder = tmp_path / "c"
    made = ClusterRecord("c", "mine", PROFILE, PLAN, str(folder))
    script = folder / job_files.BATCH

    async def start() -> tuple[Handle, Handle | None]:
        handle = await of(made).start({job_files.BATCH: b""})
        return handle, await of(made).find()

    handle, found = asyncio.run(start())
    try:
        wait_until(lambda: Path(f"{script}.srun").exists() and Path(f"{script}.srun").read_text(), 20, "srun")
        assert int(Path(f"{script}.srun").read_text()) == handle.pid
        assert found == handle
        assert (handle.job, handle.system) == ("7", processes.system())
        assert fate(replace(made, handle=handle)) == "running"
    finally:
        asyncio.run(of(made).cancel())  # without a handle, as of a client that was killed
    wait_until(lambda: fate(replace(made, handle=handle)) == "ended", 20, "its end")
    assert asyncio.run(of(made).find()) is None
