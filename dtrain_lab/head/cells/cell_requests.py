"""Request handlers for cells: run, follow, list, lock ranks, read output, complete, widget messages."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from dtrain_lab.cells import rank_sets
from dtrain_lab.errors import BadRankSet, Conflict, NotFound
from dtrain_lab.head.cells.cells import Cells
from dtrain_lab.head.cells.journal import Journal
from dtrain_lab.head.lock_holders import LockHolders
from dtrain_lab.head.membership import Membership
from dtrain_lab.head.ownership.rank_routes import RankRoutes
from dtrain_lab.head.requests import Handlers
from dtrain_lab.text import rank_names
from dtrain_lab.wire import clients, links
from dtrain_lab.wire.cells import CellRecord, Output
from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.wire.kinds import ENDING
from dtrain_lab.world.state import State

COMPLETED_WITHIN_S = 1.0
"""A busy rank does not answer completions; a person who is typing should not wait for it."""
MOST_OUTPUTS = 10_000


class CellRequests:
    """Handles clients' requests about cells.

    Args:
        membership: State of the world.
        cells: All cells of the world.
        journal: Output of the cells.
        routes: Connections to the ranks.
        cluster: Makes the current snapshot of the world.
    """

    def __init__(
        self,
        membership: Membership,
        cells: Cells,
        journal: Journal,
        routes: RankRoutes,
        cluster: Callable[[], Cluster],
    ) -> None:
        self._membership = membership
        self._cluster = cluster
        self._cells = cells
        self._journal = journal
        self._routes = routes
        self._holders = LockHolders(self._released)
        self._queued: dict[str, asyncio.Future[None]] = {}
        """Lock that a view waits for → done once it is acquired."""
        self._completing: dict[int, asyncio.Future[bytes]] = {}
        self._handling: dict[int, asyncio.Future[None]] = {}
        self._number = 0

    @property
    def handlers(self) -> Handlers:
        """Request type → handler."""
        return {
            clients.ListCells: self._list,
            clients.AcquireRanks: self._acquire_ranks,
            clients.ReleaseRanks: self._release_ranks,
            clients.Comm: self._comm,
            clients.Complete: self._complete,
            clients.ReadOutput: self._output,
        }

    def run(self, client: bytes, order: clients.Run) -> None:
        """Queue a cell.

        Args:
            client: Socket identity of the client, which gets the output unless the cell is detached.
            order: The request, with the cell's code.

        Raises:
            BadRankSet: The world has no such ranks.
            Conflict: The ranks can't run cells now.
        """
        ranks = self.usable(order.ranks)
        self._cells.add(order, ranks, client)

    def follow(self, client: bytes, order: clients.Follow) -> None:
        """Send a client all output of a cell, past and future.

        Args:
            client: Socket identity of the client.
            order: The request: which cell, and how many of its outputs the client already has.

        Raises:
            NotFound: The cell is not known.
        """
        if not self._cells.follow(order.cell, client, order.shown):
            raise NotFound(
                "The cluster no longer knows this cell.", "Its output may still be in the journal."
            )

    def calls_lost(self) -> None:
        """ipyparallel's controller has ended: calls in flight get no answer, so their ranks are released."""
        for lock in self._cells.running_views():
            self._holders.drop(lock)
            self._released(lock)

    def completed(self, message: links.Completed) -> None:
        """A rank has answered a completion request."""
        future = self._completing.get(message.id)
        if future is not None and not future.done():
            future.set_result(message.data)

    def handled(self, message: links.WidgetHandled) -> None:
        """A rank's widget has processed a message of its front end."""
        future = self._handling.get(message.id)
        if future is not None and not future.done():
            future.set_result(None)

    def usable(self, wanted: tuple[int, ...] | None) -> tuple[int, ...]:
        """Check that ranks can run cells, now or once earlier cells have ended.

        Args:
            wanted: The ranks; None for all.

        Raises:
            BadRankSet: The world has no such ranks.
            Conflict: The ranks can't run cells now.
        """
        state = self._membership.state
        if state.phase == "pending" or state.phase in ENDING:
            raise Conflict(self._cluster().summary.text, "Start a cluster: %distributed start")
        ranks = chosen(state, wanted)
        refusal = _refusal(state, ranks)
        if refusal is not None:
            raise refusal
        return ranks

    async def _list(self, _: bytes, order: clients.ListCells) -> list[CellRecord]:
        return self._cells.records(last=order.last)

    async def _output(self, _: bytes, order: clients.ReadOutput) -> list[Output]:
        return self._journal.read(order.after, min(order.most, MOST_OUTPUTS), order.cell)

    async def _acquire_ranks(self, _: bytes, order: clients.AcquireRanks) -> None:
        if self._holders.knows(order.name):
            return  # a client repeats its request to renew the lock
        ranks = self.usable(order.ranks)
        if not self._holders.hold(order.name, order.pid, order.system):
            raise Conflict(
                f"Process {order.pid}, which asks for ranks, has ended.", "Create a new view: cluster.view()"
            )
        begun = self._queued[order.name] = asyncio.get_running_loop().create_future()

        def begin() -> None:
            if not begun.done():
                self._holders.acquired(order.name)
                begun.set_result(None)

        def ends(state: State) -> bool:
            if state.phase in ENDING:
                return True
            # called at every reply of every rank, so ranks are checked only if one may be lost or deaf
            out = state.phase == "degraded" or state.reason is not None
            return out and _refusal(state, ranks) is not None

        self._cells.acquire_ranks(order.name, ranks, begin)
        while not begun.done():
            await self._membership.until_done(begun, ends)
            if not begun.done() and ends(self._membership.state):
                self._holders.drop(order.name)
                self._released(order.name)
                self.usable(ranks)
        self._queued.pop(order.name, None)

    async def _release_ranks(self, _: bytes, order: clients.ReleaseRanks) -> None:
        self._holders.drop(order.name)
        self._released(order.name)

    def _released(self, lock: str) -> None:
        queued = self._queued.pop(lock, None)
        if queued is not None:
            queued.cancel()
        self._cells.release_ranks(lock)
        self._cells.go_on()

    async def _comm(self, _: bytes, order: clients.Comm) -> None:
        rank = order.rank
        if not _has(self._membership.state, rank, order.pid):
            raise Conflict(f"Rank {rank} is gone, and its widgets with it.", "Run their cell again.")
        self._number += 1
        number = self._number
        self._routes.to_rank(
            rank,
            links.Comm(
                cell=order.cell,
                kind=order.kind,
                data=order.data,
                buffers=order.buffers,
                metadata=order.metadata,
                parent=order.parent,
                id=number,
            ),
        )
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._handling[number] = future
        try:
            await self._membership.until_done(
                future, lambda s: s.phase in ENDING or not _has(s, rank, order.pid)
            )
        finally:
            del self._handling[number]

    async def _complete(self, _: bytes, order: clients.Complete) -> bytes:
        state = self._membership.state
        free = [r for r in chosen(state, order.ranks) if r not in state.busy and state.members[r].joined]
        if not free:
            return b""
        self._number += 1
        number = self._number
        future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._completing[number] = future
        self._routes.to_rank(
            free[0],
            links.Complete(
                id=number, code=order.code, cursor=order.cursor, inspect=order.inspect, detail=order.detail
            ),
        )
        try:
            async with asyncio.timeout(COMPLETED_WITHIN_S):
                return await future
        except TimeoutError:  # the rank is in a view's call: no completions now
            return b""
        finally:
            del self._completing[number]


def chosen(state: State, ranks: tuple[int, ...] | None) -> tuple[int, ...]:
    """Check a request's ranks.

    Args:
        state: State of the world, whose size limits the ranks.
        ranks: The ranks that the request names; None for all.

    Returns:
        The checked ranks; all ranks of the world where the request names none.

    Raises:
        BadRankSet: The world has no such ranks.
    """
    if ranks is None:
        return tuple(range(state.size))
    if not state.size:
        raise BadRankSet("There are no ranks yet.", "Wait until the cluster is ready.")
    return rank_sets.check(ranks, state.size)


def _refusal(state: State, ranks: tuple[int, ...]) -> Conflict | None:
    """Why these ranks can't run cells, neither now nor once earlier cells have ended; None if they can."""
    if state.phase == "ready" and state.reason is None:
        return None
    lost = sorted(set(ranks).intersection(state.lost))
    if lost:
        verb = "was" if len(lost) == 1 else "were"
        return Conflict(
            f"{rank_names.sentence_name(lost)} {verb} lost.",
            f"Restart: %distributed restart {rank_names.compact(lost)}, or use the other ranks.",
            code="rank_lost",
        )
    if state.reason is not None and state.blocked(ranks):
        code, message, hint = state.reason
        return Conflict(message, hint, code=code)
    return None


def _has(state: State, rank: int, pid: int) -> bool:
    """Whether a rank is still the same process; `pid` 0 if the client does not know the process."""
    return rank < state.size and rank not in state.lost and pid in (0, state.members[rank].pid)
