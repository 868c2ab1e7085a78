"""The Jupyter server's leases, by which its kernels' clusters outlive their kernels."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from functools import partial
from typing import Any

import psutil

from dtrain_lab.errors import DtrainError
from dtrain_lab.machine import processes
from dtrain_lab.server.head_tasks import HeadTasks
from dtrain_lab.services.connection import head_records
from dtrain_lab.services.worlds.worlds import Worlds
from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.wire.processes.head_record import HeadRecord


class ClusterLeases:
    """Takes and renews leases on clusters, all at once.

    A lease lasts as long as this server, but a new cluster has it only once its head has been asked: until
    then, it ends with its kernel. A head that hangs must not delay that.

    Args:
        worlds: The server's worlds.
        log: The extension's logger.
        seen: Called with the state in which a head has answered, also while no page is open.
    """

    def __init__(self, worlds: Worlds, log: Any, seen: Callable[[Cluster], None]) -> None:
        self._worlds = worlds
        self._log = log
        self._seen = seen
        self._tasks = HeadTasks()
        self._last_error: dict[str, str] = {}
        """Cluster → last log message about it, so that it is not repeated every second."""

    async def renew(self) -> list[HeadRecord]:
        """Begin to take or renew the lease on each of this server's clusters; returns their records."""
        found = await asyncio.to_thread(ours)
        for record in found:
            self._tasks.begin(record.id, partial(self._renew, record))
        return found

    def stop(self) -> None:
        """Take no more leases: one that comes after its release would keep the cluster."""
        self._tasks.cancel()

    async def _renew(self, record: HeadRecord) -> None:
        try:
            connection = await self._worlds.reach(record)
            cluster = await self._worlds.take_lease(connection)
            if not connection.closed:  # its end would not be noted any more
                self._seen(cluster)
            self._last_error.pop(record.id, None)
        except DtrainError as error:
            if self._last_error.get(record.id) != str(error):
                self._last_error[record.id] = str(error)
                self._log.warning("dtrain-lab: %s", error)


def ours() -> list[HeadRecord]:
    """Return clusters that this server's clients started, and those whose server is gone."""
    mine = os.getpid()
    there = [(r, r.server) for r in head_records.living() if not r.warm and r.server is not None]
    return [r for r, server in there if server == mine or _is_gone(server, r.server_started)]


def _is_gone(server: int, began: float) -> bool:
    """Return whether a server has ended.

    Args:
        server: Its pid.
        began: When it started; 0 if that is not known. Any living process with its pid is then taken for the
            server: a lease on a living server's cluster would keep the cluster beyond that server's end.
    """
    try:
        ended = psutil.Process(server).status() == psutil.STATUS_ZOMBIE
        return ended or (bool(began) and abs(processes.started(server) - began) >= processes.APART_S)
    except psutil.NoSuchProcess:
        return True
