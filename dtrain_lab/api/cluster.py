"""A cluster, as Python code holds it."""

from __future__ import annotations

import asyncio
import itertools
import json
import secrets
from collections.abc import Sequence
from types import TracebackType
from typing import Any

import msgspec

from dtrain_lab.api.portal import Portal
from dtrain_lab.api.result import Result
from dtrain_lab.core import ranks as rank_sets
from dtrain_lab.core.cells import check_source
from dtrain_lab.core.cluster import Cluster as Info
from dtrain_lab.core.cluster import Stack
from dtrain_lab.core.wire import doors
from dtrain_lab.core.wire.links import CellOutput
from dtrain_lab.errors import BadRequest, Unreachable
from dtrain_lab.services.reach import Connection, OnOutput

RESTART_WITHIN_S = 200.0
VIEW_WITHIN_S = 60.0
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
        self._client: Any = None

    @property
    def name(self) -> str:
        """Its name."""
        return self._connection.record.name

    @property
    def id(self) -> str:
        """Its id: stays, whatever its name."""
        return self._connection.record.id

    @property
    def state(self) -> str:
        """State of the world: "ready", "degraded", …; "stopped" once its head is gone."""
        try:
            return self.cluster().state
        except Unreachable:
            return "stopped"

    @property
    def gone(self) -> bool:
        """Its head has ended, as far as this process knows; asks nobody."""
        return self._connection.closed

    def cluster(self) -> Info:
        """Everything about it, typed."""
        found: Info = self._portal.call(self._ask(doors.Info()))
        return found

    def info(self) -> dict[str, Any]:
        """Everything about it, as REST and `--json` give it."""
        return _as_json(self.cluster())

    async def info_async(self) -> dict[str, Any]:
        """Async twin of `info`."""
        return _as_json(await self._portal.wrap(self._ask(doors.Info())))

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
        label: str = "[ ]",
        first_line: int = 1,
        notebook: str | None = None,
        on_output: OnOutput | None = None,
        cell: str | None = None,
    ) -> Result:
        """`run`, inside the portal's loop; `on_output` sees output as it comes."""
        check_source(code)
        if timeout is not None and timeout <= 0:
            raise BadRequest(
                f"A time-out of {timeout:g} s is over before it begins.", "Give a number above 0."
            )
        order = doors.Run(
            cell=cell or cell_id(),
            code=code,
            label=label,
            ranks=await self._rank_set(ranks),
            first_line=first_line,
            notebook=notebook,
            timeout_s=timeout,
        )
        outputs: list[CellOutput] = []
        end = await self._connection.run(order, on_output or outputs.append)
        result = Result(end, outputs)
        if check:
            result.raise_failure()
        return result

    # ---- data, through ipyparallel's authenticated channel

    def push(self, ranks: Sequence[int] | str | None = None, **values: Any) -> None:
        """Assign values on ranks: `cluster.push(lr=0.1)`."""
        self._view_of(ranks).push(values, block=True)

    async def push_async(self, ranks: Sequence[int] | str | None = None, **values: Any) -> None:
        """Async twin of `push`."""
        await asyncio.to_thread(self.push, ranks, **values)

    def pull(self, name: str, ranks: Sequence[int] | str | None = None) -> dict[int, Any]:
        """A variable's value on each rank.

        Raises:
            BadRequest: the name is none, or a rank does not have it.
        """
        if not all(part.isidentifier() for part in name.split(".")):
            raise BadRequest(
                f'"{name}" is no name of a variable.', "Give a name such as loss or model.fc.weight."
            )
        view = self._view_of(ranks)
        import ipyparallel as ipp

        try:
            values = view.pull(name, block=True)
        except ipp.RemoteError as error:
            raise _not_there(name, error) from error
        except ipp.CompositeError as error:
            raise _not_there(name, error) from error
        return dict(zip(view.targets, values, strict=True))

    async def pull_async(self, name: str, ranks: Sequence[int] | str | None = None) -> dict[int, Any]:
        """Async twin of `pull`."""
        return await asyncio.to_thread(self.pull, name, ranks)

    def view(self) -> Any:
        """An ipyparallel `DirectView` of all ranks; waits until every rank is registered there."""
        import ipyparallel as ipp

        if self._client is None:
            info = json.loads(self._portal.call(self._ask(doors.Engines())))
            self._client = ipp.Client(connection_info=info)
        self._client.wait_for_engines(self.cluster().world.size, timeout=VIEW_WITHIN_S, interactive=False)
        return self._client[:]

    # ---- control

    def interrupt(self, ranks: Sequence[int] | str | None = None) -> None:
        """Interrupt what runs; variables are kept, and a broken group comes back."""
        self._portal.call(self._interrupt(ranks))

    async def interrupt_async(self, ranks: Sequence[int] | str | None = None) -> None:
        """Async twin of `interrupt`."""
        await self._portal.wrap(self._interrupt(ranks))

    def restart(self, ranks: Sequence[int] | str | None = None) -> None:
        """New processes for ranks, all unless told; their variables are lost."""
        self._portal.call(self._restart(ranks))

    async def restart_async(self, ranks: Sequence[int] | str | None = None) -> None:
        """Async twin of `restart`."""
        await self._portal.wrap(self._restart(ranks))

    def stacks(self, ranks: Sequence[int] | str | None = None) -> dict[int, str]:
        """What each rank's threads do now."""
        return self._portal.call(self._stacks(ranks))

    async def stacks_async(self, ranks: Sequence[int] | str | None = None) -> dict[int, str]:
        """Async twin of `stacks`."""
        return await self._portal.wrap(self._stacks(ranks))

    def where(self) -> dict[int, str]:
        """Where each rank's main thread is, in one line: cell, file, function."""
        return {rank: innermost(text) for rank, text in self.stacks().items()}

    def stop(self) -> None:
        """End the cluster; returns once none of its processes is left."""
        if self._client is not None:
            self._client.close()
            self._client = None
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

    async def _ask(self, body: doors.AnyBody, within_s: float = 30.0) -> Any:
        return await self._connection.ask(body, within_s)

    async def _rank_set(self, ranks: Sequence[int] | str | None) -> tuple[int, ...] | None:
        if ranks is None:
            return None
        cluster: Info = await self._ask(doors.Info())
        if isinstance(ranks, str):
            return rank_sets.parse(ranks, cluster.world.size) if ranks.strip() else None
        return rank_sets.check(list(ranks), cluster.world.size)

    async def _interrupt(self, ranks: Sequence[int] | str | None) -> None:
        await self._ask(doors.Interrupt(await self._rank_set(ranks)))

    async def interrupt_cell(self, cell: str) -> None:
        """Interrupt one cell, inside the portal's loop."""
        await self._ask(doors.Interrupt(cell=cell))

    async def _restart(self, ranks: Sequence[int] | str | None) -> None:
        await self._ask(doors.Restart(await self._rank_set(ranks)), RESTART_WITHIN_S)

    async def _stacks(self, ranks: Sequence[int] | str | None) -> dict[int, str]:
        found: list[Stack] = await self._ask(doors.Stacks(await self._rank_set(ranks)))
        return {stack.rank: stack.text or stack.error or "" for stack in found}

    def _view_of(self, ranks: Sequence[int] | str | None) -> Any:
        view = self.view()
        targets = self._portal.call(self._rank_set(ranks))
        return view if targets is None else view.client[list(targets)]


def innermost(stack: str) -> str:
    """The innermost frame of the first thread of a stack's text."""
    first = stack.split("\n\n")[0]
    lines = [line.strip() for line in first.splitlines() if line.strip().startswith("File")]
    return lines[-1] if lines else first.strip()


def _not_there(name: str, error: BaseException) -> BadRequest:
    first = str(error).splitlines()[0] if str(error) else type(error).__name__
    return BadRequest(f"{name} could not be pulled: {first}", "Check the name, and the ranks that have it.")


def _as_json(cluster: Info) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(cluster))
    return plain
