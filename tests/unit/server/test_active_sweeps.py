"""Which sweeps are active, as frames of the live connection tell."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from dtrain_lab.machine import supervision
from dtrain_lab.server.live import Hub
from dtrain_lab.services.index import sweep_names
from dtrain_lab.services.sweeps import folder as folders
from dtrain_lab.services.sweeps.sweeps import Sweeps
from dtrain_lab.wire.sweeps import SweepRecord, SweepState
from tests.unit.sweeps.studies import sweep


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user without sweeps."""
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path))


def write(identity: str, state: SweepState) -> SweepRecord:
    """Write the record of a sweep without jobs."""
    folder = sweep_names.base() / identity
    folder.mkdir(exist_ok=True)
    record = replace(sweep(), id=identity, state=state)
    folders.write(folder, record)
    return record


async def test_frames_tell_of_a_sweep_from_its_start_to_its_end_also_while_it_has_no_job() -> None:
    async def listing(most: int) -> list[Any]:
        return []

    worlds: Any = SimpleNamespace(running=list)
    jobs: Any = SimpleNamespace(listing=listing)
    hub = Hub(worlds, jobs, 1.0, None, "/")
    viewer = asyncio.Event()
    hub._viewers.add(viewer)
    write("ended", "succeeded")
    told = []
    states: tuple[SweepState, ...] = ("running", "stopping", "stopped", "running")
    for state in states:
        write("s", state)
        viewer.clear()
        await hub._poll_jobs_once()
        assert viewer.is_set()  # pages are told at once
        told.append(msgspec.json.decode(hub.frame(1, acts=True, columns=True))["sweeps"])
    assert told == [{"s": "running"}, {"s": "stopping"}, {}, {"s": "running"}]
    await supervision.here().close()


async def test_only_active_sweeps_are_listed_for_who_asks_for_them() -> None:
    sweeps = Sweeps(None)  # type: ignore[arg-type]
    for identity, state in (("a", "running"), ("b", "failed"), ("c", "stopping")):
        write(identity, state)  # type: ignore[arg-type]
    damaged = sweep_names.base() / "d"
    damaged.mkdir()
    (damaged / sweep_names.RECORD).write_bytes(b'{"state": "paused by a later version"}')
    assert {one.id for one in await sweeps.listing(active=True)} == {"a", "c"}
    assert {one.id for one in await sweeps.listing()} == {"a", "b", "c"}
    assert sweep_names.active() == {"a": "running", "c": "stopping"}
