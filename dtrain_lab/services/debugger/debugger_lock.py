"""Keeps a world's debugger for this client, also across an interruption of the network."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Protocol

from dtrain_lab.debugger.requests import Order
from dtrain_lab.debugger.state import Dap, State
from dtrain_lab.errors import DtrainError, Unreachable
from dtrain_lab.services.connection import Connection
from dtrain_lab.wire import clients

RENEW_S = 4.0
PATIENT_S = 20.0
"""Seconds after a lost answer in which a refusal may be due to this client's former identity: more than the
head takes to release the debugger of a silent client."""


class DebugTarget(Protocol):
    """The world that is being debugged."""

    state: State

    @property
    def holds(self) -> Connection | None: ...
    async def begin(self, connection: Connection) -> None: ...
    def resized(self, size: int) -> None: ...
    async def ask(self, order: Order) -> dict[int, Dap]: ...


class DebuggerLock:
    """Renews the claim of a client on a world's debugger.

    Args:
        world: The world that is being debugged.
        connection: Connection to its head.
        order: The claim.
        ended: Called when the world has ended.
        lost: Called when another client debugs it.
    """

    def __init__(
        self,
        world: DebugTarget,
        connection: Connection,
        order: clients.AcquireDebugger,
        ended: Callable[[], None],
        lost: Callable[[], None],
    ) -> None:
        self._world = world
        self._connection = connection
        self._order = order
        self._ended = ended
        self._lost = lost
        self._cut_at: float | None = None
        """Monotonic time of the last lost answer; None once the head has answered again."""

    async def renew(self) -> None:
        """Renew the claim every few seconds, until the world is not debugged any more."""
        while self._holds:
            await asyncio.sleep(RENEW_S)
            if not self._holds:
                return
            try:
                self._world.resized(await self._connection.ask(self._order))
                if self._cut_at is not None:
                    await self._attach_again()
                    self._cut_at = None
            except Unreachable as error:
                if error.code == "ended":  # its head is gone, and with it the world: no rank was lost
                    self._ended()
                    return
                self._cut_at = time.monotonic()  # network cut, or head busy: the ranks still exist
            except DtrainError:
                # on a new connection, the head takes this client for another one
                if self._cut_at is None or time.monotonic() - self._cut_at > PATIENT_S:
                    self._lost()
                    return

    @property
    def _holds(self) -> bool:
        return self._world.holds is self._connection and not self._connection.closed

    async def _attach_again(self) -> None:
        """Attach to ranks that the head released while this client was cut off."""
        state = self._world.state
        released = [rank for rank in state.attached if rank not in state.pausing]
        # refused by ranks that are not being debugged, and without effect on the others
        answers = await self._world.ask(Order("unpause", {rank: {} for rank in released}))
        free = [rank for rank, answer in answers.items() if not answer.get("success")]
        state = self._world.state.resumed(free)
        for rank in free:
            state = state.rank(rank, attached=False, phase="idle", place=None, operation=None)
        self._world.state = state
        await self._world.begin(self._connection)
