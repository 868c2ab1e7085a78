"""Steps ranks until those that wait for them in a collective can stop, too."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Protocol

from msgspec.structs import replace

from dtrain_lab.debugger import collective_waits, events, requests
from dtrain_lab.debugger.state import FIRST_THREAD, Dap, SourceLocation, State, StepsToCollective
from dtrain_lab.errors import DtrainError
from dtrain_lab.text import rank_names

GATHER_STEPS = 200
MEET_STEPS = 50
MEET_ROUNDS = 2
"""How often a rank is stepped over the same line after a pause: then it is in a loop without collectives."""
LATE_S = 5.0
"""Time after which it is said that stepped ranks have not come to the collective."""
PAUSE_POLL_S, PAUSE_POLLS = 0.01, 200


class DebugTarget(Protocol):
    """The world that is being debugged."""

    state: State

    async def ask(self, order: requests.Order) -> dict[int, Dap]:
        """Send an order to ranks, and return their answers by rank."""
        ...


class Gathering:
    """Steps ranks until those that wait for them in a collective stop, too.

    Args:
        world: The world that is being debugged.
        show: Called with the state and its events once something has changed.
    """

    def __init__(self, world: DebugTarget, show: Callable[[events.Moved], None]) -> None:
        self._world = world
        self._show = show
        self._gave_up = ""
        """Why the last steps have ended before ranks were there."""

    async def step_others(self, message: Dap) -> None:
        """Step the other ranks until the rank that waits for them in a collective returns.

        May be cancelled: a step that has begun still ends.

        Ranks that run are to stop where they leave it, which they are told before the others let them go:
        otherwise, one without a breakpoint would run on and wait in its next collective. A rank that takes a
        step of the user's stops by itself.
        """
        rank = int(message["arguments"]["rank"])
        try:
            with self._brings(self._world.state.paused) as steps:
                if not await self._step_others(message, rank):
                    self._gave_up = _why_ended(steps, self._world.state) if steps is not None else ""
        except DtrainError as error:
            self._world.state = replace(self._world.state, notes=(str(error),))
            self._show((self._world.state, (events.state_event(self._world.state),)))

    async def _step_others(self, message: Dap, rank: int) -> bool:
        """Step them; return whether the rank that waits need not be waited for any more."""
        begun = await self._behind(rank)
        stepping = self._world.state.stepping
        waiting = [r for r in await self._waiting() if r not in stepping]
        await self._pause([r for r in self._world.state.running if r not in stepping])
        for _ in range(GATHER_STEPS):
            if self._world.state.ranks[rank].phase != "running" or not self._world.state.paused:
                break
            paused = tuple(r for r in self._world.state.paused if r != rank)
            self._world.state, orders = requests.orders(self._world.state, message, None)
            self._world.state = replace(self._world.state, step=None)  # a step of this class, not of the user
            for order in orders:
                await self._world.ask(order)
            if not await self._waits_still(paused, rank, begun):
                break
        else:
            return False
        await self._end_lines(waiting)
        return True

    async def settle(self) -> None:
        """After a cancellation, wait until ranks have ended their step, but not longer than one takes."""
        steps = self._world.state.bringing
        if steps is not None:
            await self._until(lambda state: {*steps.ranks} <= {*state.paused})

    @contextmanager
    def _brings(self, ranks: tuple[int, ...]) -> Iterator[StepsToCollective | None]:
        """Say that ranks are stepped to where others wait, and after some time that they are late."""
        waiting = self._world.state.waiting
        name = next((operation.name for operation in waiting.values()), "")
        if not name:  # it is not known yet where running ranks are
            yield None
            return
        there = tuple(r for r, operation in waiting.items() if operation.name == name)
        steps = StepsToCollective(ranks, there, name)
        self._say(steps)
        late = asyncio.get_running_loop().call_later(LATE_S, self._say, replace(steps, late=True))
        self._gave_up = ""
        try:
            yield steps
        finally:
            late.cancel()
            self._show(events.brought(self._world.state, self._gave_up))

    def _say(self, steps: StepsToCollective) -> None:
        self._show(events.bring(self._world.state, steps))

    async def _end_lines(self, ranks: Sequence[int]) -> None:
        """Bring ranks that were paused as they left a collective to the next line, as the others are."""
        await self._until(lambda state: not {*ranks} & {*state.pausing})
        state = self._world.state
        inside = [r for r in ranks if r in state.paused and state.ranks[r].reason == "pause"]
        places = [state.ranks[r].place for r in state.paused if r not in inside]
        functions = {(place.file, place.function) for place in places if place is not None}
        await asyncio.gather(*(self._end_line(rank, functions) for rank in inside))

    async def _end_line(self, rank: int, functions: Collection[tuple[str, str]]) -> None:
        """Bring a rank from within a line to the next one.

        Args:
            rank: the rank.
            functions: file and name of the functions in which the other ranks are. One that they have called,
                where the rank may be, is left first.
        """
        answers = await self._world.ask(requests.Order("stackTrace", {rank: {}}))
        frames = answers.get(rank, {}).get("body", {}).get("stackFrames", [])
        path_of = partial(events.path_of, self._world.state)
        of = [(path_of(frame["source"].get("path", "")), frame["name"]) for frame in frames]
        depth = next((i for i, function in enumerate(of) if function in functions), 0)
        for _ in range(depth):
            await self._step(rank, "stepOut")
        place = self._world.state.ranks[rank].place
        if not depth or (place is not None and place.line == frames[depth]["line"]):
            await self._step(rank, "next")

    async def _step(self, rank: int, command: str) -> None:
        if rank not in self._world.state.paused:  # it has ended its cell, or waits again
            return
        self._world.state, orders = requests.moved(self._world.state, command, (rank,))
        self._world.state = replace(self._world.state, step=None)
        for order in orders:
            await self._world.ask(order)
        await self._until(lambda state: rank in state.paused)

    async def _until(self, reached: Callable[[State], bool]) -> None:
        """Wait until a state is reached, but not longer than a step takes."""
        for _ in range(PAUSE_POLLS):
            if reached(self._world.state):
                break
            await asyncio.sleep(PAUSE_POLL_S)

    async def meet(self) -> None:
        """After a pause, bring ranks that wait in a collective to a stop.

        They can't stop before their peers have entered the collective, so paused ranks are stepped line by
        line until all ranks are paused, as long as a running rank waits for them. One that does not come back
        from its step is in a call that waits, such as a sleep: it is paused there again. One that comes to
        the same line again and again stays there: its loop may have no collective.

        May be cancelled: a step that has begun still ends.
        """
        stepped: tuple[int, ...] = ()
        visits: Counter[tuple[int, SourceLocation | None]] = Counter()
        with ExitStack() as said:
            for _ in range(MEET_STEPS):
                for _ in range(PAUSE_POLLS):
                    await asyncio.sleep(PAUSE_POLL_S)
                    state = self._world.state
                    if not state.running or (state.paused and await self._all_wait()):
                        break
                if not self._world.state.running:
                    return
                if not self._world.state.paused:
                    await self._pause(stepped)
                    return
                if not stepped:
                    said.enter_context(self._brings(self._world.state.paused))
                stepped = self._world.state.paused
                places = [(rank, self._world.state.ranks[rank].place) for rank in stepped]
                visits.update(places)
                if all(visits[place] > MEET_ROUNDS for place in places):
                    return
                await self._step_all()

    async def _step_all(self) -> None:
        """Step all paused ranks, in whichever mode the user's steps are."""
        message = {"command": "next", "arguments": {"threadId": FIRST_THREAD}}
        mode, state = self._world.state.mode, replace(self._world.state, mode="all")
        self._world.state, orders = requests.orders(state, message, None)
        # steps of this class, not of the user
        self._world.state = replace(self._world.state, mode=mode, moving="continue", step=None, stepping=())
        for order in orders:
            await self._world.ask(order)

    async def _pause(self, ranks: Sequence[int]) -> None:
        request = {"command": "dtrain/pause", "arguments": {"ranks": list(ranks)}}
        self._world.state, orders = requests.orders(self._world.state, request, None)
        for order in orders:
            answers = await self._world.ask(order)
            asked = {r for r, answer in answers.items() if answer.get("success")}
            pausing = {*self._world.state.pausing, *(asked & {*self._world.state.running})}
            self._world.state = replace(self._world.state, pausing=tuple(sorted(pausing)))

    async def _all_wait(self) -> bool:
        """Whether every running rank waits for a paused one."""
        running = self._world.state.running
        return all(await self._wait_for(running, self._world.state.paused))

    async def _waits_still(self, others: Sequence[int], rank: int, begun: Dap) -> bool:
        """Wait until the others are paused again; return whether the rank still waits in its collective.

        Args:
            others: ranks that were stepped.
            rank: the rank that waits for them.
            begun: process group → number of the collective in which it waits. A rank that has no reason to
                stop soon waits in its next one.
        """
        for _ in range(PAUSE_POLLS):
            await asyncio.sleep(PAUSE_POLL_S)
            if self._world.state.ranks[rank].phase == "paused":
                return False
            if set(others) <= set(self._world.state.paused):
                break
        positions = await self._where([rank, *others])
        peers = {r: positions[r] for r in others if r in positions}
        mine = positions.get(rank, {})
        numbers = mine.get("sequences", {})
        return all(numbers.get(g) == n for g, n in begun.items()) and collective_waits.waits_for(mine, peers)

    async def _behind(self, rank: int) -> Dap:
        """Process groups in which paused ranks have begun fewer collectives than a rank → its number."""
        positions = await self._where([rank, *self._world.state.paused])
        numbers = positions.pop(rank, {}).get("sequences", {})
        return {
            g: n
            for g, n in numbers.items()
            if any(s.get("sequences", {}).get(g, n) < n for s in positions.values())
        }

    async def _wait_for(self, ranks: Sequence[int], others: Sequence[int]) -> list[bool]:
        """Return, for each rank, whether it waits for one of the others."""
        positions = await self._where([*ranks, *others])
        peers = {r: positions[r] for r in others if r in positions}
        return [collective_waits.waits_for(positions.get(r, {}), peers) for r in ranks]

    async def _waiting(self) -> list[int]:
        """Running ranks that are in a collective."""
        positions = await self._where(self._world.state.running)
        return [r for r, position in positions.items() if position.get("operation")]

    async def _where(self, ranks: Sequence[int]) -> dict[int, Dap]:
        """Positions of ranks: their answers to `where`, by rank."""
        answers = await self._world.ask(requests.Order("where", {r: {} for r in set(ranks)}))
        return {r: a.get("body", {}) for r, a in answers.items()}


def _why_ended(steps: StepsToCollective, state: State) -> str:
    """Return why steps have ended that a rank has not come to its collective by."""
    ranks = [r for r in steps.ranks if r in state.paused] or list(steps.ranks)
    text = f"{rank_names.sentence_name(ranks)} did not come to {steps.name} within {GATHER_STEPS} steps."
    return f"{text} {'Its' if len(ranks) == 1 else 'Their'} code may be in a loop that does not lead there."
