"""The debugger of a rank: pydevd in this process, spoken to over a socket pair. No adapter, no port.

Installed when somebody asks for it, also while the main thread is busy; until then nothing traces anything.
It lives in an asyncio loop of a thread that pydevd leaves alone: the link's in a cluster, its own in a job.
"""

from __future__ import annotations

import ast
import asyncio
import concurrent.futures
import json
import linecache
import os
import socket
import sys
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Protocol

from dtrain_lab.core.cells import lost_connection
from dtrain_lab.core.debug.places import CELL, MISSING, is_ours, runs_at
from dtrain_lab.core.wire import links
from dtrain_lab.rank import hits, standing, tracing
from dtrain_lab.rank.adapter import RESUMES, Adapter, Dap
from dtrain_lab.rank.timeouts import Timeouts

AT_FAILURE = {"uncaught", "userUnhandled"}
FRAMES = 60
OF_STOPPED = {*RESUMES, "exceptionInfo", "stackTrace", "scopes", "variables", "setVariable", "evaluate"}
NEEDS_DEBUGGER = (
    "{} stops with the debugger on: the bug in the notebook's toolbar, or `dtrain-lab debug` in a terminal."
)
COMPILED = (
    "No breakpoint was reached. What torch.compile has compiled has no lines to stop at; to step through it, "
    'run torch.compiler.set_stance("force_eager") in a cell of its ranks first.'
)


class Refused(Exception):
    """A request that can't be served; its text is for a person."""


class CellFiles(Protocol):
    """Which files of compiled code are cells, and what everybody calls them."""

    def place(self, file: str, line: int) -> tuple[str | None, int]:
        """Label and line of a cell; None and the line where the file is none."""

    def name(self, file: str) -> str | None:
        """What a debugger calls a cell's file; None where it is none."""

    def file(self, name: str) -> str | None:
        """Its path on disk, by that name or by the cell's label; None where no cell has it."""

    def compiled(self, path: str) -> str:
        """Its name in compiled code, by that path."""

    def texts(self) -> dict[str, str]:
        """Cells that are known before they run: name → text."""


class RankDebugger:
    """Serves the debug adapter protocol for one process.

    Args:
        rank: who this is.
        cells: which files are cells.
        loop: where this lives.
        send: to the head.
        look: glances at an expression in the user's namespace; None while a cell runs there.
        note: tells the user something, once a cell.
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
        """Until it is asked to stop again."""
        self._points: set[str] = set()
        """Files with breakpoints."""
        self._stood = False
        """Since the cell began."""
        self._frames: list[int] = []
        """Of where it stands, innermost first."""
        self.stopped: int | None = None
        """The thread that stands, in pydevd's numbering."""

    def received(self, order: links.Debug) -> None:
        """A request has come; called in the loop."""
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
        # whatever pydevd raises is told to whoever debugs, and never breaks the training
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
                arguments = {"threadId": tracing.thread_number(self._main)}
            case "stackTrace":
                return await self._stack(arguments)
            case "setBreakpoints":
                hits.forget()
                self._released = False
                path = arguments["source"]["path"]
                self._points.discard(path)
                if arguments.get("breakpoints"):
                    arguments = self._where_code_runs(arguments)
                    self._points.add(path)
            case "setExceptionBreakpoints":
                filters = set(arguments["filters"])
                self._stops_at_failure = bool(filters & AT_FAILURE)
                # pydevd's own way would trace every call, many times slower
                arguments = {**arguments, "filters": sorted(filters - AT_FAILURE)}
        if command in OF_STOPPED and self.stopped is None:
            # pydevd would leave it to the thread, which answers once it stops again
            raise Refused(f"Rank {self._rank} is not paused.")
        if command in RESUMES or command == "exceptionInfo":
            arguments = {**arguments, "threadId": self.stopped}
        if command in RESUMES:  # a post-mortem's end is not told by pydevd
            self.stopped = None
            self._tell("continued", {})
        return self._outward(await self._adapter.ask(command, self._inward(arguments)))

    # ---- main thread

    def cell_ended(self, error: BaseException | None) -> None:
        """A cell has ended: say why it may not have stopped, or stop where it failed."""
        stood, self._stood, self._released = self._stood, False, False
        if self.attached and self._points and not stood and tracing.compiled():
            self._note(COMPILED)
        if error is not None:
            self.failed(error)

    def failed(self, error: BaseException) -> None:
        """A cell has failed: stop where it did, if somebody wants that."""
        if not self.attached or not self._stops_at_failure or isinstance(error, KeyboardInterrupt):
            return
        if not lost_connection(str(error)):  # an effect of another rank's failure is none of its own
            tracing.stop_after(error)

    def post_mortem(self) -> None:
        """Stop where the last failure was.

        Raises:
            RuntimeError: nobody debugs, or nothing has failed.
        """
        if not self.attached:
            raise RuntimeError(NEEDS_DEBUGGER.format("%debug"))
        error = getattr(sys, "last_value", None)
        if error is None:
            raise RuntimeError("Nothing has failed on this rank.")
        tracing.stop_after(error)

    def reached(self, *_: object, **__: object) -> None:
        """`breakpoint()`."""
        if self.attached:
            tracing.stop_here(sys._getframe(1))
        else:
            self._note(NEEDS_DEBUGGER.format("breakpoint()"))

    # ---- begin and end

    async def _attach(self) -> Dap:
        if not self.attached:
            # pydevd keeps what it finds out about a file: those of cells are there when it first sees them
            for name, text in self._cells.texts().items():
                self._dump(name, text)
            await self._adapter.install()
            await self._adapter.attach()
            self._timeouts.lift()
            self.attached = True
        return {"success": True, "body": self._where()}

    async def _detach(self) -> Dap:
        self.attached = False
        self._timeouts.restore()
        if self.stopped is not None:
            self.stopped = None
            # a stop that is on its way to the head must not be the last that it hears
            self._tell("continued", {})
        answer = await self._adapter.ask("disconnect", {"terminateDebuggee": False})
        self._adapter.wake()
        tracing.stop_tracing()
        return answer

    async def _release(self) -> Dap:
        """Run on, and stop nowhere any more: an interrupt or the end is coming."""
        self._released = True
        self._points.clear()
        tracing.forget_breakpoints()
        self._tell("released", {})
        if self.stopped is not None:
            thread, self.stopped = self.stopped, None
            self._tell("continued", {})
            await self._adapter.ask("continue", {"threadId": thread})
        return {"success": True}

    # ---- what pydevd tells

    def _heard(self, event: str, body: Dap) -> None:
        match event:
            case "stopped" if self._released or not self.attached:
                # it had met its breakpoint just before, and would stand there for ever
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
            reason = {"reason": body.get("reason", "pause"), "text": body.get("text") or ""}
            main = body["threadId"] == tracing.thread_number(self._main)
            self._tell("stopped", {**reason, "place": place, "main": main})

    def _tell(self, event: str, body: Dap) -> None:
        data = json.dumps({"event": event, "body": body}).encode()
        self._send(links.DebugEvent(rank=self._rank, data=data, paused=self.stopped is not None))

    # ---- what we add

    async def _stack(self, arguments: Dap) -> Dap:
        thread = self.stopped
        if thread is None:
            raise Refused(f"Rank {self._rank} is not paused.")
        answer = self._outward(await self._adapter.ask("stackTrace", {**arguments, "threadId": thread}))
        frames = answer.get("body", {}).get("stackFrames", [])
        # what called the outermost cell is IPython and ipykernel, or the runner of a job
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
        glance = "__import__('dtrain_lab.rank.glance', fromlist=['glance']).glance"
        call = f"{glance}(({expression}\n), {leaf!r})"
        answer = await self._adapter.ask(
            "evaluate", {"expression": call, "frameId": frame, "context": "clipboard"}
        )
        if not answer["success"]:
            raise Refused(_last_line(str(answer.get("message", ""))))
        try:
            return {"success": True, "body": json.loads(ast.literal_eval(answer["body"]["result"]))}
        except (ValueError, SyntaxError):  # pydevd answers with the error's text
            raise Refused(_last_line(answer["body"]["result"])) from None

    def _frame(self, arguments: Dap) -> int:
        """The frame that is this deep; the outermost where the stack is not."""
        if not self._frames:
            raise Refused(f"Rank {self._rank} has no frame to look at.")
        return self._frames[min(int(arguments.get("depth", 0)), len(self._frames) - 1)]

    def _where(self) -> Dap:
        frames = standing.frames_of(self._main)
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
            "operation": standing.operation(frames) if mine else None,
            "sequences": standing.sequences(),
        }

    def _dump(self, name: str, code: str) -> Dap:
        """Keep the text of a cell as a file: pydevd knows no breakpoints elsewhere."""
        path = Path(self._cells.file(name) or "")
        path.parent.mkdir(mode=0o700, exist_ok=True)
        part = path.with_name(f".{path.name}.{self._rank}")
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(code)
        part.rename(path)
        return {"success": True}

    def _where_code_runs(self, arguments: Dap) -> Dap:
        """Breakpoints on lines that run.

        pydevd takes those in files that are not there, and never stops in them; those on a blank line it
        moves up to the function's definition.
        """
        arguments = self._inward(arguments)
        path = arguments["source"]["path"]
        try:
            text = Path(path).read_text(encoding="utf-8")
        except UnicodeDecodeError:  # its lines are as they are
            return arguments
        except OSError:
            raise Refused(
                f"{MISSING} {path} on {socket.gethostname()}, where rank {self._rank} runs."
            ) from None
        points = [{**point, "line": runs_at(text, point["line"])} for point in arguments["breakpoints"]]
        return {**arguments, "breakpoints": points}

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
    """Of a traceback: what went wrong."""
    lines = text.strip().splitlines()
    return lines[-1] if lines else ""


def _place(frame: Dap) -> Dap:
    return {"file": frame["source"].get("path", ""), "line": frame["line"], "function": frame["name"]}
