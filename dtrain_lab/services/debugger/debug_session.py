"""A client's debugger of a world's ranks: the I/O around the pure state in `debugger`."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import time
from collections.abc import Awaitable, Callable, Sequence

import msgspec
from msgspec.structs import replace

from dtrain_lab.debugger import compare_values, events, replies, requests
from dtrain_lab.debugger.state import Dap, JobCode, Outcome, State, sized
from dtrain_lab.errors import BadRequest, DtrainError, Unreachable
from dtrain_lab.machine import processes, supervision
from dtrain_lab.services.connection import Connection
from dtrain_lab.services.debugger import across
from dtrain_lab.services.debugger.debugger_lock import DebuggerLock
from dtrain_lab.services.debugger.running_ranks import RunningRanks
from dtrain_lab.services.debugger.step_to_collective import Gathering
from dtrain_lab.wire import clients
from dtrain_lab.wire.clients import NOT_YET

ATTACH_WITHIN_S = 30.0
ATTACH_EVERY_S = 0.3
Kernel = Callable[[Dap], Awaitable[Dap]]
MOVES = ("continue", "next", "stepIn", "stepOut", "dtrain/gather")
ENDS_STEPS = (*MOVES, "pause", "dtrain/pause", "disconnect", "terminate")
WHILE_ATTACHING = ("dumpCell", "setBreakpoints", "setExceptionBreakpoints", "dtrain/breakpoint")


class DebugSession:
    """Debugs the ranks of one world at a time. Lives in the event loop of its connection.

    Args:
        who: Name of this client in errors for other clients: a notebook's path, or "a terminal".
        emit: Called with each event for the front end, in that loop.
    """

    def __init__(self, who: str, emit: Callable[[Dap], None]) -> None:
        self.state = State()
        self.stops = 0
        """Number of times that a rank has stopped so far."""
        self.last_stops: dict[int, int] = {}
        """Rank → that number at its last stop."""
        self._who = who
        self._emit = emit
        self._connection: Connection | None = None
        self._renewer: supervision.BackgroundTask | None = None
        self._looker: supervision.BackgroundTask | None = None
        self._settling: asyncio.TimerHandle | None = None
        self._lock = asyncio.Lock()
        self._bringing: supervision.BackgroundTask | None = None
        """Steps ranks to a collective, until the user lets them do something else."""
        self._gathering = Gathering(self, self._show)

    # ---- the world

    @property
    def holds(self) -> Connection | None:
        """The connection to the world that is being debugged."""
        return self._connection

    async def begin(self, connection: Connection, job: JobCode | None = None) -> None:
        """Attach to all ranks of a world, and replay the front end's requests so far to them.

        Does nothing for ranks that are attached already.

        Args:
            connection: Connection to the world's head.
            job: Names of a job's cells; None for a cluster.

        Raises:
            Conflict: Another client debugs this world.
            BadRequest: A rank can't be debugged.
        """
        async with self._lock:
            if self._connection is not None and (self._connection is not connection or connection.closed):
                await self._detach()
            order = clients.AcquireDebugger(self._who, os.getpid(), processes.system())
            size: int = await connection.ask(order)
            if self._connection is None:
                self._connection = connection
                connection.on_debug = self._received
                connection.on_close.append(self._closed)
                code = job or JobCode()
                world, attaching = connection.id, self.state.on
                self.state = replace(self.state, world=world, attaching=attaching, names={})
                self.state = replace(self.state, texts=code.texts, folders=code.folders, ended=False)
                holder = DebuggerLock(self, connection, order, self._ended, self._lost)
                supervisor = supervision.here()
                self._renewer = supervisor.start_loop("debug.hold", holder.renew)
                self._looker = supervisor.start_loop("debug.look", RunningRanks(self, self._show).watch)
            self.state = sized(self.state, size)  # the world may have been resized meanwhile
            if self.state.attaching:  # state of the previous world does not apply to this one
                self._emit(events.state_event(self.state))
            try:
                await self._attach()
            finally:
                self.state = replace(self.state, attaching=False)

    async def end(self) -> None:
        """Detach from all ranks; they continue to run."""
        async with self._lock:
            await self._detach()

    async def _attach(self) -> None:
        missing = [r.rank for r in self.state.ranks if not r.attached]
        if not missing:
            return
        until = time.monotonic() + ATTACH_WITHIN_S
        answers = await self.ask(requests.Order("attach", {r: {} for r in missing}, ATTACH_WITHIN_S))
        while late := [r for r, a in answers.items() if NOT_YET in str(a.get("message", ""))]:
            if time.monotonic() > until:
                break
            # ranks on a job's other hosts connect to its head a moment later
            await asyncio.sleep(ATTACH_EVERY_S)
            answers |= await self.ask(requests.Order("attach", {r: {} for r in late}, ATTACH_WITHIN_S))
        began_before = {}
        for rank, answer in sorted(answers.items()):
            if answer.get("absent") and NOT_YET not in str(answer.get("message", "")):
                self.state = self.state.rank(rank, phase="gone")
                continue
            if not answer.get("success"):
                raise BadRequest(f"Rank {rank} can't be debugged: {answer.get('message')}", "")
            body = answer.get("body", {})
            if body.get("operation") is not None:
                began_before[rank] = body["operation"]["name"]
            self.state = events.record_location(
                self.state.rank(rank, attached=True, phase="idle"), rank, body
            )
        self.state = replace(
            self.state,
            on=True,
            notes=(),
            held_elsewhere=False,
            began_before=began_before,
            ended=False,
            attaching=False,
        )
        for order in requests.catch_up(self.state, missing):
            await self.ask(order)
        self._emit(events.state_event(self.state))

    async def _detach(self) -> None:
        connection, self._connection = self._connection, None
        for task in (self._renewer, self._looker, self._bringing):
            if task is not None:
                task.cancel()
        if connection is None:
            return
        connection.on_debug = None
        if self._closed in connection.on_close:
            connection.on_close.remove(self._closed)
        if not connection.closed:
            with contextlib.suppress(Unreachable):  # the world may have ended unseen; its head releases ranks
                await connection.ask(clients.ReleaseDebugger())
        ranks = tuple(
            replace(r, attached=False, phase="idle", place=None, operation=None) for r in self.state.ranks
        )
        self.state = replace(self.state, ranks=ranks)

    def resized(self, size: int) -> None:
        """Forget ranks that a change of size has ended: nothing is lost with them; new ranks attach later."""
        if size < len(self.state.ranks):
            self.state = sized(self.state, size)
            self._emit(events.state_event(self.state))

    def _closed(self) -> None:
        """Called when the connection is closed: by the end of the world, or by that of this process."""
        if self._connection is None or self._connection.head_ended:
            self._ended()
        else:  # this kernel ends or restarts, and its cluster runs on
            self._let_go()

    def _ended(self) -> None:
        """The whole world has ended."""
        unwatched = self._connection is not None and bool(self._connection.presence.why)
        self.state = replace(self.state, ended=True, unwatched=unwatched, began_before={}, pausing=())
        self._lost()

    def _lost(self) -> None:
        """No rank can be debugged any more."""
        for rank in range(len(self.state.ranks)):
            self._happened(rank, "gone", {})
        self._let_go()

    def _let_go(self) -> None:
        self._connection = None
        for task in (self._renewer, self._looker):
            if task is not None:
                task.cancel()

    # ---- requests

    async def request(self, message: Dap, kernel: Kernel | None = None) -> Dap:
        """Serve a request of the Debug Adapter Protocol.

        Args:
            message: The request.
            kernel: Forwards a request to the notebook kernel's own debugger, if there is one.
        """
        try:
            return await self._serve(message, kernel)
        except DtrainError as error:
            return replies.refused(message, str(error), error.code)

    async def _serve(self, message: Dap, kernel: Kernel | None) -> Dap:
        if message["command"] == "dtrain/across":
            arguments = message["arguments"]
            row = await self.across(arguments["expression"])
            return replies.done(message, msgspec.to_builtins(row))
        if message["command"] == "dtrain/names":
            return replies.done(message, {"only": msgspec.to_builtins(await across.names(self))})
        brought = message["command"] in ENDS_STEPS and await self._end_steps(message["command"])
        if message["command"] == "dtrain/gather":
            # answered at once: JupyterLab's requests wait for each other
            gathering = self._gathering.step_others(message)
            self._bringing = supervision.here().once("debug.gather", gathering)
            return replies.done(message)
        if message["command"] in WHILE_ATTACHING:
            async with self._lock:  # later requests must not overtake those sent while ranks attach
                return await self._exchange(message, kernel)
        answer = await self._exchange(message, kernel)
        if message["command"] == "pause" and self.state.running and not brought:
            self._bringing = supervision.here().once("debug.meet", self._gathering.meet())
        if message["command"] in ("disconnect", "terminate"):
            await self.end()
        return answer

    async def _end_steps(self, command: str) -> bool:
        """End steps to a collective; returns whether any were being taken.

        Those of a pause go on at another pause, unless they take long.

        Args:
            command: The user's request that ends them.
        """
        steps, told = self._bringing, self.state.bringing
        if steps is None or steps.done:
            return False
        if command == "pause" and steps.name == "debug.meet" and not (told and told.late):
            return True
        steps.cancel()
        if command in MOVES:  # which move paused ranks only
            await self._gathering.settle()
        await steps.wait()
        return True

    async def _exchange(self, message: Dap, kernel: Kernel | None) -> Dap:
        kernel_answer: Dap | None = None
        if kernel is not None and requests.asks_kernel(self.state, message):
            kernel_answer = await kernel(requests.for_kernel(self.state, message))
        self.state, orders = requests.orders(self.state, message, kernel_answer)
        answers = [await self.ask(order) for order in orders]
        self.state, answer, emitted = replies.reply(self.state, message, kernel_answer, answers)
        for event in emitted:
            self._emit(event)
        return answer

    async def across(self, expression: str) -> compare_values.AcrossRow:
        """Evaluate an expression on all ranks, as `across.evaluate` does."""
        return await across.evaluate(self, expression)

    async def ask(self, order: requests.Order) -> dict[int, Dap]:
        """Send an order to ranks, and return their answers by rank."""
        if self._connection is None or not order.arguments:
            return {}
        arguments = {rank: json.dumps(data).encode() for rank, data in order.arguments.items()}
        try:
            answers: dict[int, bytes] = await self._connection.ask(
                clients.DebugRequest(order.command, arguments, order.within_s), order.within_s + 5.0
            )
        except Unreachable as error:  # with which it may have ended, or live on
            return {rank: {"success": False, "message": error.message} for rank in arguments}
        return {rank: json.loads(data) for rank, data in answers.items()}

    # ---- events

    def cell_began(self, ranks: Sequence[int]) -> None:
        """Called when a cell of this client starts."""
        self.state = events.cell_began(self.state, ranks)
        self._emit(events.state_event(self.state))

    def look(self, outcome: Outcome) -> None:
        """Called before ranks stop where a cell failed.

        Args:
            outcome: How it ended.
        """
        self.state = events.post_mortem(self.state, outcome)
        self._emit(events.state_event(self.state))

    def cell_ended(self, ranks: Sequence[int], outcome: Outcome) -> None:
        """Called when a cell of this client has ended.

        Args:
            ranks: Ranks of the cell.
            outcome: How it ended.
        """
        self._show(events.cell_ended(self.state, ranks, outcome))

    def _received(self, rank: int, data: bytes) -> None:
        message = json.loads(data)
        self._happened(rank, message["event"], message.get("body") or {})

    def _happened(self, rank: int, event: str, body: Dap) -> None:
        self._show(events.happened(self.state, rank, event, body))
        if event == "stopped":
            self.stops += 1
            self.last_stops[rank] = self.stops
            self.state, orders = requests.catch_step(self.state, rank)
            for order in orders:
                supervision.here().once("debug.step", self.ask(order))
        if event == "stopped" and self._settling is None:
            loop = asyncio.get_running_loop()
            self._settling = loop.call_later(events.SETTLE_S, self._settled)

    def _settled(self) -> None:
        self._settling = None
        self._show(events.settled(self.state))

    def _show(self, moved: events.Moved) -> None:
        self.state, emitted = moved
        for event in emitted:
            self._emit(event)
