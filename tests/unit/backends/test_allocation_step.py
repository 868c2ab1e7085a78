"""A step of an allocation is ended by its pid and its start time, as every process is."""

from __future__ import annotations

import asyncio
import signal
import subprocess
from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from dtrain_lab.backends.hosts.local_transport import LocalTransport
from dtrain_lab.backends.slurm import allocation
from dtrain_lab.machine import processes
from dtrain_lab.wire.plan import NodePlan, Plan
from dtrain_lab.wire.processes.head_record import Handle
from dtrain_lab.wire.processes.submission import ClusterRecord
from dtrain_lab.wire.profile import Profile

PLAN = Plan("s", "slurm", (NodePlan("a", "", 0, 1, 0, 1),), "", {}, "", "gloo", monitor=True)


@pytest.fixture
def step() -> Iterator[subprocess.Popen[bytes]]:
    made = subprocess.Popen(["sleep", "60"], start_new_session=True)
    yield made
    made.kill()
    made.wait()


def test_a_step_is_ended_and_nobody_who_has_its_pid(step: subprocess.Popen[bytes]) -> None:
    handle = Handle("c", "here", step.pid, processes.started(step.pid), system=processes.system())
    cluster = ClusterRecord("c", "c", Profile(), PLAN, handle=handle)
    for other in (
        replace(handle, started=handle.started - 2),
        replace(handle, system="another boot pid:[1]"),
        replace(handle, started=0.0, system=""),
    ):
        asyncio.run(allocation.end(replace(cluster, handle=other), LocalTransport()))
        assert step.poll() is None, other
    asyncio.run(allocation.end(cluster, LocalTransport()))
    assert step.wait(5) == -signal.SIGTERM
