"""Drives the membership state machine: feeds it events and carries out the actions that it returns."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from typing import Any, Protocol

from dtrain_lab.machine import supervision
from dtrain_lab.wire.endings import Ending
from dtrain_lab.world import State, initial, step
from dtrain_lab.world import actions as do
from dtrain_lab.world import events as on
from dtrain_lab.world.events import Event

PATIENT = ("peers",)
"""Timers that are suspended while ranks are paused: what their peers wait for may still come."""


class Executor(Protocol):
    """Carries out the state machine's actions; implemented in `ownership.executor`."""

    def fork(self, ranks: tuple[int, ...]) -> None:
        """Fork processes for ranks."""

    def form(self, generation: int, joining: tuple[int, ...]) -> None:
        """Tell all ranks to form the process group of a generation.

        Args:
            generation: Number of the new group.
            joining: Ranks with new processes, which have no group yet.
        """

    def signal(self, ranks: tuple[int, ...], number: int) -> None:
        """Send a signal to ranks.

        Args:
            ranks: Ranks that get it, with their child processes.
            number: Number of the signal, such as SIGINT.
        """

    def end_ranks(self, ranks: tuple[int, ...]) -> None:
        """Tell ranks to exit by themselves."""

    def abort(self, ranks: tuple[int, ...], hooks: bool) -> None:
        """Abort the collectives that ranks wait in.

        Args:
            ranks: The ranks.
            hooks: Also interrupt the Python code that backward runs on torch's own threads.
        """

    def fail_cell(self, rank: int, message: str, *, stopped: bool, ending: Ending | None) -> None:
        """Fail the cell of a rank that will never reply.

        Args:
            rank: Number of the rank.
            message: How it ended, for the user.
            stopped: The rank was stopped with its cluster; False if it died.
            ending: Who stopped the cluster; None if unknown, or if nobody did.
        """

    def give_up(self, ranks: tuple[int, ...]) -> None:
        """End the cells of unresponsive ranks without them."""

    def end(self) -> None:
        """End the world."""

    def paused(self) -> bool:
        """Whether a debugger holds ranks."""


class Membership:
    """A world's state and its timers.

    Args:
        executor: Carries out the actions.
        moved: Called whenever the world has a new state, after the actions.
    """

    def __init__(self, executor: Executor, moved: Callable[[State], None]) -> None:
        self.state: State = initial()
        self._executor = executor
        self._moved = moved
        self._timers: dict[tuple[str, int], asyncio.TimerHandle] = {}
        self._waiting: list[tuple[Callable[[State], bool], asyncio.Future[State]]] = []

    def happened(self, event: Event) -> None:
        """Feed an event to the state machine, and carry out its actions."""
        before = self.state
        self.state, actions = step(before, event)
        failures = [failure for action in actions if (failure := self._try(action)) is not None]
        self._moved(self.state)
        for wanted, future in list(self._waiting):
            if wanted(self.state) and not future.done():
                future.set_result(self.state)
        if failures and self.state.phase in ("pending", "starting"):
            self.happened(on.NodeFailed(0, failures[0], "Its log has the details."))

    def _try(self, action: do.Action) -> str | None:
        """Carry out an action; its failure must not cost the other actions. Returns why it failed."""
        try:
            self._do(action)
        except Exception as error:  # noqa: BLE001 # reported as the start's failure, where one is on
            supervision.here().fault("head.action", error)
            return f"the head could not carry out {type(action).__name__}: {supervision.say(error)}"
        return None

    async def until(self, wanted: Callable[[State], bool]) -> State:
        """Wait until the state meets a condition."""
        if wanted(self.state):
            return self.state
        future: asyncio.Future[State] = asyncio.get_running_loop().create_future()
        entry = (wanted, future)
        self._waiting.append(entry)
        try:
            return await future
        finally:
            self._waiting.remove(entry)

    async def until_done(self, future: asyncio.Future[Any], wanted: Callable[[State], bool]) -> None:
        """Wait until a future is done, or the state meets a condition.

        Args:
            future: The future; it is not cancelled if the condition is met first.
            wanted: The condition, evaluated at each change of the state.
        """
        met = asyncio.ensure_future(self.until(wanted))
        waiting: set[asyncio.Future[Any]] = {future, met}
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            met.cancel()

    def close(self) -> None:
        """Cancel all timers."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _do(self, action: do.Action) -> None:
        executor = self._executor
        match action:
            case do.ForkRanks(ranks):
                executor.fork(ranks)
            case do.FormGroup(generation, joining):
                executor.form(generation, joining)
            case do.SignalRanks(ranks):
                executor.signal(ranks, signal.SIGINT)
            case do.AbortRanks(ranks, hooks):
                executor.abort(ranks, hooks)
            case do.EndRanks(ranks):
                executor.end_ranks(ranks)
            case do.KillRanks(ranks):
                executor.signal(ranks, signal.SIGKILL)
            case do.FailCell(rank, message, stopped, ending):
                executor.fail_cell(rank, message, stopped=stopped, ending=ending)
            case do.GiveUp(ranks):
                executor.give_up(ranks)
            case do.StartTimer():
                self._start(action)
            case do.StopTimer(timer):
                for key in [key for key in self._timers if key[0] == timer]:
                    self._timers.pop(key).cancel()
            case do.EndWorld():
                executor.end()

    def _start(self, order: do.StartTimer) -> None:
        key = order.timer, order.interrupt
        if key in self._timers:
            self._timers[key].cancel()
        self._timers[key] = asyncio.get_running_loop().call_later(order.seconds, self._fired, order)

    def _fired(self, order: do.StartTimer) -> None:
        if order.timer in PATIENT and self._executor.paused():
            self._start(order)
        else:
            del self._timers[order.timer, order.interrupt]
            self.happened(on.TimerFired(order.timer, order.interrupt))
