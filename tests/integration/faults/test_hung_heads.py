"""Heads that hang, next to clusters whose kernels end."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from dtrain_lab.machine import supervision
from dtrain_lab.server.live import Hub
from dtrain_lab.services.connection import head_records
from dtrain_lab.services.worlds.worlds import Worlds
from dtrain_lab.wire import clients
from dtrain_lab.wire.plan import Request

pytestmark = [pytest.mark.processes, pytest.mark.timeout(120)]


class NoJobs:
    """This user's jobs: none."""

    async def listing(self, most: int) -> list[Any]:
        return []


async def test_a_cluster_outlives_its_kernel_also_while_older_heads_hang(tmp_path: Path) -> None:
    """The server takes its lease within seconds of the start, not after the other heads' timeouts."""
    kernel, server = Worlds("kernel", server=os.getpid()), Worlds("server", server=os.getpid())
    jobs: Any = NoJobs()
    hub = Hub(server, jobs, 0.5, logging.getLogger("test"), str(tmp_path))
    stopped: list[int] = []
    try:
        for name in ("hangs", "hangs-too"):
            older = await kernel.begin(Request(ranks=1, name=name, python=sys.executable))
            os.kill(older.record.pid, signal.SIGSTOP)
            stopped.append(older.record.pid)
        mine = await kernel.begin(Request(ranks=1, name="mine", python=sys.executable))
        hub.start()
        async with asyncio.timeout(15):  # a head that hangs is given up after 30 s
            while mine.id not in server.held or not hub.clusters():
                await asyncio.sleep(0.02)
        assert not server.held & {r.id for r in head_records.living() if r.pid in stopped}
        await mine.ask(clients.Release(kernel.lease))  # as a kernel that ends
        there = await (await server.reach(mine.record)).ask(clients.Info())
        assert there.state not in ("stopping", "stopped")
    finally:
        hub.stop()
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
        for record in server.running():
            await server.stop(await server.reach(record))
        kernel.close()
        server.close()
        await supervision.here().close()
