"""Which clusters a Jupyter server takes a lease on: its own, and those whose server has ended."""

from __future__ import annotations

import asyncio
import os
import socket
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dtrain_lab.machine import processes, supervision
from dtrain_lab.server import cluster_leases
from dtrain_lab.server.live import Hub
from dtrain_lab.services.connection import head_records
from dtrain_lab.wire import VERSION
from dtrain_lab.wire.processes.head_record import HeadRecord

PARENT = os.getppid()
"""Stands for another Jupyter server that lives; the head of its cluster is this process."""


@pytest.mark.parametrize(
    ("server", "head_started", "fields", "ours"),
    [
        pytest.param(os.getpid(), None, {}, True, id="its own"),
        pytest.param(
            PARENT, 0.5, {"server_started": processes.began_at(PARENT)}, False, id="of another server"
        ),
        pytest.param(PARENT, 0.5, {}, False, id="of an older version, whose server may live"),
        pytest.param(
            PARENT, None, {"server_started": 0.5}, True, id="of an ended server, whose pid is reused"
        ),
        pytest.param((1 << 22) + 1, None, {"server_started": 1.0}, True, id="of an ended server"),
        pytest.param((1 << 22) + 1, None, {}, True, id="of an older version, whose server has ended"),
        pytest.param(None, None, {}, False, id="of a terminal"),
    ],
)
def test_a_server_leaves_living_servers_their_clusters(
    server: int | None,
    head_started: float | None,
    fields: dict[str, Any],
    ours: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A head may be older than its world's server: it was kept warm by another one."""
    started = processes.started() if head_started is None else head_started
    record = HeadRecord(
        "w",
        "w",
        str(tmp_path),
        0.0,
        VERSION,
        socket.gethostname(),
        os.getpid(),
        started,
        server=server,
        **fields,
    )
    monkeypatch.setattr(head_records, "living", lambda: [record])
    assert bool(cluster_leases.ours()) is ours


async def test_a_renewal_of_leases_lists_no_jobs_which_have_a_poll_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    listed = []

    async def listing(most: int) -> list[Any]:
        listed.append(most)
        return []

    monkeypatch.setattr(head_records, "living", list)
    worlds: Any = SimpleNamespace(running=list)
    jobs: Any = SimpleNamespace(listing=listing)
    hub = Hub(worlds, jobs, 1.0, None, "/")
    hub._viewers.add(asyncio.Event())
    await hub._renew_leases()
    assert listed == []
    await hub.refresh()
    assert len(listed) == 1
    await supervision.here().close()
