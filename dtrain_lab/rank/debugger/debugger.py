"""Serves debugger requests in a rank: pydevd runs in this process, without adapter process or port.

pydevd is installed at the first `attach`, even while the main thread is busy; until then nothing is traced.
The debugger runs in the asyncio loop of a thread that pydevd doesn't trace: the IOPub thread in a
cluster, a thread of its own in a job.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import json
import sys
import threading
from collections.abc import Callable, Coroutine
from typing import Any

from dtrain_lab.debugger.state import Dap
from dtrain_lab.rank.debugger import interrupt_hold, tracing
from dtrain_lab.rank.debugger.adapter import Adapter
from dtrain_lab.rank.debugger.awaited_imports import AwaitedImports
from dtrain_lab.rank.debugger.breakpoints import Breakpoints
from dtrain_lab.rank.debugger.collective_timeouts import Timeouts
from dtrain_lab.rank.debugger.conditions import Conditions, forget_hits
from dtrain_lab.rank.debugger.last_failure import LastFailure
from dtrain_lab.rank.debugger.pydevd_requests import PydevdRequests
from dtrain_lab.rank.debugger.sources import CellFiles, Refused, Sources
from dtrain_lab.rank.debugger.stops import Stops
from dtrain_lab.training.rank_hooks import hooks
from dtrain_lab.wire import links

NEEDS_DEBUGGER = (
    "{} stops with the debugger on: the bug in the notebook's toolbar, or `dtrain-lab debug` in a terminal."
)
COMPILED = (
    "No breakpoint was reached. What torch.compile has compiled has no lines to stop at; to step through it, "
    'run torch.compiler.set_stance("force_eager") in a cell of its ranks first.'
)


class RankDebugger:
    """Serves the debug adapter protocol for one process.

    Args:
        rank: number of this rank.
        cells: maps files of compiled code to cells.
        loop: asyncio loop in which requests are served.
        send: sends a message to the head.
        look: evaluates an expression in the user's namespace; returns None while a cell runs.
        note: prints a note for the user, at most once per cell.
    """

    def __init__(
        self,
        rank: int,
        cells: CellFiles,
        loop: asyncio.AbstractEventLoop,
        send: Callable[[links.Message], None],
        look: Callable[[str, str | None], concurrent.futures.Future[str | None]],
        note: Callable[[str], None],
    ) -> None:
        self._rank = rank
        self._sources = Sources(rank, cells)
        self._loop = loop
        self._send = send
        self._look = look
        self._note = note
        self._main = threading.main_thread().ident or 0
        self._adapter = Adapter(loop, self._received)
        self._tasks: set[asyncio.Task[None]] = set()
        self._attaching: asyncio.Task[Dap] | None = None
        self._timeouts = Timeouts()
        self.attached = False
        self._failure = LastFailure()
        self._imports = AwaitedImports(
            loop, lambda path: self._post("loaded", {"path": path}), self._import_unknown
        )
        self._points = Breakpoints(rank, self._adapter, self._sources, self._imports)
        self._conditions = Conditions(self._condition_failed)
        self._stops = Stops(rank, self._adapter, self._sources, self._begin, self._post)
        self._requests = PydevdRequests(rank, self._adapter, self._sources, self._stops, self._failure)

    def received(self, order: links.DebugRequest) -> None:
        """Serve a request of the head; called in the loop."""
        self._begin(self._serve(order))

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, order: links.DebugRequest) -> None:
        try:
            answer = await self._handle(order.command, json.loads(order.arguments))
        except Refused as refused:
            answer = {"success": False, "message": str(refused)}
        # an exception of pydevd goes to the debugger's client and must never break the training
        except Exception as error:  # noqa: BLE001
            answer = {"success": False, "message": f"{type(error).__name__}: {error}"}
        self._send(links.DebugResponse(rank=self._rank, id=order.id, data=json.dumps(answer).encode()))

    async def _handle(self, command: str, arguments: Dap) -> Dap:
        answer = await self._answer_unattached(command, arguments)
        if answer is not None:
            return answer
        if not self.attached:
            if command in ("detach", "release"):
                return {"success": True}
            raise Refused(f"Rank {self._rank} is not being debugged.")
        match command:
            case "detach":
                return await self._detach()
            case "release":
                return await self._release()
            case "look":
                return await self._stops.frames.summary_of(arguments["expression"], arguments.get("leaf"))
            case "pause":
                return await self._stops.pause()
            case "unpause":
                self._stops.forget_pause()
                return {"success": True}
            case "stackTrace":
                return await self._stops.frames.stack(self._stops.thread, arguments)
            case "setBreakpoints":
                self._stops.ignored = False
                return await self._points.set(arguments)
        return await self._requests.ask(command, arguments)

    async def _answer_unattached(self, command: str, arguments: Dap) -> Dap | None:
        """Answer a request that needs no attached debugger; None for other requests."""
        match command:
            case "attach":
                if self._attaching is None or self._attaching.done():
                    self._attaching = self._loop.create_task(self._attach())
                return await asyncio.shield(self._attaching)
            case "dumpCell":
                return self._sources.dump(arguments["name"], arguments["code"])
            case "where":
                return {"success": True, "body": self._sources.where(self._main)}
            case "held":
                hooks.held(arguments["held"])
                return {"success": True}
            case "source":
                return {"success": True, "body": {"content": self._sources.text(arguments["source"]["path"])}}
            case "look" if self._stops.thread is None:
                return await self._evaluate_idle(arguments["expression"], arguments.get("leaf"))
        return None

    # ---- main thread

    def cell_began(self, cell: str) -> None:
        """Called before a cell: a pause or a step that came too late for the last one must not stop in it.

        Args:
            cell: the head's id of the cell.
        """
        self._failure.cell_began(cell)
        self._stops.forget_pause()
        interrupt_hold.forget()
        self._conditions.forget()
        forget_hits()
        if self.attached:
            tracing.forget_step()
        else:
            tracing.end_remaining_trace()

    def cell_ended(self, error: BaseException | None) -> None:
        """Called at a cell's end: explain breakpoints that compiled code skipped; stop where the cell failed.

        Args:
            error: the cell's exception; None if it succeeded.
        """
        self._failure.cell_ended(error)
        has_stopped = self._stops.cell_ended()
        if self.attached:
            tracing.restore_tracing()
        if self.attached and self._points.files and not has_stopped and tracing.compiled():
            self._note(COMPILED)
        if self.attached and (wrong := self._conditions.note(self._sources.line_name)):
            self._note(wrong)
        if error is not None:
            self.failed(error)

    def failed(self, error: BaseException) -> None:
        """Stop where a cell failed, if a debugger is attached and its failure breakpoints are on."""
        if self.attached and self._failure.stops(error):
            self._stop_after(error)

    def post_mortem(self, line: str) -> None:
        """`%debug`: stop where the last cell failed or was interrupted; may be repeated.

        Does nothing if another cell's error is wanted.

        Args:
            line: arguments of the magic.

        Raises:
            RuntimeError: no debugger is attached, or the last cell has not failed here.
        """
        if not self.attached:
            raise RuntimeError(NEEDS_DEBUGGER.format("%debug"))
        error = self._failure.look(line)
        if error is not None:
            self._stop_after(error)

    def _stop_after(self, error: BaseException) -> None:
        self._stops.failed = True
        try:
            tracing.stop_after(error)
        finally:
            self._stops.failed = False

    def reached(self, *_: object, **__: object) -> None:
        """`breakpoint()`: stop in the caller, or print a note where no debugger is attached."""
        if self.attached:
            tracing.stop_here(sys._getframe(1))
        else:
            self._note(NEEDS_DEBUGGER.format("breakpoint()"))

    # ---- begin and end

    async def _attach(self) -> Dap:
        if not self.attached:
            # pydevd caches what it learns of a file, so files of cells must exist before it first sees them
            self._sources.write()
            await self._adapter.install()
            await self._adapter.attach()
            self._conditions.install()
            self._timeouts.lift()
            self.attached = True
        return {"success": True, "body": self._sources.where(self._main)}

    async def _detach(self) -> Dap:
        self.attached = False
        hooks.held(False)
        self._stops.forget_pause()
        self._imports.clear()
        self._timeouts.restore()
        # a "stopped" may be on its way to the head and must not be the last event it gets
        self._stops.continued()
        answer = await self._adapter.ask("disconnect", {"terminateDebuggee": False})
        self._adapter.wake()
        tracing.stop_tracing()
        return answer

    async def _release(self) -> Dap:
        """Stop at no breakpoint from now on, and resume to be held until the interrupt that follows."""
        self._stops.ignored = True
        self._stops.forget_pause()
        self._points.forget()
        tracing.forget_breakpoints()
        self._post("released", {})
        thread = self._stops.thread
        self._stops.continued()
        if thread is not None:
            await self._stops.end_for_interrupt(thread)
        return {"success": True}

    # ---- events of pydevd

    def _received(self, event: str, body: Dap) -> None:
        match event:
            case "stopped" if self._stops.ignored or not self.attached:
                # the thread reached its breakpoint just before the release and would stay there forever
                self._stops.run_on(body)
            case "stopped":
                self._stops.stopped(body)
            case "continued":
                self._stops.continued()
            case "output" if body.get("category") == "important":
                self._post("output", body)

    def _import_unknown(self, error: Exception) -> None:
        """Report that checking for imported files failed: their breakpoints may stay pending."""
        text = f"dtrain-lab could not see what rank {self._rank} imports: {type(error).__name__}: {error}\n"
        self._post("output", {"category": "important", "output": text})

    def _condition_failed(self, file: str, line: int, text: str) -> None:
        body = {"path": self._sources.named(file), "line": line, "text": text}
        self._loop.call_soon_threadsafe(self._post, "condition", body)

    def _post(self, event: str, body: Dap) -> None:
        data, stops = json.dumps({"event": event, "body": body}).encode(), self._stops
        paused = stops.thread is not None
        self._send(links.DebugEvent(self._rank, data, paused=paused, error=stops.error, frame=stops.frame))

    # ---- additions to the protocol

    async def _evaluate_idle(self, expression: str, leaf: str | None) -> Dap:
        answer = await asyncio.wrap_future(self._look(expression, leaf))
        if answer is None:
            raise Refused(f"Rank {self._rank} runs a cell: pause it to look at its variables.")
        return {"success": True, "body": json.loads(answer)}
