"""The Python interface of a cluster: `Cluster`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Any

from dtrain_lab.api.cluster.cells import Cells
from dtrain_lab.api.cluster.variables import Variables
from dtrain_lab.api.debug import Debugger
from dtrain_lab.api.measurements import Measurements
from dtrain_lab.cells import rank_sets, stacks
from dtrain_lab.errors import BadSize, Unreachable
from dtrain_lab.services.worlds import recovery
from dtrain_lab.text import rank_names
from dtrain_lab.wire import clients
from dtrain_lab.wire.cluster import Cluster as ClusterInfo
from dtrain_lab.wire.codec.encode import as_json
from dtrain_lab.wire.stacks import Stack


class Cluster(Cells, Variables, Measurements):
    """Ranks that form one `torch.distributed` process group.

    As a context manager, the cluster is stopped at the end of the block:

        with dt.start(ranks=2) as cluster:
            cluster.run("print(rank)")
    """

    @property
    def state(self) -> str:
        """State of the cluster: "ready", "degraded", …; "stopped" once the head is gone."""
        try:
            return self.snapshot().state
        except Unreachable:
            return "stopped"

    def info(self) -> dict[str, Any]:
        """Return the cluster's complete state as a dict, as REST and `--json` report it."""
        return as_json(self.snapshot())

    async def info_async(self) -> dict[str, Any]:
        """Async twin of `info`."""
        return as_json(await self._portal.wrap(self.ask(clients.Info())))

    def interrupt(self, ranks: rank_sets.Asked = None) -> None:
        """Interrupt running cells; variables are kept, and a broken process group is restored."""
        self._portal.call(self._interrupt(ranks))

    async def interrupt_async(self, ranks: rank_sets.Asked = None) -> None:
        """Async twin of `interrupt`."""
        await self._portal.wrap(self._interrupt(ranks))

    def restart(self, ranks: rank_sets.Asked = None, source: int | None = None) -> str:
        """Restart ranks in new processes.

        Args:
            ranks: Ranks to restart, which lose their variables; all by default.
            source: A rank whose variables are copied to the restarted ranks.

        Returns:
            A sentence that says what was done.

        Raises:
            BadRankSet: The source does not exist, or is restarted itself.
        """
        wanted = self._portal.call(self.rank_set(ranks))
        if source is not None:
            recovery.receivers(wanted, source, self.snapshot().world.size)
        self._portal.call(self._restart(wanted))
        numbers = wanted if wanted is not None else tuple(range(self.size))
        if source is None:
            single = len(numbers) == 1
            change = "has a new process; its" if single else "have new processes; their"
            ranks_named = rank_names.sentence_name(numbers)
            return f"{ranks_named} {change} variables are gone. Run the set-up cells again."
        return self.copy(source, numbers)

    async def restart_async(self, ranks: rank_sets.Asked = None, source: int | None = None) -> str:
        """Async twin of `restart`.

        Args:
            ranks: Ranks to restart, which lose their variables; all by default.
            source: A rank whose variables are copied to the restarted ranks.
        """
        return await asyncio.to_thread(self.restart, ranks, source)

    def resize(self, ranks: int) -> str:
        """Change the number of ranks; the remaining ranks keep their variables.

        Returns:
            A sentence that says what was done, and what could not be carried over.

        Raises:
            BadSize, Conflict: The cluster is unchanged.
        """
        if type(ranks) is not int:  # True is an int, too
            raise BadSize(f"{ranks!r} is not a number of ranks.", "Give a whole number.")
        before = self.snapshot().world.size
        info: ClusterInfo = self._portal.call(self._portal.worlds.resize(self._connection, ranks))
        self._size = info.world.size
        left = [v for v in info.metrics.verdicts if v.code == "left_behind"]
        text = f"{self.name} has {rank_names.count(self.size)} now."
        return " ".join([text, *_come_empty(before, self.size), *(f"{v.text} {v.hint}" for v in left)])

    async def resize_async(self, ranks: int) -> str:
        """Async twin of `resize`."""
        return await asyncio.to_thread(self.resize, ranks)

    def watch(self, changed: Callable[[ClusterInfo], None], period_s: float = 0.5) -> None:
        """Call a function with the cluster's state on each change, at most every `period_s` seconds.

        The function is called in another thread, until `unwatch` or the cluster's end.

        Args:
            changed: The function.
            period_s: Minimum interval between two calls, in seconds.
        """

        async def watch() -> None:
            self._connection.watch(changed, period_s)

        self._portal.call(watch())

    def unwatch(self, changed: Callable[[ClusterInfo], None]) -> None:
        """Stop calling a function that was passed to `watch`."""
        self._portal.call(self._connection.unwatch(changed))

    def monitor(self) -> Any:
        """Return a live view of the ranks for any Jupyter front end (ipywidgets)."""
        from dtrain_lab.api.monitor import Monitor

        return Monitor(self)

    def stacks(self, ranks: rank_sets.Asked = None) -> dict[int, str]:
        """Return the current stacks of each rank's threads; printed as a whole, equal stacks are folded."""
        return self._portal.call(self._stacks(ranks))

    async def stacks_async(self, ranks: rank_sets.Asked = None) -> dict[int, str]:
        """Async twin of `stacks`."""
        return await self._portal.wrap(self._stacks(ranks))

    def debug(self) -> Debugger:
        """Debug the ranks, also while they run a cell.

        Raises:
            Conflict: Another client debugs them.
        """
        return Debugger(self._portal, self._connection)

    def where(self) -> dict[int, str]:
        """Return one line per rank with its position in the user's code, or that it is idle."""
        return self._portal.call(self._positions())

    async def where_async(self) -> dict[int, str]:
        """Async twin of `where`."""
        return await self._portal.wrap(self._positions())

    def stop(self) -> None:
        """Stop the cluster, and wait until all its processes have ended."""
        self.stop_for(None)

    def stop_for(self, python: str | None) -> None:
        """Stop the cluster; torch stays loaded for the next start.

        Args:
            python: Python executable of the next start; None: nothing stays loaded.
        """
        self._close_views()
        self._portal.call(self._portal.worlds.stop(self._connection, python))

    async def stop_async(self) -> None:
        """Async twin of `stop`."""
        await asyncio.to_thread(self.stop)

    def __enter__(self) -> Cluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.stop()

    def __repr__(self) -> str:
        try:
            return f"<Cluster {self.name}: {self.snapshot().summary.text}>"
        except Unreachable:
            return f"<Cluster {self.name}: stopped>"

    # ----

    async def _interrupt(self, ranks: rank_sets.Asked) -> None:
        await self.ask(clients.Interrupt(await self.rank_set(ranks)))

    async def _restart(self, ranks: tuple[int, ...] | None) -> None:
        await self.ask(clients.Restart(ranks), recovery.RESTART_WITHIN_S)

    async def _stacks(self, ranks: rank_sets.Asked) -> dict[int, str]:
        frames, info = await self._frames(ranks), await self.ask(clients.Info())
        return stacks.StackTexts(frames, stacks.waiting(info))

    async def _positions(self) -> dict[int, str]:
        return {stack.rank: stacks.position(stack) for stack in await self._frames()}

    async def _frames(self, ranks: rank_sets.Asked = None) -> list[Stack]:
        read: list[Stack] = await self.ask(clients.Stacks(await self.rank_set(ranks)))
        return read


def _come_empty(before: int, size: int) -> list[str]:
    """Return the sentence that ranks added by a resize have no variables; empty if none were added."""
    if size <= before:
        return []
    single = size - before == 1
    added = f"{before}" if single else f"{before}-{size - 1}"  # as the magics read it
    name = rank_names.sentence_name(range(before, size))
    empty = f"{name} {'is' if single else 'are'} empty: run the set-up cells there, %%distributed {added},"
    return [f"{empty} or copy rank 0's variables: %distributed restart {added} --from 0."]
