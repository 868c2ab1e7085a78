"""Serves debugger requests in a rank: pydevd runs in this process, without adapter process or port.

pydevd is installed at the first `attach`, even while the main thread is busy; until then nothing is traced.
The debugger runs in the asyncio loop of a thread that pydevd doesn't trace: the link's in a cluster, a thread
of its own in a job.
"""

from __future__ import annotations

import ast
import asyncio
import concurrent.futures
import json
import linecache
import os
import re
import sys
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Protocol

from dtrain_lab.cells.errors import lost_connection
from dtrain_lab.debugger.places import CELL, is_ours
from dtrain_lab.debugger.state import Dap
from dtrain_lab.machine import durable
from dtrain_lab.rank.debugger import hits, tracing
from dtrain_lab.rank.debugger.adapter import RESUMES, Adapter
from dtrain_lab.rank.debugger.points import Placed, loaded
from dtrain_lab.rank.debugger.timeouts import Timeouts
from dtrain_lab.rank.group import main_thread
from dtrain_lab.wire import links

IMPORTED_S = 0.25
AT_FAILURE = {"uncaught", "userUnhandled"}
FRAMES = 60
OF_STOPPED = {*RESUMES, "exceptionInfo", "stackTrace", "scopes", "variables", "setVariable", "evaluate"}
OF_STOPPED |= {"completions"}
NEEDS_DEBUGGER = (
    "{} stops with the debugger on: the bug in the notebook's toolbar, or `dtrain-lab debug` in a terminal."
)
COMPILED = (
    "No breakpoint was reached. What torch.compile has compiled has no lines to stop at; to step through it, "
    'run torch.compiler.set_stance("force_eager") in a cell of its ranks first.'
)


class Refused(Exception):
    """A request that can't be served; the message is shown to the user."""


class CellFiles(Protocol):
    """Maps files of compiled code to cells, and back."""

    def place(self, file: str, line: int) -> tuple[str | None, int]:
        """Label and line of a cell; None and the line where the file is not a cell."""

    def name(self, file: str) -> str | None:
        """The debugger's name for a cell's file; None where the file is not a cell."""

    def file(self, name: str) -> str | None:
        """Path on disk of a cell, given the debugger's name or the label; None for an unknown name."""

    def compiled(self, path: str) -> str:
        """File name that a cell's compiled code has, given the path of its file."""

    def texts(self) -> dict[str, str]:
        """Text, by name, of the cells that are known before they run."""

    def text(self, name: str) -> str | None:
        """A cell's text with the user's line numbers, by the debugger's name; None for an unknown name."""


class RankDebugger:
    """Serves the debug adapter protocol for one process.

    Args:
        rank: number of this rank.
        cells: maps files of compiled code to cells.
        loop: asyncio loop in which requests are served.
        send: sends a message to the head.
        look: evaluates an expression in the user's namespace; its result is None while a cell runs.
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
        self._cells = cells
        self._loop = loop
        self._send = send
        self._look = look
        self._note = note
        self._main = threading.main_thread().ident or 0
        self._adapter = Adapter(loop, self._heard)
        self._tasks: set[asyncio.Task[None]] = set()
        self._attaching: asyncio.Task[Dap] | None = None
        self._timeouts = Timeouts()
        self.attached = False
        self._stops_at_failure = False
        self._released = False
        """Whether stops are ignored: since `release`, until the next breakpoints, pause or cell."""
        self._pausing = False
        """Whether the next stop is our own pause, which pydevd takes for a breakpoint or a step."""
        self._points: set[str] = set()
        """Files with breakpoints."""
        self._unloaded: dict[str, str] = {}
        """Those that this process has not imported yet: path on the wire → path here."""
        self._stood = False
        """Whether the rank has stopped since the cell began."""
        self._frames: list[int] = []
        """Frame ids of the last stop, innermost first."""
        self.stopped: int | None = None
        """The stopped thread, in pydevd's numbering."""

    def received(self, order: links.Debug) -> None:
        """Serve a request of the head; called in the loop."""
        self._begin(self._serve(order))

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, order: links.Debug) -> None:
        try:
            answer = await self._handle(order.command, json.loads(order.arguments))
        except Refused as refused:
            answer = {"success": False, "message": str(refused)}
        # an exception of pydevd goes to the debugger's client and must never break the training
        except Exception as error:  # noqa: BLE001
            answer = {"success": False, "message": f"{type(error).__name__}: {error}"}
        self._send(links.Debugged(rank=self._rank, id=order.id, data=json.dumps(answer).encode()))

    async def _handle(self, command: str, arguments: Dap) -> Dap:
        match command:
            case "attach":
                if self._attaching is None or self._attaching.done():
                    self._attaching = self._loop.create_task(self._attach())
                return await asyncio.shield(self._attaching)
            case "dumpCell":
                return self._dump(arguments["name"], arguments["code"])
            case "where":
                return {"success": True, "body": self._where()}
            case "source":
                return {"success": True, "body": {"content": self._text(arguments["source"]["path"])}}
            case "look" if self.stopped is None:
                return await self._look_around(arguments["expression"], arguments.get("leaf"))
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
                return await self._look_in_frame(
                    arguments["expression"], arguments.get("leaf"), self._frame(arguments)
                )
            case "evaluate" if "depth" in arguments:
                arguments = {**arguments, "frameId": self._frame(arguments)}
                del arguments["depth"]
            case "pause":
                self._released = False
                if tracing.pauses_itself():
                    self._pausing = self._where()["place"] is not None  # otherwise no cell runs
                    tracing.pause_main()
                    return {"success": True}
                arguments = {"threadId": tracing.thread_number(self._main)}
            case "stackTrace":
                return await self._stack(arguments)
            case "setBreakpoints":
                return await self._set_points(arguments)
            case "setExceptionBreakpoints":
                filters = set(arguments["filters"])
                self._stops_at_failure = bool(filters & AT_FAILURE)
                # not pydevd's own filters: they trace every call, which is many times slower
                arguments = {**arguments, "filters": sorted(filters - AT_FAILURE)}
        if command in OF_STOPPED and self.stopped is None:
            # pydevd would queue the request for the thread, which answers only at its next stop
            raise Refused(f"Rank {self._rank} is not paused.")
        if command in RESUMES or command == "exceptionInfo":
            arguments = {**arguments, "threadId": self.stopped}
        if command in RESUMES:  # pydevd sends no event when a post-mortem stop ends
            self.stopped = None
            self._tell("continued", {})
        return self._outward(await self._adapter.ask(command, self._inward(arguments)))

    # ---- main thread

    def cell_ended(self, error: BaseException | None) -> None:
        """Called at a cell's end: explain breakpoints that compiled code skipped; stop where the cell failed.

        Args:
            error: the cell's exception; None where it succeeded.
        """
        stood, self._stood, self._released = self._stood, False, False
        self._pausing = False
        if self.attached:
            tracing.keep_tracing()
        if self.attached and self._points and not stood and tracing.compiled():
            self._note(COMPILED)
        if error is not None:
            self.failed(error)

    def failed(self, error: BaseException) -> None:
        """Stop where a cell failed, if a debugger is attached and its failure breakpoints are on."""
        if not self.attached or not self._stops_at_failure or isinstance(error, KeyboardInterrupt):
            return
        if not lost_connection(str(error)):  # a lost connection only follows another rank's failure
            tracing.stop_after(error)

    def post_mortem(self) -> None:
        """`%debug`: stop where the last exception was raised.

        Raises:
            RuntimeError: no debugger is attached, or nothing has failed.
        """
        if not self.attached:
            raise RuntimeError(NEEDS_DEBUGGER.format("%debug"))
        error = getattr(sys, "last_value", None)
        if error is None:
            raise RuntimeError("Nothing has failed on this rank.")
        tracing.stop_after(error)

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
            for name, text in self._cells.texts().items():
                self._dump(name, text)
            await self._adapter.install()
            await self._adapter.attach()
            self._timeouts.lift()
            self.attached = True
        return {"success": True, "body": self._where()}

    async def _detach(self) -> Dap:
        self.attached = False
        self._unloaded.clear()
        self._timeouts.restore()
        if self.stopped is not None:
            self.stopped = None
            # a "stopped" may be on its way to the head and must not be the last event it gets
            self._tell("continued", {})
        answer = await self._adapter.ask("disconnect", {"terminateDebuggee": False})
        self._adapter.wake()
        tracing.stop_tracing()
        return answer

    async def _release(self) -> Dap:
        """Resume and stop at no breakpoint from now on, because an interrupt or the rank's end follows."""
        self._released = True
        self._points.clear()
        self._unloaded.clear()
        tracing.forget_breakpoints()
        self._tell("released", {})
        if self.stopped is not None:
            thread, self.stopped = self.stopped, None
            self._tell("continued", {})
            await self._adapter.ask("continue", {"threadId": thread})
        return {"success": True}

    # ---- events of pydevd

    def _heard(self, event: str, body: Dap) -> None:
        match event:
            case "stopped" if self._released or not self.attached:
                # the thread reached its breakpoint just before the release and would stay there forever
                self._begin(self._run_on(body["threadId"]))
            case "stopped":
                self.stopped, self._stood = body["threadId"], True
                self._begin(self._tell_stop(body))
            case "continued":
                if self.stopped is not None:
                    self.stopped = None
                    self._tell("continued", {})
            case "output" if body.get("category") == "important":
                self._tell("output", body)

    async def _run_on(self, thread: int) -> None:
        await self._adapter.ask("continue", {"threadId": thread})

    async def _tell_stop(self, body: Dap) -> None:
        stack = await self._stack({"threadId": body["threadId"], "levels": FRAMES})
        frames = stack.get("body", {}).get("stackFrames", [])
        self._frames = [frame["id"] for frame in frames]
        place = _place(frames[0]) if frames else None
        if self.stopped == body["threadId"]:
            why = "pause" if self._pausing else body.get("reason", "pause")
            reason = {"reason": why, "text": body.get("text") or ""}
            self._pausing = False
            main = body["threadId"] == tracing.thread_number(self._main)
            self._tell("stopped", {**reason, "place": place, "main": main})

    def _tell(self, event: str, body: Dap) -> None:
        data = json.dumps({"event": event, "body": body}).encode()
        self._send(links.DebugEvent(rank=self._rank, data=data, paused=self.stopped is not None))

    # ---- additions to the protocol

    async def _stack(self, arguments: Dap) -> Dap:
        thread = self.stopped
        if thread is None:
            raise Refused(f"Rank {self._rank} is not paused.")
        answer = self._outward(await self._adapter.ask("stackTrace", {**arguments, "threadId": thread}))
        frames = answer.get("body", {}).get("stackFrames", [])
        # frames outside the outermost cell are IPython's and ipykernel's, or a job's runner's
        last = max(
            (i for i, f in enumerate(frames) if f["source"].get("path", "").startswith(CELL)), default=None
        )
        frames = frames[: last + 1] if last is not None else [f for f in frames if not is_ours(f["source"])]
        if frames:
            answer["body"] = {"stackFrames": frames, "totalFrames": len(frames)}
        return answer

    async def _look_around(self, expression: str, leaf: str | None) -> Dap:
        found = await asyncio.wrap_future(self._look(expression, leaf))
        if found is None:
            raise Refused(f"Rank {self._rank} runs a cell: pause it to look at its variables.")
        return {"success": True, "body": json.loads(found)}

    async def _look_in_frame(self, expression: str, leaf: str | None, frame: int) -> Dap:
        glance = "__import__('dtrain_lab.rank.debugger.value_summary', fromlist=['glance']).glance"
        call = f"{glance}(({expression}\n), {leaf!r})"
        answer = await self._adapter.ask(
            "evaluate", {"expression": call, "frameId": frame, "context": "clipboard"}
        )
        if not answer["success"]:
            raise Refused(_last_line(str(answer.get("message", ""))))
        try:
            return {"success": True, "body": json.loads(ast.literal_eval(answer["body"]["result"]))}
        except (ValueError, SyntaxError):  # pydevd answers with the error's text
            raise Refused(_said(answer["body"]["result"])) from None

    def _frame(self, arguments: Dap) -> int:
        """Id of the frame at the given depth; the outermost frame where the stack is less deep."""
        if not self._frames:
            raise Refused(f"Rank {self._rank} has no frame to look at.")
        return self._frames[min(int(arguments.get("depth", 0)), len(self._frames) - 1)]

    def _where(self) -> Dap:
        frames = main_thread.frames_of(self._main)
        found: list[Dap] = []
        for frame in frames:
            code = frame.f_code
            label, line = self._cells.place(code.co_filename, frame.f_lineno)
            name = self._cells.name(code.co_filename)
            file = f"{CELL}{name}" if name else code.co_filename
            found.append({"file": file, "line": line, "function": code.co_name, "cell": label})
        first = next((i for i, f in enumerate(found) if f["cell"]), None)
        mine = found[first:] if first is not None else []
        place = next((f for f in reversed(mine) if f["cell"]), None)
        return {
            "place": place,
            "frames": mine[-20:],
            "operation": main_thread.operation(frames) if mine else None,
            "sequences": main_thread.sequences(),
        }

    def _dump(self, name: str, code: str) -> Dap:
        """Write a cell's text to a file: pydevd accepts breakpoints in files only."""
        path = Path(self._cells.file(name) or "")
        path.parent.mkdir(mode=0o700, exist_ok=True)
        durable.swap(path, code.encode())
        return {"success": True}

    def _text(self, path: str) -> str:
        """Text of a cell or file, for an editor that lacks it."""
        if not path.startswith(CELL):
            return Path(path).read_text(encoding="utf-8")
        text = self._cells.text(path.removeprefix(CELL))
        if text is None:
            raise Refused(f"Rank {self._rank} has run no cell {path.removeprefix(CELL)} yet.")
        return text

    async def _set_points(self, arguments: Dap) -> Dap:
        """Replace the breakpoints of a file.

        Raises:
            Refused: the file doesn't exist on this rank's host.
        """
        hits.forget()
        self._released = False
        path = arguments["source"]["path"]
        self._points.discard(path)
        self._unloaded.pop(path, None)
        if not arguments.get("breakpoints"):
            return self._outward(await self._adapter.ask("setBreakpoints", self._inward(arguments)))
        there = self._inward(arguments)
        file = there["source"]["path"]
        try:
            placed = Placed(file, arguments["breakpoints"], path, cell=path.startswith(CELL), rank=self._rank)
        except FileNotFoundError as error:
            raise Refused(str(error)) from None
        self._points.add(path)
        answer = await self._adapter.ask("setBreakpoints", {**there, "breakpoints": placed.points})
        if answer.get("success"):
            answer["body"] = {"breakpoints": placed.told(answer["body"]["breakpoints"])}
        if not placed.loaded:
            self._unloaded[path] = file
            if len(self._unloaded) == 1:
                self._begin(self._watch_imports())
        return self._outward(answer)

    async def _watch_imports(self) -> None:
        """Tell when a file with breakpoints has been imported."""
        known = 0
        while self._unloaded and self.attached:
            await asyncio.sleep(IMPORTED_S)
            if len(sys.modules) == known:
                continue
            known = len(sys.modules)
            for path in [path for path, file in self._unloaded.items() if loaded(file)]:
                del self._unloaded[path]
                self._tell("loaded", {"path": path})

    def _inward(self, arguments: Dap) -> Dap:
        source = arguments.get("source")
        if not source or not str(source.get("path", "")).startswith(CELL):
            return arguments
        name = source["path"].removeprefix(CELL)
        path = self._cells.file(name)
        if path is None:
            raise Refused(f"Rank {self._rank} has run no cell {name} yet.")
        if not os.path.exists(path):
            self._dump(name, "".join(linecache.getlines(self._cells.compiled(path))))
        return {**arguments, "source": {**source, "path": path}}

    def _outward(self, answer: Dap) -> Dap:
        body = answer.get("body") or {}
        for one in (*body.get("stackFrames", ()), *body.get("breakpoints", ())):
            source = one.get("source")
            if source and source.get("path"):
                label, _ = self._cells.place(source["path"], 0)
                name = self._cells.name(source["path"])
                one["source"] = {
                    **source,
                    **({"name": f"cell {label}", "path": f"{CELL}{name}"} if name else {}),
                }
        return answer


def _last_line(text: str) -> str:
    """Last line of a traceback, which names the error."""
    lines = text.strip().splitlines()
    return lines[-1] if lines else ""


def _said(text: str) -> str:
    """An error as Python prints it, from its `repr`."""
    found = re.fullmatch(r"(\w+)\((.*)\)", text.strip(), re.DOTALL)
    try:
        first = ast.literal_eval(f"({found[2]},)")[0] if found else None
    except (ValueError, SyntaxError, IndexError):
        first = None
    return f"{found[1]}: {first}" if found and isinstance(first, str) else _last_line(text)


def _place(frame: Dap) -> Dap:
    return {"file": frame["source"].get("path", ""), "line": frame["line"], "function": frame["name"]}
