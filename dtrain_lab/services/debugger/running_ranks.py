"""Where running ranks are while others are paused: looked up again and again, since they report nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from dtrain_lab.debugger import events, requests
from dtrain_lab.debugger.state import Dap, State
from dtrain_lab.errors import DtrainError
from dtrain_lab.services.connection import Connection

POLL_S = 0.3


class DebugTarget(Protocol):
    """The world that is being debugged."""

    state: State

    @property
    def holds(self) -> Connection | None: ...
    async def ask(self, order: requests.Order) -> dict[int, Dap]: ...


class RunningRanks:
    """Looks at running ranks while some are paused or pausing, or in a collective from before.

    Args:
        world: The world that is being debugged.
        show: Called with the state and its events once something has changed.
    """

    def __init__(self, world: DebugTarget, show: Callable[[events.Moved], None]) -> None:
        self._world, self._show = world, show

    async def watch(self) -> None:
        """Look until the world is not debugged any more."""
        while self._world.holds is not None:
            await asyncio.sleep(POLL_S)
            before = self._world.state
            # "idle" is only this client's view: a cell of another client may run there
            others = [r.rank for r in before.ranks if r.attached and r.phase in ("running", "idle")]
            if not _wanted(before) or not others:
                continue
            try:
                answers = await self._world.ask(requests.Order("where", {r: {} for r in others}))
            except DtrainError:  # after a cut, until the head takes this client's claim again; or it is lost
                continue
            if not _wanted(
                self._world.state
            ):  # continued meanwhile: these would be shown until the next stop
                continue
            for rank, answer in answers.items():
                if answer.get("success"):
                    self._world.state = events.record_location(self._world.state, rank, answer["body"])
            if self._world.state != before:
                self._show(events.left(before, self._world.state))


def _wanted(state: State) -> bool:
    """Whether positions of running ranks are of interest."""
    return bool(state.paused or state.began_before or state.pausing)
