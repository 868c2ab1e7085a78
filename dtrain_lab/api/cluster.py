"""The Python interface of a cluster: `Cluster`."""

from __future__ import annotations

import asyncio
import itertools
import secrets
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

from dtrain_lab.api import data
from dtrain_lab.api.debug import Debugger
from dtrain_lab.api.measurements import Measurements
from dtrain_lab.api.portal import Portal
from dtrain_lab.api.result import Result
from dtrain_lab.cells import rank_sets
from dtrain_lab.cells.syntax import check_source
from dtrain_lab.errors import BadRankSet, BadRequest, BadSize, Unreachable
from dtrain_lab.services.connection import Connection, OnOutput
from dtrain_lab.wire import clients
from dtrain_lab.wire.cells import CellRecord
from dtrain_lab.wire.cluster import Cluster as Info
from dtrain_lab.wire.codec.encode import as_json
from dtrain_lab.wire.links import CellOutput
from dtrain_lab.wire.stacks import Stack

RESTART_WITHIN_S = 200.0
_numbers = itertools.count(1)
_session = secrets.token_hex(4)


def cell_id() -> str:
    """Return a unique cell id."""
    return f"{_session}.{next(_numbers)}"


class Cluster(Measurements):
    """Ranks that form one `torch.distributed` process group.

    As a context manager, the cluster is stopped at the end of the block:

        with dt.start(ranks=2) as cluster:
            cluster.run("print(rank)")
    """

    def __init__(self, portal: Portal, connection: Connection) -> None:
        super().__init__(portal, connection)
        self._views: Any = None
        self._size = 0

    @property
    def name(self) -> str:
        """Name of the cluster."""
        return self._connection.record.name

    @property
    def id(self) -> str:
        """Unique id of the cluster, independent of its name."""
        return self._connection.record.id

    @property
    def connection(self) -> Connection:
        """The connection to the head; only for use in the portal's loop."""
        return self._connection

    @property
    def state(self) -> str:
        """State of the cluster: "ready", "degraded", …; "stopped" once the head is gone."""
        try:
            return self.cluster().state
        except Unreachable:
            return "stopped"

    @property
    def size(self) -> int:
        """Number of ranks as last reported; asks the head if nothing was reported yet."""
        return self._size or self.cluster().world.size

    @property
    def gone(self) -> bool:
        """Whether the head has ended, as far as this process knows; sends no request."""
        return self._connection.closed

    def cluster(self) -> Info:
        """Return the cluster's complete state as a typed value."""
        found: Info = self._portal.call(self.ask(clients.Info()))
        self._size = found.world.size
        return found

    def info(self) -> dict[str, Any]:
        """Return the cluster's complete state as a dict, as REST and `--json` report it."""
        return as_json(self.cluster())

    async def info_async(self) -> dict[str, Any]:
        """Async twin of `info`."""
        return as_json(await self._portal.wrap(self.ask(clients.Info())))

    # ---- cells

    def run(
        self,
        code: str,
        ranks: rank_sets.Asked = None,
        *,
        timeout: float | None = None,
        check: bool = True,
    ) -> Result:
        """Run code on ranks and wait until all of them have finished.

        Ranks are interrupted, too, where the wait ends before: by Ctrl-C, or in `run_async` by its task's
        cancellation (`asyncio.wait_for`, a task group).

        Args:
            code: Code as in a cell; magics and top-level await work.
            ranks: 0, [0, 2] or "0,2-3"; None for all.
            timeout: Seconds from the start on the ranks, after which the code is interrupted.
            check: Raise an exception if a rank fails.

        Returns:
            What each rank printed, displayed and raised.

        Raises:
            BadRankSet, BadCell, Conflict: Nothing was run.
            CellFailed: A rank raised an exception, was interrupted or was lost, and `check` is true.
            Unreachable: The cluster has ended.
        """
        return self._portal.call(self.run_here(code, ranks, timeout=timeout, check=check))

    async def run_async(
        self,
        code: str,
        ranks: rank_sets.Asked = None,
        *,
        timeout: float | None = None,
        check: bool = True,
    ) -> Result:
        """Async twin of `run`."""
        return await self._portal.wrap(self.run_here(code, ranks, timeout=timeout, check=check))

    async def run_here(
        self,
        code: str,
        ranks: rank_sets.Asked = None,
        *,
        timeout: float | None = None,
        check: bool = True,
    ) -> Result:
        """Variant of `run` for use in the portal's loop."""
        cell = cell_id()
        order = clients.Run(
            cell=cell,
            code=code,
            label="[ ]",
            ranks=await self.rank_set(ranks),
            timeout_s=timeout,
            source=f"{cell}.py",
        )
        check_order(code, order.label, order.first_line, timeout)
        try:
            return await self.run_order(order, check=check)
        except asyncio.CancelledError:  # whoever waited was interrupted, and means the code
            self._portal.post(self.interrupt_cell(cell))
            raise

    async def run_order(
        self, order: clients.Run, *, check: bool = True, on_output: OnOutput | None = None
    ) -> Result:
        """Run a cell from a request message; only in the portal's loop.

        Args:
            order: The request, checked by `check_order`.
            check: Raise an exception if a rank fails.
            on_output: Called with output as it arrives; the result then contains no output.
        """
        outputs: list[CellOutput] = []
        end = await self._connection.run(order, on_output or outputs.append)
        result = Result(end, outputs)
        if check:
            result.raise_failure()
        return result

    async def start_order(self, order: clients.Run) -> None:
        """Start a cell, checked by `check_order`, without waiting for it; only in the portal's loop."""
        await self.ask(order)

    async def follow(self, cell: str, on_output: OnOutput) -> Result:
        """Wait for a running cell, with its output from the start; only in the portal's loop."""
        return Result(await self._connection.follow(cell, on_output), [])

    async def cells(self) -> list[CellRecord]:
        """Return the cells that the head knows, oldest first; only in the portal's loop."""
        known: list[CellRecord] = await self.ask(clients.ListCells())
        return known

    # ---- data

    def push(self, ranks: rank_sets.Asked = None, **values: Any) -> int:
        """Assign values on ranks: `cluster.push(lr=0.1)`.

        Arrays and tensors, also inside state dicts and models, go through shared memory that the ranks of a
        machine map copy-on-write.

        Returns:
            Total size of the arrays and tensors in bytes.

        Raises:
            BadRequest: A value can't be serialized.
        """
        return data.push(self._view_of(ranks), values, None)

    async def push_async(self, ranks: rank_sets.Asked = None, **values: Any) -> int:
        """Async twin of `push`."""
        return await asyncio.to_thread(self.push, ranks, **values)

    def push_watched(self, values: dict[str, Any], progress: Callable[[int, int], None]) -> int:
        """Push to all ranks; `progress` is called with the bytes sent and the total bytes."""
        return data.push(self._view_of(None), values, progress)

    def pull(self, name: str, ranks: rank_sets.Asked = None) -> dict[int, Any]:
        """Return a variable's value by rank; for a DDP model, the wrapped module.

        Args:
            name: Name of the variable.
            ranks: 0, [0, 2] or "0,2-3"; None for all.

        Raises:
            BadRequest: The name is invalid, or a rank has no such variable.
        """
        view = self._view_of(ranks)
        return dict(zip(view.targets, data.pull(view, name), strict=True))

    async def pull_async(self, name: str, ranks: rank_sets.Asked = None) -> dict[int, Any]:
        """Async twin of `pull`."""
        return await asyncio.to_thread(self.pull, name, ranks)

    def diff(self, name: str, ranks: rank_sets.Asked = None) -> data.Diff:
        """Compare a variable between ranks: a number, tensor, state dict, model or optimizer.

        Args:
            name: Name of the variable.
            ranks: 0, [0, 2] or "0,2-3"; None for all.

        Raises:
            BadRequest: The name is invalid, or a rank has no such variable.
        """
        return data.compare(self._view_of(ranks), name)

    async def diff_async(self, name: str, ranks: rank_sets.Asked = None) -> data.Diff:
        """Async twin of `diff`."""
        return await asyncio.to_thread(self.diff, name, ranks)

    def view(self) -> Any:
        """Return an ipyparallel `DirectView` of all ranks, once every rank is registered with ipyparallel.

        Its calls take turns with the cluster's cells, so that all ranks see calls and cells in the same
        order. Other ipyparallel clients have no such guarantee.
        """
        return self._view_of(None)

    # ---- control

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
            self._check_source(wanted, source)
        self._portal.call(self._restart(wanted))
        numbers = wanted if wanted is not None else tuple(range(self.size))
        if source is None:
            one = len(numbers) == 1
            what = "has a new process; its" if one else "have new processes; their"
            return (
                f"{rank_sets.sentence_name(numbers)} {what} variables are gone. Run the set-up cells again."
            )
        return self.copy(source, numbers)

    def copy(self, source: int, ranks: Sequence[int]) -> str:
        """Copy the variables of a rank to ranks that have just been restarted.

        Args:
            source: Rank to copy from.
            ranks: Ranks to copy to.

        Returns:
            A sentence that says what was done, and what could not be copied.
        """
        names, left, size = data.copy_variables(self._view_of([source]), self._view_of(ranks))
        return data.copied_sentence(ranks, source, names, left, size)

    async def restart_async(self, ranks: rank_sets.Asked = None, source: int | None = None) -> str:
        """Async twin of `restart`."""
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
        info: Info = self._portal.call(self._portal.worlds.resize(self._connection, ranks))
        self._size = info.world.size
        left = [v for v in info.metrics.verdicts if v.code == "left_behind"]
        text = f"{self.name} has {rank_sets.count(self.size)} now."
        return " ".join([text, *(f"{v.text} {v.hint}" for v in left)])

    async def resize_async(self, ranks: int) -> str:
        """Async twin of `resize`."""
        return await asyncio.to_thread(self.resize, ranks)

    def watch(self, changed: Callable[[Info], None], period_s: float = 0.5) -> None:
        """Call a function with the cluster's state on each change, at most every `period_s` seconds.

        The function is called in another thread, until `unwatch` or the cluster's end.
        """

        async def watch() -> None:
            self._connection.watch(changed, period_s)

        self._portal.call(watch())

    def unwatch(self, changed: Callable[[Info], None]) -> None:
        """Stop calling a function that was passed to `watch`."""
        self._portal.call(self._connection.unwatch(changed))

    def monitor(self) -> Any:
        """Return a live view of the ranks for any Jupyter front end (ipywidgets)."""
        from dtrain_lab.api.monitor import Monitor

        return Monitor(self)

    def stacks(self, ranks: rank_sets.Asked = None) -> dict[int, str]:
        """Return the current stacks of each rank's threads."""
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
        """Return one line per rank with the position of its main thread: cell, file, function."""
        return {rank: innermost(text) for rank, text in self.stacks().items()}

    async def where_async(self) -> dict[int, str]:
        """Async twin of `where`."""
        return {rank: innermost(text) for rank, text in (await self.stacks_async()).items()}

    def stop(self) -> None:
        """Stop the cluster, and wait until all its processes have ended."""
        self.stop_for(None)

    def stop_for(self, python: str | None) -> None:
        """Stop the cluster; torch stays loaded for the next start.

        Args:
            python: Python executable of the next start; None: nothing stays loaded.
        """
        if self._views is not None:
            self._views.close()
            self._views = None
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
            return f"<Cluster {self.name}: {self.cluster().summary.text}>"
        except Unreachable:
            return f"<Cluster {self.name}: stopped>"

    # ----

    async def rank_set(self, ranks: rank_sets.Asked) -> tuple[int, ...] | None:
        """Parse a set of ranks; None for all. Only in the portal's loop."""
        return await self._connection.rank_set(ranks)

    async def _interrupt(self, ranks: rank_sets.Asked) -> None:
        await self.ask(clients.Interrupt(await self.rank_set(ranks)))

    async def interrupt_cell(self, cell: str) -> None:
        """Interrupt one cell; only in the portal's loop."""
        await self.ask(clients.Interrupt(cell=cell))

    async def _restart(self, ranks: tuple[int, ...] | None) -> None:
        await self.ask(clients.Restart(ranks), RESTART_WITHIN_S)

    async def _stacks(self, ranks: rank_sets.Asked) -> dict[int, str]:
        found: list[Stack] = await self.ask(clients.Stacks(await self.rank_set(ranks)))
        return {stack.rank: stack.text or stack.error or "" for stack in found}

    def _view_of(self, ranks: rank_sets.Asked) -> Any:
        if self._views is None:
            from dtrain_lab.api.view import Views  # importing ipyparallel's client takes half a second

            self._views = Views(self._portal, self._connection)
        targets = self._portal.call(self.rank_set(ranks))
        size = self.cluster().world.size
        return self._views.of(targets if targets is not None else range(size), size)

    def _check_source(self, ranks: tuple[int, ...] | None, source: int) -> None:
        rank_sets.check([source], self.cluster().world.size)
        if ranks is None or source in ranks:
            raise BadRankSet(
                f"Rank {source} can't give its variables: rank {source} is restarted, too.",
                "Name the ranks to restart, and another one to copy from.",
            )


def check_order(code: str, label: str, first_line: int, timeout: float | None) -> None:
    """Check a cell before it is sent to ranks.

    Args:
        code: Code of the cell, without the magic's line.
        label: Label of the cell.
        first_line: Line number of the code's first line, as the user counts.
        timeout: Seconds from the start on the ranks; None for no limit.

    Raises:
        BadCell: The cell is empty or has a syntax error.
        BadRequest: The time-out is no time, or over before the cell begins.
    """
    check_source(code, label, first_line)
    if timeout is not None and (not isinstance(timeout, int | float) or not timeout > 0):
        told = f"{timeout:g} s" if isinstance(timeout, int | float) else repr(timeout)
        raise BadRequest(f"A time-out must be longer than 0 s, not {told}.", "Give a number above 0.")


def innermost(stack: str) -> str:
    """Return the innermost frame of the first thread in a stack's text."""
    first = stack.split("\n\n")[0]
    lines = [line.strip() for line in first.splitlines() if line.strip().startswith("File")]
    return lines[-1] if lines else first.strip()
