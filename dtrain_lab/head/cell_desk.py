"""What doors ask about cells: run, follow, list them; take turns with them; reach what they left behind."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from dtrain_lab.core import ranks as rank_sets
from dtrain_lab.core.cluster import CellRecord, Output
from dtrain_lab.core.wire import doors, links
from dtrain_lab.errors import BadRankSet, Conflict, NotFound
from dtrain_lab.head.turn_holders import TurnHolders

if TYPE_CHECKING:
    from dtrain_lab.head.main import Head

COMPLETED_WITHIN_S = 1.0
"""A rank that runs something answers nothing: a person who types does not wait for it."""
MOST_OUTPUTS = 10_000
OVER = ("stopping", "stopped", "failed")


class CellDesk:
    """Cells, as doors see them."""

    def __init__(self, head: Head) -> None:
        self._head = head
        self._holders = TurnHolders(self._given)
        self._completing: dict[int, asyncio.Future[bytes]] = {}
        self._number = 0

    @property
    def handlers(self) -> dict[type, Callable[[bytes, Any], Awaitable[Any]]]:
        """By the kind of question."""
        return {
            doors.ListCells: self._list,
            doors.TakeTurn: self._take_turn,
            doors.GiveTurn: self._give_turn,
            doors.Comm: self._comm,
            doors.Complete: self._complete,
            doors.ReadOutput: self._output,
        }

    def ranks(self, ranks: tuple[int, ...] | None) -> tuple[int, ...]:
        """A question's ranks, checked; all where it names none."""
        size = self._head.membership.state.size
        if ranks is None:
            return tuple(range(size))
        if not size:
            raise BadRankSet("There are no ranks yet.", "Wait until the cluster is ready.")
        return rank_sets.check(ranks, size)

    def run(self, door: bytes, order: doors.Run) -> None:
        """Queue a cell.

        Raises:
            BadRankSet, Conflict: it can't run.
        """
        ranks = self._usable(order.ranks)
        self._head.cells.add(order, ranks, door, ready=self._ready())

    def follow(self, door: bytes, order: doors.Follow) -> None:
        """Send a door everything of a cell.

        Raises:
            NotFound: it is not known.
        """
        if not self._head.cells.follow(order.cell, door, order.shown):
            raise NotFound("This cell is not known any more.", "Its output may still be in the journal.")

    def calls_lost(self) -> None:
        """ipyparallel's controller has ended: calls that were on their way are not answered any more."""
        for turn in self._head.cells.others_running():
            self._holders.drop(turn)
            self._given(turn)

    def completed(self, message: links.Completed) -> None:
        """A rank has answered."""
        asked = self._completing.get(message.id)
        if asked is not None and not asked.done():
            asked.set_result(message.data)

    def _usable(self, wanted: tuple[int, ...] | None) -> tuple[int, ...]:
        state = self._head.membership.state
        if state.phase == "pending" or state.phase in OVER:
            raise Conflict(self._head.cluster().summary.text, "Start a cluster: %distributed start")
        ranks = self.ranks(wanted)
        lost = [rank for rank in ranks if rank in state.lost]
        if lost:
            verb = "was" if len(lost) == 1 else "were"
            raise Conflict(
                f"{rank_sets.sentence_name(lost)} {verb} lost.",
                f"Restart: %distributed restart {rank_sets.compact(lost)}, or use the other ranks.",
                code="rank_lost",
            )
        if set(ranks) & set(state.deaf) and state.reason is not None:
            raise Conflict(state.reason[1], state.reason[2], code=state.reason[0])
        if state.phase == "degraded" and state.reason is not None:
            raise Conflict(state.reason[1], state.reason[2], code=state.reason[0])
        return ranks

    def _ready(self) -> bool:
        state = self._head.membership.state
        return state.phase in ("ready", "degraded") and not state.forming

    async def _list(self, _: bytes, __: doors.ListCells) -> list[CellRecord]:
        return self._head.cells.records()

    async def _output(self, _: bytes, order: doors.ReadOutput) -> list[Output]:
        return self._head.journal.read(order.after, min(order.most, MOST_OUTPUTS), order.cell)

    async def _take_turn(self, _: bytes, order: doors.TakeTurn) -> None:
        ranks = self._usable(order.ranks)
        if not self._holders.hold(order.turn, order.pid):
            return
        begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def begin() -> None:
            if not begun.done():
                begun.set_result(None)

        self._head.cells.take_turn(order.turn, ranks, begin, ready=self._ready())
        over = asyncio.ensure_future(self._head.membership.until(lambda s: s.phase in OVER))
        waiting: set[asyncio.Future[Any]] = {begun, over}
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        over.cancel()
        if not begun.done():
            self._holders.drop(order.turn)
            raise Conflict(self._head.cluster().summary.text, "Start a cluster: %distributed start")

    async def _give_turn(self, _: bytes, order: doors.GiveTurn) -> None:
        self._holders.drop(order.turn)
        self._given(order.turn)

    def _given(self, turn: str) -> None:
        self._head.cells.give_turn(turn)
        if self._ready():
            self._head.cells.go_on()

    async def _comm(self, _: bytes, order: doors.Comm) -> None:
        self._head.to_rank(
            order.rank, links.Comm(cell=order.cell, kind=order.kind, data=order.data, buffers=order.buffers)
        )

    async def _complete(self, _: bytes, order: doors.Complete) -> bytes:
        state = self._head.membership.state
        free = [r for r in self.ranks(order.ranks) if r not in state.busy and state.members[r].joined]
        if not free:
            return b""
        self._number += 1
        number = self._number
        asked: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._completing[number] = asked
        self._head.to_rank(
            free[0],
            links.Complete(
                id=number, code=order.code, cursor=order.cursor, inspect=order.inspect, detail=order.detail
            ),
        )
        try:
            async with asyncio.timeout(COMPLETED_WITHIN_S):
                return await asked
        except TimeoutError:  # it runs a view's call: no completions now
            return b""
        finally:
            del self._completing[number]
