"""Bridges: a local end that could not be opened once can be opened later."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

import pytest
from msgspec.structs import replace

from dtrain_lab.backends.slurm.routes import Routes
from dtrain_lab.wire.processes.endpoints import Endpoints, Keys
from dtrain_lab.wire.processes.head_record import Handle
from dtrain_lab.wire.processes.submission import ClusterRecord
from dtrain_lab.wire.profile import Profile
from tests.fakes.head import plan

ENDPOINTS = Endpoints("c", "node1", "python", 1, 0.0, "/d", (), (), Keys("", "", ""))


@pytest.mark.asyncio
async def test_a_failure_to_open_a_bridge_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = ClusterRecord(
        "c", "mine", Profile(backend="slurm"), plan(1, 1), "/d", Handle("c", "h", job="7")
    )
    routes, full = Routes(), tmp_path / "full"
    monkeypatch.setattr(tempfile, "tempdir", str(full))
    for _ in range(2):
        with pytest.raises(FileNotFoundError):
            await routes.to_client(cluster, ENDPOINTS)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / ("x" * 100)))  # too long for a socket
    Path(tempfile.tempdir or "").mkdir()
    with pytest.raises(OSError, match="path too long"):
        await routes.to_client(cluster, ENDPOINTS)
    assert list(Path(tempfile.tempdir or "").iterdir()) == []
    full.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(full))
    found = await asyncio.gather(*(routes.to_client(cluster, replace(ENDPOINTS)) for _ in range(2)))
    assert {way.url for way in found} == {f"ipc://{next(full.iterdir())}/socket"}
    assert len(list(full.iterdir())) == 1
