"""A cluster, as Python code holds it."""

from __future__ import annotations

import asyncio
import itertools
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from dtrain_lab.api import data
from dtrain_lab.api.debug import Debugger
from dtrain_lab.api.portal import Portal
from dtrain_lab.api.result import Result
from dtrain_lab.core import ranks as rank_sets
from dtrain_lab.core.cells import check_source
from dtrain_lab.core.cluster import CellRecord, Stack
from dtrain_lab.core.cluster import Cluster as Info
from dtrain_lab.core.diagnosis import Diagnosis
from dtrain_lab.core.wire import doors
from dtrain_lab.core.wire.links import CellOutput
from dtrain_lab.errors import BadRankSet, BadRequest, Unreachable
from dtrain_lab.services import diagnosis
from dtrain_lab.services.export import write
from dtrain_lab.services.reach import Connection, OnOutput

RESTART_WITHIN_S = 200.0
_numbers = itertools.count(1)
_session = secrets.token_hex(4)


def cell_id() -> str:
    """A name for a cell that no other has."""
    return f"{_session}.{next(_numbers)}"


class Cluster:
    """Ranks that form one `torch.distributed` process group.

    Use it as a context manager to stop it at the end:

        with dt.start(ranks=2) as cluster:
            cluster.run("print(rank)")
    """

    def __init__(self, portal: Portal, connection: Connection) -> None:
        self._portal = portal
        self._connection = connection
        self._views: Any = None
        self._size = 0

    @property
    def name(self) -> str:
        """Its name."""
        return self._connection.record.name

    @property
    def id(self) -> str:
        """Its id: stays, whatever its name."""
        return self._connection.record.id

    @property
    def connection(self) -> Connection:
        """The way to its head; for the portal's loop."""
        return self._connection

    @property
    def state(self) -> str:
        """State of the world: "ready", "degraded", …; "stopped" once its head is gone."""
        try:
            return self.cluster().state
        except Unreachable:
            return "stopped"

    @property
    def size(self) -> int:
        """Ranks, as last heard; asks where nothing was heard yet."""
        return self._size or self.cluster().world.size

    @property
    def gone(self) -> bool:
        """Its head has ended, as far as this process knows; asks nobody."""
        return self._connection.closed

    def cluster(self) -> Info:
        """Everything about it, typed."""
        found: Info = self._portal.call(self.ask(doors.Info()))
        self._size = found.world.size
        return found

    def info(self) -> dict[str, Any]:
        """Everything about it, as REST and `--json` give it."""
        return _as_json(self.cluster())

    async def info_async(self) -> dict[str, Any]:
        """Async twin of `info`."""
        return _as_json(await self._portal.wrap(self.ask(doors.Info())))

    # ---- cells

    def run(
        self,
        code: str,
        ranks: Sequence[int] | str | None = None,
        *,
        timeout: float | None = None,
        check: bool = True,
    ) -> Result:
        """Run code on ranks and wait for all of them.

        Args:
            code: as in a cell: magics and top-level await work.
            ranks: [0, 2] or "0,2-3"; None for all.
            timeout: seconds from its start on the ranks; then it is interrupted.
            check: raise if a rank fails.

        Raises:
            BadRankSet, BadCell, Conflict: nothing was run.
            CellFailed: a rank raised, was interrupted or was lost, and `check` is on.
            Unreachable: the cluster has ended.
        """
        return self._portal.call(self.run_here(code, ranks, timeout=timeout, check=check))

    async def run_async(
        self,
        code: str,
        ranks: Sequence[int] | str | None = None,
        *,
        timeout: float | None = None,
        check: bool = True,
    ) -> Result:
        """Async twin of `run`."""
        return await self._portal.wrap(self.run_here(code, ranks, timeout=timeout, check=check))

    async def run_here(
        self,
        code: str,
        ranks: Sequence[int] | str | None = None,
        *,
        timeout: float | None = None,
        check: bool = True,
    ) -> Result:
        """`run`, inside the portal's loop."""
        order = doors.Run(
            cell=cell_id(), code=code, label="[ ]", ranks=await self.rank_set(ranks), timeout_s=timeout
        )
        return await self.run_order(order, check=check)

    async def run_order(
        self, order: doors.Run, *, check: bool = True, on_output: OnOutput | None = None
    ) -> Result:
        """Run a cell that is described already, inside the portal's loop.

        Args:
            order: the cell.
            check: raise if a rank fails.
            on_output: sees output as it comes, in place of the result.
        """
        _check(order)
        outputs: list[CellOutput] = []
        end = await self._connection.run(order, on_output or outputs.append)
        result = Result(end, outputs)
        if check:
            result.raise_failure()
        return result

    async def start_order(self, order: doors.Run) -> None:
        """Begin a cell that nobody waits for, inside the portal's loop."""
        _check(order)
        await self.ask(order)

    async def follow(self, cell: str, on_output: OnOutput) -> Result:
        """Wait for a cell that was begun before, inside the portal's loop; output comes from its start."""
        return Result(await self._connection.follow(cell, on_output), [])

    async def cells(self) -> list[CellRecord]:
        """Cells that the cluster knows of, oldest first; inside the portal's loop."""
        known: list[CellRecord] = await self.ask(doors.ListCells())
        return known

    # ---- data

    def push(self, ranks: Sequence[int] | str | None = None, **values: Any) -> int:
        """Assign values on ranks: `cluster.push(lr=0.1)`.

        Arrays and tensors, in state dicts and models too, go through memory that the ranks of this machine
        map; each rank has its own copy as soon as it writes.

        Returns:
            Bytes of the numbers among the values.

        Raises:
            BadRequest: a value that can't travel.
        """
        return data.push(self._view_of(ranks), values, None)

    async def push_async(self, ranks: Sequence[int] | str | None = None, **values: Any) -> int:
        """Async twin of `push`."""
        return await asyncio.to_thread(self.push, ranks, **values)

    def push_watched(self, values: dict[str, Any], progress: Callable[[int, int], None]) -> int:
        """`push` to all ranks; `progress` hears of bytes done and bytes in all."""
        return data.push(self._view_of(None), values, progress)

    def pull(self, name: str, ranks: Sequence[int] | str | None = None) -> dict[int, Any]:
        """A variable's value on each rank; of a DDP model, the model inside.

        Raises:
            BadRequest: the name is none, or a rank does not have it.
        """
        view = self._view_of(ranks)
        return dict(zip(view.targets, data.pull(view, name), strict=True))

    async def pull_async(self, name: str, ranks: Sequence[int] | str | None = None) -> dict[int, Any]:
        """Async twin of `pull`."""
        return await asyncio.to_thread(self.pull, name, ranks)

    def diff(self, name: str, ranks: Sequence[int] | str | None = None) -> data.Diff:
        """Compare a variable over ranks: a number, a tensor, a state dict, a whole model or optimizer.

        Raises:
            BadRequest: the name is none, or a rank does not have it.
        """
        return data.compare(self._view_of(ranks), name)

    async def diff_async(self, name: str, ranks: Sequence[int] | str | None = None) -> data.Diff:
        """Async twin of `diff`."""
        return await asyncio.to_thread(self.diff, name, ranks)

    def view(self) -> Any:
        """An ipyparallel `DirectView` of all ranks; waits until every rank is registered there.

        Its calls take turns with the cells of this cluster, so that they reach all ranks in one order. A
        client made by other means has no such promise.
        """
        return self._view_of(None)

    # ---- control

    def interrupt(self, ranks: Sequence[int] | str | None = None) -> None:
        """Interrupt what runs; variables are kept, and a broken group comes back."""
        self._portal.call(self._interrupt(ranks))

    async def interrupt_async(self, ranks: Sequence[int] | str | None = None) -> None:
        """Async twin of `interrupt`."""
        await self._portal.wrap(self._interrupt(ranks))

    def restart(self, ranks: Sequence[int] | str | None = None, source: int | None = None) -> str:
        """New processes for ranks, all unless told.

        Args:
            ranks: whose variables are lost.
            source: a rank whose variables they get in place of their own.

        Returns:
            What was done, in words.

        Raises:
            BadRankSet: a source that does not exist or is restarted itself.
        """
        wanted = self._portal.call(self.rank_set(ranks))
        if source is not None:
            self._check_source(wanted, source)
        self._portal.call(self._restart(wanted))
        numbers = wanted if wanted is not None else tuple(range(self.size))
        if source is None:
            one = len(numbers) == 1
            what = "has a new process; its" if one else "have new processes; their"
            return (
                f"{rank_sets.sentence_name(numbers)} {what} variables are gone. Run the set-up cells again."
            )
        names, left, size = data.copy_variables(self._view_of([source]), self._view_of(numbers))
        return data.copied_sentence(numbers, source, names, left, size)

    async def restart_async(self, ranks: Sequence[int] | str | None = None, source: int | None = None) -> str:
        """Async twin of `restart`."""
        return await asyncio.to_thread(self.restart, ranks, source)

    def resize(self, ranks: int) -> str:
        """Another number of ranks; variables of the ranks that stay are kept.

        Returns:
            What was done, in words, with what could not come along.

        Raises:
            BadSize, Conflict: it stays as it is.
        """
        info: Info = self._portal.call(self._portal.worlds.resize(self._connection, ranks))
        self._size = info.world.size
        left = [v for v in info.metrics.verdicts if v.code == "left_behind"]
        text = f"{self.name} has {rank_sets.count(self.size)} now."
        return " ".join([text, *(f"{v.text} {v.hint}" for v in left)])

    async def resize_async(self, ranks: int) -> str:
        """Async twin of `resize`."""
        return await asyncio.to_thread(self.resize, ranks)

    def watch(self, changed: Callable[[Info], None], period_s: float = 0.5) -> None:
        """Have a function called with the cluster whenever it changed, at most every `period_s` seconds.

        It is called in another thread, until `unwatch` or the cluster's end.
        """

        async def watch() -> None:
            self._connection.watch(changed, period_s)

        self._portal.call(watch())

    def unwatch(self, changed: Callable[[Info], None]) -> None:
        """Call it no more."""
        self._portal.call(self._connection.unwatch(changed))

    def monitor(self) -> Any:
        """A live view of the ranks for any Jupyter front end (ipywidgets)."""
        from dtrain_lab.api.monitor import Monitor

        return Monitor(self)

    def history(self, since: float = 0.0) -> list[dict[str, Any]]:
        """Figures of the past, oldest first: a point a second while something trains.

        Args:
            since: seconds since 1970.
        """
        return self._portal.call(self._history(since))

    async def history_async(self, since: float = 0.0) -> list[dict[str, Any]]:
        """Async twin of `history`."""
        return await self._portal.wrap(self._history(since))

    async def _history(self, since: float) -> list[dict[str, Any]]:
        return [msgspec.to_builtins(point) for point in await self.ask(doors.ReadHistory(since))]

    def export(self, path: str | Path) -> Path:
        """Write its past to a file; `.csv`, `.json`, or a folder for a TensorBoard event file.

        Raises:
            BadRequest: the file's ending says no format.
        """
        points = self._portal.call(self.ask(doors.ReadHistory(0.0)))
        return write(points, Path(path))

    async def export_async(self, path: str | Path) -> Path:
        """Async twin of `export`."""
        return await asyncio.to_thread(self.export, path)

    def diagnose(self) -> Diagnosis:
        """What takes the time: a step without communication, and one without its data.

        Between cells, the last training step runs again, some dozens of times, and everything that it changes
        is put back. While a training cell runs, its own figures say it.

        Raises:
            BadRequest: nothing has trained yet, or its model can't be run again.
            Conflict: a cell runs that does not train, or a rank failed.
        """
        return self._portal.call(diagnosis.diagnose(self._connection))

    async def diagnose_async(self) -> Diagnosis:
        """Async twin of `diagnose`."""
        return await self._portal.wrap(diagnosis.diagnose(self._connection))

    def stacks(self, ranks: Sequence[int] | str | None = None) -> dict[int, str]:
        """What each rank's threads do now."""
        return self._portal.call(self._stacks(ranks))

    async def stacks_async(self, ranks: Sequence[int] | str | None = None) -> dict[int, str]:
        """Async twin of `stacks`."""
        return await self._portal.wrap(self._stacks(ranks))

    def debug(self) -> Debugger:
        """Debug its ranks, also while they run a cell.

        Raises:
            Conflict: somebody else debugs them.
        """
        return Debugger(self._portal, self._connection)

    def where(self) -> dict[int, str]:
        """Where each rank's main thread is, in one line: cell, file, function."""
        return {rank: innermost(text) for rank, text in self.stacks().items()}

    async def where_async(self) -> dict[int, str]:
        """Async twin of `where`."""
        return {rank: innermost(text) for rank, text in (await self.stacks_async()).items()}

    def stop(self) -> None:
        """End the cluster; returns once none of its processes is left."""
        if self._views is not None:
            self._views.close()
            self._views = None
        self._portal.call(self._portal.worlds.stop(self._connection))

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
            return f"<Cluster {self.name}: {self.cluster().summary.text}>"
        except Unreachable:
            return f"<Cluster {self.name}: stopped>"

    # ----

    async def ask(self, body: doors.AnyBody, within_s: float | None = 30.0) -> Any:
        """Ask the head, inside the portal's loop."""
        return await self._connection.ask(body, within_s)

    async def rank_set(self, ranks: Sequence[int] | str | None) -> tuple[int, ...] | None:
        """Ranks as a person or a program gave them; None for all. Inside the portal's loop."""
        if ranks is None:
            return None
        cluster: Info = await self.ask(doors.Info())
        if isinstance(ranks, str):
            return rank_sets.parse(ranks, cluster.world.size) if ranks.strip() else None
        return rank_sets.check(list(ranks), cluster.world.size)

    async def _interrupt(self, ranks: Sequence[int] | str | None) -> None:
        await self.ask(doors.Interrupt(await self.rank_set(ranks)))

    async def interrupt_cell(self, cell: str) -> None:
        """Interrupt one cell, inside the portal's loop."""
        await self.ask(doors.Interrupt(cell=cell))

    async def _restart(self, ranks: tuple[int, ...] | None) -> None:
        await self.ask(doors.Restart(ranks), RESTART_WITHIN_S)

    async def _stacks(self, ranks: Sequence[int] | str | None) -> dict[int, str]:
        found: list[Stack] = await self.ask(doors.Stacks(await self.rank_set(ranks)))
        return {stack.rank: stack.text or stack.error or "" for stack in found}

    def _view_of(self, ranks: Sequence[int] | str | None) -> Any:
        if self._views is None:
            from dtrain_lab.api.view import Views  # ipyparallel's client: half a second that few need

            self._views = Views(self._portal, self._connection)
        targets = self._portal.call(self.rank_set(ranks))
        size = self.cluster().world.size
        return self._views.of(targets if targets is not None else range(size), size)

    def _check_source(self, ranks: tuple[int, ...] | None, source: int) -> None:
        rank_sets.check([source], self.cluster().world.size)
        if ranks is None or source in ranks:
            raise BadRankSet(
                f"Rank {source} can't give its variables: it is restarted itself.",
                "Name the ranks to restart, and another one to copy from.",
            )


def _check(order: doors.Run) -> None:
    check_source(order.code)
    if order.timeout_s is not None and order.timeout_s <= 0:
        raise BadRequest(
            f"A time-out of {order.timeout_s:g} s is over before it begins.", "Give a number above 0."
        )


def innermost(stack: str) -> str:
    """The innermost frame of the first thread of a stack's text."""
    first = stack.split("\n\n")[0]
    lines = [line.strip() for line in first.splitlines() if line.strip().startswith("File")]
    return lines[-1] if lines else first.strip()


def _as_json(cluster: Info) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(cluster))
    return plain
