"""Debug broker: relays between one debugging client and the debuggers of the ranks."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import TypeVar

from dtrain_lab.errors import Conflict
from dtrain_lab.head.lock_holders import LockHolders
from dtrain_lab.head.ownership.rank_routes import RankRoutes
from dtrain_lab.head.requests import Handlers
from dtrain_lab.machine import processes
from dtrain_lab.wire import clients, links
from dtrain_lab.wire.stacks import Frame

HELD_S = 10.0
"""A client that is silent for longer loses the debugger; seconds."""
RELEASED_WITHIN_S = 1.0
DETACH_WITHIN_S = 5.0
NAME = "debugger"
T = TypeVar("T")


@dataclass
class DebugClient:
    """The client that debugs."""

    client: bytes
    who: str
    heard: float


class DebugBroker:
    """Relays debug requests to ranks, and their answers and events to the one client that debugs.

    Other clients are told who debugs.

    Args:
        routes: Connections to the ranks.
        to_client: Sends a frame to a client.
        changed: Called when ranks have paused or continued.
    """

    def __init__(
        self, routes: RankRoutes, to_client: Callable[[bytes, bytes], None], changed: Callable[[], None]
    ) -> None:
        self._routes = routes
        self._to_client = to_client
        self._changed = changed
        self._holder: DebugClient | None = None
        self._watched = LockHolders(self._gone)
        self._number = 0
        self._asked: dict[int, tuple[int, asyncio.Future[bytes]]] = {}
        self._attached: set[int] = set()
        self._pausing: set[int] = set()
        """Ranks that were asked to pause. A rank in a collective pauses once it is back in Python."""
        self.paused: dict[int, str] = {}
        """Rank that is paused → the error that it has stopped at; empty for another reason."""
        self.stopped_at: dict[int, Frame] = {}
        """Rank that is paused → its innermost frame, if that is in the user's code."""

    def acquire(self, client: bytes, order: clients.AcquireDebugger) -> None:
        """Take or keep the debugger for a client.

        Args:
            client: Socket identity of the client.
            order: The request, with the process whose end releases the debugger.

        Raises:
            Conflict: Another client holds the debugger.
        """
        holder = self._holder
        if holder is not None and holder.client != client:
            # a notebook tells its path; an editor's name may have a slash, too
            who = PurePath(holder.who).name if holder.who.endswith(".ipynb") else holder.who
            raise Conflict(
                f"{who} is debugging these ranks.",
                "Turn the debugger off there first.",
                code="debugger_held",
            )
        if holder is None and processes.is_here(order.system):
            self._watched.hold(NAME, order.pid, order.system)
        self._holder = DebugClient(client, order.who, time.monotonic())

    async def _detach_and_wait(self, client: bytes, _: clients.ReleaseDebugger) -> None:
        """Release the debugger; returns once the ranks have detached."""
        if self._holder is not None and self._holder.client == client:
            futures = self.detach()
            if futures:
                await asyncio.wait(futures, timeout=DETACH_WITHIN_S)

    @property
    def handlers(self) -> Handlers:
        """Request type → handler."""
        return {clients.ReleaseDebugger: self._detach_and_wait, clients.DebugRequest: self._ask}

    def check_client(self) -> None:
        """Release the debugger of a silent client."""
        if self._holder is not None and time.monotonic() - self._holder.heard > HELD_S:
            self.detach()

    def detach(self) -> list[asyncio.Future[bytes]]:
        """Release the debugger: ranks continue. Returns the futures of their answers."""
        self._holder = None
        self._watched.drop(NAME)
        there = set(self._routes.ranks)
        futures = [self._send(rank, "detach", b"{}") for rank in sorted(self._attached & there)]
        self._attached.clear()
        self._pausing.clear()
        self._set_paused({}, {})
        return futures

    def _gone(self, _: str) -> None:
        """The debugging client's process has ended."""
        self.detach()

    async def _ask(self, client: bytes, order: clients.DebugRequest) -> dict[int, bytes]:
        """Send a request to the debuggers of ranks; a rank that does not answer in time gets an error answer.

        Raises:
            Conflict: The client does not hold the debugger.
        """
        if self._holder is None or self._holder.client != client:
            raise Conflict("Another client is debugging these ranks.", "Turn the debugger on.")
        self._holder.heard = time.monotonic()
        there = set(self._routes.ranks)
        answers = {
            rank: _no(self._routes.absent(rank), absent=True) for rank in order.arguments if rank not in there
        }
        if order.command == "attach":
            self._attached |= there & set(order.arguments)
        elif order.command == "pause":
            self._pausing |= there & set(order.arguments)
        futures = {
            rank: self._send(rank, order.command, data)
            for rank, data in order.arguments.items()
            if rank in there
        }
        if order.command == "attach" and self.paused:  # such as ranks on a job's hosts that connect later
            self._say_held(there.intersection(order.arguments), held=True)
        if futures:
            done, _ = await asyncio.wait(futures.values(), timeout=order.within_s)
            for rank, future in futures.items():
                answers[rank] = (
                    future.result() if future in done else _no(f"gave no answer within {order.within_s:g} s")
                )
        return answers

    def stops(self, ranks: tuple[int, ...]) -> bool:
        """Whether a debugger has paused any of these ranks, or was asked to."""
        return not {*self.paused, *self._pausing}.isdisjoint(ranks)

    async def release(self, ranks: tuple[int, ...]) -> None:
        """End stops and cancel pending pauses: an interrupt follows, for which stopped ranks wait."""
        futures = [self._send(rank, "release", b"{}") for rank in ranks if rank in self.paused]
        pausing = self._pausing.intersection(ranks)
        self._pausing -= pausing
        futures += [self._send(rank, "unpause", b"{}") for rank in sorted(pausing.difference(self.paused))]
        if futures:
            await asyncio.wait(futures, timeout=RELEASED_WITHIN_S)

    def answered(self, message: links.DebugResponse) -> None:
        """A rank's debugger has answered."""
        _, future = self._asked.pop(message.id, (0, None))
        if future is not None and not future.done():
            future.set_result(message.data)

    def happened(self, message: links.DebugEvent) -> None:
        """A rank's debugger has sent an event."""
        rank = message.rank
        paused, stopped_at = _without(rank, self.paused), _without(rank, self.stopped_at)
        if message.paused:
            self._pausing.discard(rank)
            paused[rank] = message.error
            if message.frame is not None:
                stopped_at[rank] = message.frame
        self._set_paused(paused, stopped_at)
        self._notify(rank, message.data)

    def forget(self, rank: int) -> None:
        """A rank's process has ended."""
        for number, (of, future) in list(self._asked.items()):
            if of == rank:
                del self._asked[number]
                if not future.done():
                    future.set_result(_no("has ended"))
        self._pausing.discard(rank)
        self._set_paused(_without(rank, self.paused), _without(rank, self.stopped_at))
        if rank in self._attached:
            self._attached.discard(rank)
            self._notify(rank, json.dumps({"event": "gone", "body": {}}).encode())

    def _send(self, rank: int, command: str, arguments: bytes) -> asyncio.Future[bytes]:
        self._number += 1
        future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._asked[self._number] = rank, future
        number = self._number
        future.add_done_callback(lambda _: self._asked.pop(number, None))
        self._routes.to_rank(
            rank, links.DebugRequest(rank=rank, id=number, command=command, arguments=arguments)
        )
        return future

    def _notify(self, rank: int, data: bytes) -> None:
        if self._holder is not None:
            self._to_client(self._holder.client, clients.encode(clients.DebugEvent(rank, data)))

    def _say_held(self, ranks: Iterable[int], *, held: bool) -> None:
        arguments = json.dumps({"held": held}).encode()
        for rank in sorted(ranks):
            self._send(rank, "held", arguments)

    def _set_paused(self, paused: dict[int, str], stopped_at: dict[int, Frame]) -> None:
        if bool(paused) != bool(self.paused):  # steps of this time are none of training, on any rank
            self._say_held(self._attached.intersection(self._routes.ranks), held=bool(paused))
        if (paused, stopped_at) != (self.paused, self.stopped_at):
            self.paused, self.stopped_at = paused, stopped_at
            self._changed()


def _without(rank: int, ranks: Mapping[int, T]) -> dict[int, T]:
    return {other: value for other, value in ranks.items() if other != rank}


def _no(why: str, *, absent: bool = False) -> bytes:
    return json.dumps({"success": False, "message": f"The rank {why}.", "absent": absent}).encode()
