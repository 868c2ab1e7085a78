"""Between whoever debugs a world and the debuggers of its ranks. One at a time: others are told who."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass

from dtrain_lab.core.wire import doors, links
from dtrain_lab.errors import Conflict
from dtrain_lab.head.turn_holders import TurnHolders

HELD_S = 10.0
"""A holder that is silent for longer has gone."""
RELEASED_WITHIN_S = 1.0
LET_GO_WITHIN_S = 5.0
NAME = "debugger"


@dataclass
class Holder:
    """Who debugs."""

    door: bytes
    who: str
    heard: float


class Relay:
    """Requests to ranks, their answers and events back.

    Args:
        to_rank: sends to a rank.
        to_door: sends to a door.
        ranks: that are there now.
        changed: called when ranks have stopped or run on.
    """

    def __init__(
        self,
        to_rank: Callable[[int, links.Message], None],
        to_door: Callable[[bytes, bytes], None],
        ranks: Callable[[], tuple[int, ...]],
        changed: Callable[[], None],
        absent: Callable[[int], str] = lambda rank: "has ended",
    ) -> None:
        self._to_rank = to_rank
        self._to_door = to_door
        self._ranks = ranks
        self._changed = changed
        self._absent = absent
        self._holder: Holder | None = None
        self._watched = TurnHolders(self._gone)
        self._number = 0
        self._asked: dict[int, tuple[int, asyncio.Future[bytes]]] = {}
        self._attached: set[int] = set()
        self.paused: set[int] = set()

    def hold(self, door: bytes, order: doors.HoldDebugger) -> int:
        """Be the one who debugs; returns how many ranks are there.

        Raises:
            Conflict: somebody else is.
        """
        holder = self._holder
        if holder is not None and holder.door != door:
            raise Conflict(
                f"{holder.who} debugs these ranks.",
                "Turn its debugger off first. It is let go when it ends, too.",
                code="debugger_held",
            )
        if holder is None and order.host == socket.gethostname():
            self._watched.hold(NAME, order.pid)
        self._holder = Holder(door, order.who, time.monotonic())
        return len(self._ranks())

    async def leave(self, door: bytes) -> None:
        """Debug no more; returns once nothing of it is left in the ranks."""
        if self._holder is not None and self._holder.door == door:
            futures = self.let_go()
            if futures:
                await asyncio.wait(futures, timeout=LET_GO_WITHIN_S)

    def look(self) -> None:
        """Let ranks go whose holder is silent."""
        if self._holder is not None and time.monotonic() - self._holder.heard > HELD_S:
            self.let_go()

    def let_go(self) -> list[asyncio.Future[bytes]]:
        """Nobody debugs any more: ranks run on. Their answers come."""
        self._holder = None
        self._watched.drop(NAME)
        there = set(self._ranks())
        futures = [self._send(rank, "detach", b"{}") for rank in sorted(self._attached & there)]
        self._attached.clear()
        self._set_paused(set())
        return futures

    def _gone(self, _: str) -> None:
        """The holder's process has ended."""
        self.let_go()

    async def ask(self, door: bytes, order: doors.Debug) -> dict[int, bytes]:
        """Ask debuggers; a rank that does not answer in time says so.

        Raises:
            Conflict: the door does not hold the debugger.
        """
        if self._holder is None or self._holder.door != door:
            raise Conflict("This is not the one who debugs these ranks.", "Turn the debugger on.")
        self._holder.heard = time.monotonic()
        there = set(self._ranks())
        answers = {rank: _no(self._absent(rank)) for rank in order.arguments if rank not in there}
        if order.command == "attach":
            self._attached |= there & set(order.arguments)
        futures = {
            rank: self._send(rank, order.command, data)
            for rank, data in order.arguments.items()
            if rank in there
        }
        if futures:
            done, _ = await asyncio.wait(futures.values(), timeout=order.within_s)
            for rank, future in futures.items():
                answers[rank] = (
                    future.result() if future in done else _no(f"gave no answer within {order.within_s:g} s")
                )
        return answers

    async def release(self, ranks: tuple[int, ...]) -> None:
        """Have paused ranks run on: an interrupt is on its way to them."""
        futures = [self._send(rank, "release", b"{}") for rank in ranks if rank in self.paused]
        if futures:
            await asyncio.wait(futures, timeout=RELEASED_WITHIN_S)

    def answered(self, message: links.Debugged) -> None:
        """A rank has answered."""
        _, future = self._asked.pop(message.id, (0, None))
        if future is not None and not future.done():
            future.set_result(message.data)

    def happened(self, message: links.DebugEvent) -> None:
        """Something has happened in a rank's debugger."""
        rank = message.rank
        self._set_paused(self.paused | {rank} if message.paused else self.paused - {rank})
        self._tell(rank, message.data)

    def forget(self, rank: int) -> None:
        """A rank's process is gone."""
        for number, (of, future) in list(self._asked.items()):
            if of == rank:
                del self._asked[number]
                if not future.done():
                    future.set_result(_no("has ended"))
        self._set_paused(self.paused - {rank})
        if rank in self._attached:
            self._attached.discard(rank)
            self._tell(rank, json.dumps({"event": "gone", "body": {}}).encode())

    def _send(self, rank: int, command: str, arguments: bytes) -> asyncio.Future[bytes]:
        self._number += 1
        future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._asked[self._number] = rank, future
        number = self._number
        future.add_done_callback(lambda _: self._asked.pop(number, None))
        self._to_rank(rank, links.Debug(rank=rank, id=number, command=command, arguments=arguments))
        return future

    def _tell(self, rank: int, data: bytes) -> None:
        if self._holder is not None:
            self._to_door(self._holder.door, doors.encode(doors.DebugEvent(rank, data)))

    def _set_paused(self, paused: set[int]) -> None:
        if paused != self.paused:
            self.paused = paused
            self._changed()


def _no(why: str) -> bytes:
    return json.dumps({"success": False, "message": f"The rank {why}."}).encode()
