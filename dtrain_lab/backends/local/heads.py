"""The head of a cluster on this machine: a process that gets its settings on standard input."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Mapping
from pathlib import Path

import msgspec

from dtrain_lab.backends.local import processes as own
from dtrain_lab.backends.local.environment import variables
from dtrain_lab.machine import processes
from dtrain_lab.wire.processes.head_record import Handle
from dtrain_lab.wire.processes.submission import ClusterRecord
from dtrain_lab.wire.status import Status

ENDED_WITHIN_S = 5.0
"""Time that a killed head has to be gone."""
MARK = "handle"
"""File in a head's folder that contains its handle."""


class HeadProcess:
    """The process of a cluster's head. Implements `backends.processes.Processes`.

    Args:
        cluster: Record of the cluster; with its head's settings, to start it.
    """

    def __init__(self, cluster: ClusterRecord) -> None:
        self._cluster = cluster

    async def start(self, files: Mapping[str, bytes]) -> Handle:
        """Start the head in its folder, which exists.

        Raises:
            EnvironmentUnfit: The interpreter can't be run.
        """
        return await asyncio.to_thread(self._start)

    async def status(self) -> Status:
        """Return whether the same process still runs."""
        assert self._cluster.handle is not None
        return Status("running" if own.process(self._cluster.handle) is not None else "ended")

    async def find(self) -> Handle | None:
        """Find the head by the mark in its folder."""
        folder = Path(self._cluster.directory)
        if not (folder / MARK).exists():
            return None
        pid, started = (folder / MARK).read_text().split()
        handle = Handle(self._cluster.id, socket.gethostname(), int(pid), float(started), str(folder))
        return handle if own.process(handle) is not None else None

    async def cancel(self) -> None:
        """Send SIGTERM to the head, which ends its world."""
        assert self._cluster.handle is not None
        process = own.process(self._cluster.handle)
        if process is not None:
            process.send_signal(signal.SIGTERM)

    def _start(self) -> Handle:
        cluster = self._cluster
        pid = own.start(
            # -P: files in the working directory must not shadow dtrain-lab's modules
            [cluster.plan.python, "-P", "-m", "dtrain_lab.head"],
            log=Path(cluster.directory, "head.log"),
            cwd="/",
            env=variables(cluster.profile.environment),
            stdin=msgspec.json.encode(cluster.settings),
        )
        handle = own.handle(cluster.id, pid, cluster.directory)
        try:
            Path(cluster.directory, MARK).write_text(f"{handle.pid} {handle.started}")
        except OSError:  # nobody would find it
            own.kill(handle)
            processes.gone(handle.pid, handle.started, ENDED_WITHIN_S)
            raise
        return handle
