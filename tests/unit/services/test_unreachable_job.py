"""A look at a job whose host says nothing: nobody waits for it who has seen the job before."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dtrain_lab.backends.base import Backend, Place
from dtrain_lab.errors import Unreachable
from dtrain_lab.jobs.judgement import NOT_ASKED
from dtrain_lab.machine import processes
from dtrain_lab.services.index.store import JobIndex
from dtrain_lab.services.jobs import folder_reads, jobs
from dtrain_lab.services.jobs import status as job_status
from dtrain_lab.services.policy import backends
from dtrain_lab.wire.cluster import Reason
from dtrain_lab.wire.jobs.folder import HeadEnd
from dtrain_lab.wire.processes.endpoints import Endpoints, Keys
from dtrain_lab.wire.status import Status
from dtrain_lab.wire.traits import Traits
from tests.unit.jobs.records import RECORD


class SilentHost:
    """A host that answers once it is let."""

    traits = Traits()
    time_limit_s, requeues = Backend.time_limit_s, Backend.requeues
    hosts, options, section = Backend.hosts, Backend.options, Backend.section

    def __init__(self) -> None:
        self.speaks = asyncio.Event()
        self.asked = 0
        self.cancelled = 0
        self.gone: Unreachable | None = None

    async def status(self, record: Any) -> Status:
        self.asked += 1
        await self.speaks.wait()
        return Status("running")

    async def cancel(self, record: Any) -> None:
        self.cancelled += 1

    def files(self, record: Any) -> list[Place]:
        return [Place(self, (0,))]  # type: ignore[arg-type]

    async def read_matching(self, *_: Any) -> dict[str, bytes]:
        if self.gone is not None:
            raise self.gone
        return {"started": f"{time.time() - 90}".encode()}  # and its head has said nothing yet
        return {"started": f"{time.time()}".encode()}

    async def clock_offset_s(self) -> float:
        return 0.0


def test_nobody_waits_for_a_silent_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        host = SilentHost()
        monkeypatch.setattr(backends, "backend", lambda _: host)
        monkeypatch.setattr(job_status, "LOOK_WITHIN_S", 0.01)
        monkeypatch.setattr(job_status, "FAR_S", 0.0)
        store = JobIndex(tmp_path / "jobs.sqlite")
        store.put(RECORD)
        ours = jobs.Jobs(store)
        first = asyncio.create_task(ours.job(RECORD.id))
        while not host.asked:
            await asyncio.sleep(0)
        host.speaks.set()
        seen = await first
        assert (seen.state, seen.reason) == ("running", None)
        host.speaks.clear()
        for _ in range(3):
            assert (await ours.job(RECORD.id)) == msgspec.structs.replace(seen, reason=NOT_ASKED)
            assert [job.state for job in await ours.listing()] == ["running"]
            monkeypatch.setattr(job_status, "LOOK_WITHIN_S", 3600.0)  # the first call alone waits
        assert host.asked == 2, "one look at a time"
        # what was asked of it anew is not the answer to a question of before
        store.put(msgspec.structs.replace(RECORD, cancelled_at=200.0))
        stopping = asyncio.create_task(ours.job(RECORD.id))
        while host.asked < 3:
            await asyncio.sleep(0)
        host.speaks.set()
        assert (await stopping).state in ("running", "stopping")
        while (await ours.job(RECORD.id)).state != "stopping":
            await asyncio.sleep(0)  # a host that was silent is waited for by nobody
        assert host.cancelled, "whoever cancelled it may not have reached it"
        # nor does one that is gone hide what was seen
        host.gone = Unreachable("node1 can't be reached.", "Is it on?")
        last = await ours.job(RECORD.id)
        assert last.state == "stopping"
        assert last.reason == Reason("not_asked", "node1 can't be reached.", "Is it on?")
        never_seen = msgspec.structs.replace(RECORD, id="unseen", directory="/unseen")
        store.put(never_seen)
        with pytest.raises(Unreachable, match="can't be reached"):
            await ours.job("unseen")

    asyncio.run(main())


def test_a_head_that_was_killed_leaves_its_endpoints(tmp_path: Path) -> None:
    (tmp_path / "head.log").touch()
    (tmp_path / "values.jsonl").write_text(
        '{"step": 1, "values": {"loss": 2.0}}\n{"step": 2, "values": {"a": 1}}\n'
    )
    assert folder_reads.head_end(tmp_path) is None  # it has not begun
    keys = Keys("s", "c", "p")
    here = Endpoints("j", "h", "python", os.getpid(), processes.started(), "d", (), (), keys)
    file = tmp_path / "endpoints.json"
    file.write_bytes(msgspec.json.encode(here))
    assert folder_reads.head_end(tmp_path) is None
    # another process has its pid
    file.write_bytes(msgspec.json.encode(msgspec.structs.replace(here, started=here.started - 100)))
    assert folder_reads.head_end(tmp_path) == HeadEnd(False, {"loss": 2.0, "a": 1}, 2)
    (tmp_path / "head.log").write_text("Traceback")
    assert folder_reads.head_end(tmp_path) == HeadEnd(True, {"loss": 2.0, "a": 1}, 2)
