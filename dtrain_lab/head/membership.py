"""Drives the membership state machine: feeds it what happened, does what it says."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from typing import Protocol

from dtrain_lab.core.world import State, initial, step
from dtrain_lab.core.world import actions as do
from dtrain_lab.core.world import events as on
from dtrain_lab.core.world.events import Event

PATIENT = ("peers",)
"""Timers that wait while ranks are paused: what their peers wait for may still come."""


class Hands(Protocol):
    """What a world does through its head."""

    def fork(self, ranks: tuple[int, ...]) -> None:
        """Make processes for ranks."""

    def form(self, generation: int, joining: tuple[int, ...]) -> None:
        """Have all ranks form a group."""

    def signal(self, ranks: tuple[int, ...], number: int) -> None:
        """Send a signal to ranks."""

    def abort(self, ranks: tuple[int, ...]) -> None:
        """Break the collectives that ranks wait in."""

    def fail_cell(self, rank: int, message: str) -> None:
        """A rank will never answer its cell."""

    def give_up(self, ranks: tuple[int, ...]) -> None:
        """Ranks do not answer: their cells end without them."""

    def end(self) -> None:
        """End everything."""

    def moved(self, state: State) -> None:
        """The world is in a new state."""

    def paused(self) -> bool:
        """Somebody looks at ranks that stand still."""


class Membership:
    """A world's state, and the timers that belong to it."""

    def __init__(self, hands: Hands) -> None:
        self.state: State = initial()
        self._hands = hands
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._waiting: list[tuple[Callable[[State], bool], asyncio.Future[State]]] = []

    def happened(self, event: Event) -> None:
        """Learn something, and act on it."""
        before = self.state
        self.state, actions = step(before, event)
        for action in actions:
            self._do(action)
        self._hands.moved(self.state)
        for wanted, future in list(self._waiting):
            if wanted(self.state) and not future.done():
                future.set_result(self.state)

    async def until(self, wanted: Callable[[State], bool]) -> State:
        """Wait for a state."""
        if wanted(self.state):
            return self.state
        future: asyncio.Future[State] = asyncio.get_running_loop().create_future()
        entry = (wanted, future)
        self._waiting.append(entry)
        try:
            return await future
        finally:
            self._waiting.remove(entry)

    def close(self) -> None:
        """Stop all timers."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _do(self, action: do.Action) -> None:
        hands = self._hands
        match action:
            case do.ForkRanks(ranks):
                hands.fork(ranks)
            case do.FormGroup(generation, joining):
                hands.form(generation, joining)
            case do.SignalRanks(ranks):
                hands.signal(ranks, signal.SIGINT)
            case do.AbortRanks(ranks):
                hands.abort(ranks)
            case do.KillRanks(ranks):
                hands.signal(ranks, signal.SIGKILL)
            case do.FailCell(rank, message):
                hands.fail_cell(rank, message)
            case do.GiveUp(ranks):
                hands.give_up(ranks)
            case do.StartTimer(timer, seconds):
                self._start(timer, seconds)
            case do.StopTimer(timer):
                self._stop(timer)
            case do.EndWorld():
                hands.end()

    def _start(self, timer: on.Timer, seconds: float) -> None:
        self._stop(timer)
        loop = asyncio.get_running_loop()
        self._timers[timer] = loop.call_later(seconds, self._fired, timer, seconds)

    def _fired(self, timer: on.Timer, seconds: float) -> None:
        if timer in PATIENT and self._hands.paused():
            self._start(timer, seconds)
        else:
            self.happened(on.TimerFired(timer))

    def _stop(self, timer: on.Timer) -> None:
        running = self._timers.pop(timer, None)
        if running is not None:
            running.cancel()
