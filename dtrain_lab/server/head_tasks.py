"""Work for several heads at once: one that hangs delays nothing but its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, NamedTuple

from dtrain_lab.machine import supervision


class Running(NamedTuple):
    """Work for a head, and a future that is done when it has ended."""

    task: supervision.BackgroundTask
    over: asyncio.Future[None]


class HeadTasks:
    """One kind of work, for each head at most once at a time.

    What escapes from it is logged and counted by the supervisor; the work for the other heads goes on.
    """

    def __init__(self) -> None:
        self._running: dict[str, Running] = {}
        self._slow: set[str] = set()
        """Heads that have not answered in time, and for which nobody waits again."""

    def begin(self, identity: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Begin the work for a head, unless it still runs.

        Args:
            identity: Id of its cluster.
            work: The work.
        """
        if identity in self._running:
            return
        task = supervision.here().once("server.head", work())
        self._running[identity] = Running(task, asyncio.get_running_loop().create_future())
        task.ended.append(partial(self._ended, identity))

    async def answered(self, within_s: float) -> None:
        """Wait for the heads that answer in time; for one that does not, only the first caller waits.

        Args:
            within_s: Timeout in seconds.
        """
        waited = {identity: run.over for identity, run in self._running.items() if identity not in self._slow}
        if waited:
            await asyncio.wait(waited.values(), timeout=within_s)
            self._slow.update(identity for identity, over in waited.items() if not over.done())

    def cancel(self) -> None:
        """Cancel all work."""
        for run in self._running.values():
            run.task.cancel()

    def _ended(self, identity: str) -> None:
        self._slow.discard(identity)
        self._running.pop(identity).over.set_result(None)
