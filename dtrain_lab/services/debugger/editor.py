"""An editor's session: the debug adapter protocol in the form that editors use, for all ranks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from msgspec.structs import replace

from dtrain_lab.debugger import events, replies, requests
from dtrain_lab.debugger.editor import arguments as asked_for
from dtrain_lab.debugger.editor import dialect
from dtrain_lab.debugger.editor.numbering import Numbering
from dtrain_lab.debugger.sources import CELL
from dtrain_lab.debugger.state import FIRST_THREAD, Dap, JobCode, State, rank_of
from dtrain_lab.debugger.view import notes
from dtrain_lab.errors import BadRequest, Conflict, DtrainError
from dtrain_lab.machine import supervision
from dtrain_lab.services.connection import Connection
from dtrain_lab.services.debugger.debug_session import DebugSession
from dtrain_lab.services.debugger.editor_points import EditorPoints
from dtrain_lab.services.debugger.editor_sources import EditorSources
from dtrain_lab.services.debugger.reattach import Reattach

Find = Callable[[Dap], Awaitable[tuple[Connection, JobCode | None]]]
AT_ONCE = (
    "stackTrace",
    "scopes",
    "variables",
    "evaluate",
    "completions",
    "exceptionInfo",
    "source",
    "threads",
)
"""Requests served concurrently: a slow one must not delay a pause."""


class EditorSession:
    """Serves one editor. Lives in the loop of its connection.

    Args:
        find: Connects to the cluster or job that the arguments of `attach` name.
        send: Sends a message to the editor.
    """

    def __init__(self, find: Find, send: Callable[[Dap], None]) -> None:
        self._find = find
        self._send = send
        self._seq = 0
        self._who = "An editor"
        self._debugging: DebugSession | None = None
        self._held: list[Dap] | None = None
        """Events held back until a step is answered: only then does an editor regard the ranks as running."""
        self._sources = EditorSources()
        self._numbering = Numbering()
        self._points = EditorPoints()
        self._printed = ""
        self.disconnected = False
        """Whether the editor has requested the end of the session."""
        self._terminated = False

    async def serve(self, request: Dap) -> None:
        """Serve a request; whatever goes wrong is its answer."""
        command = str(request.get("command"))
        try:
            answer = await self._answered(command, request)
            self._post({**answer, "type": "response", "request_seq": request.get("seq", 0)})
            if command == "attach" and answer["success"]:
                self._post(_event("initialized", {}))
                self._threads_began(range(len(self._state.ranks)))
        finally:  # even if the request was cancelled: an event held forever would make the rank look busy
            if command in dialect.MOVES:
                held, self._held = self._held, None
                for event in held or ():
                    self._post(event)
            if command in ("disconnect", "terminate"):
                self.disconnected = True

    async def close(self) -> None:
        """End the session; the ranks continue."""
        if self._debugging is not None:
            await self._debugging.end()

    @property
    def _state(self) -> State:
        return self._debugging.state if self._debugging is not None else State()

    def malformed(self, data: bytes) -> None:
        """Answer a message that can't be parsed, if it contains the number of its request."""
        message = f"This message can't be read, and was left out: {data[:60]!r}."
        request = dialect.named_in(data)
        if request is not None:
            self._post({**replies.refused(request, message), "type": "response"})
        self._post(_event("output", {"category": "stderr", "output": f"{message}\n"}))

    async def _answered(self, command: str, request: Dap) -> Dap:
        """Return the response; every error becomes one, because an editor waits for it without a timeout."""
        try:
            arguments = request.get("arguments")
            if isinstance(arguments, dict):
                request = {**request, "arguments": self._numbering.inward(command, arguments)}
            request = {**request, "arguments": asked_for.valid(request)}
            return asked_for.in_words(request, await self._answer(command, request))
        except DtrainError as error:
            return replies.refused({**request, "command": command}, str(error))
        except Exception as error:  # noqa: BLE001 # a bug of ours, or of the system's
            supervision.here().fault("debug.request", error)
            problem = error.strerror if isinstance(error, OSError) else ""
            why = problem or "an error of dtrain-lab's own"
            return replies.refused(request, f"{command} failed: {why}. Stderr has the details.")

    async def _answer(self, command: str, request: Dap) -> Dap:
        arguments = request["arguments"]
        match command:
            case "initialize":
                self._numbering = dialect.numbering(arguments)
                self._who = str(arguments.get("clientName") or arguments.get("clientID") or self._who)
                return _ok(request, dialect.CAPABILITIES)
            case "attach":
                await self._attach(arguments)
                return _ok(request)
            case "launch":
                raise BadRequest(
                    "An editor attaches to a cluster or a job that runs already.", 'Use "request": "attach".'
                )
            case "configurationDone":
                return _ok(request)
            case "threads":
                return _ok(request, {"threads": dialect.threads(self._state)})
            case "disconnect" | "terminate" if self._debugging is None:
                return _ok(request)
        if self._debugging is None:
            raise Conflict("No cluster and no job is attached.", "Send attach first.")
        if self._state.ended and command not in dialect.ALSO_AT_THE_END:
            raise Conflict("The ranks have ended.", "Start a cluster or a job, and attach again.")
        asked_for.check_target(self._state, command, arguments)
        match command:
            case "setBreakpoints":
                return await self._breakpoints(request)
            case "loadedSources":
                return _ok(request, {"sources": self._sources.listing(self._state)})
            case "source":
                return await self._text(request)
            case "pause":
                self._debugging.state = dialect.running(self._state)
                return await self._debugging.request({**request, "arguments": {"threadId": 1}})
            case "completions" if "frameId" not in arguments:
                return _ok(request, {"targets": []})
            case "evaluate" if "frameId" not in arguments:
                result = await self._across(arguments["expression"])
                return _ok(request, {"result": result, "variablesReference": 0})
            case "setVariable":
                dialect.readable(arguments["value"])
            case "evaluate":  # without a context, pydevd returns errors as values
                request = {**request, "arguments": {"context": "watch", **arguments}}
        if command in dialect.MOVES:
            return await self._move(request)
        answer = await self._debugging.request(request)
        for frame in (answer.get("body") or {}).get("stackFrames", ()):
            if frame.get("source"):
                path = self._points.editor_path(str(frame["source"].get("path") or ""))
                frame["source"] = self._sources.source(self._state, {**frame["source"], "path": path})
        return answer

    # ---- attaching

    async def _attach(self, arguments: Dap) -> None:
        if self._debugging is not None:
            raise Conflict("This session is attached already.", "Disconnect first.")
        connection, job = await self._find(arguments)
        debugging = DebugSession(self._who, self._received)
        debugging.state = State(editor=True)
        try:
            await debugging.begin(connection, job)
        except DtrainError:
            await debugging.end()
            raise
        self._debugging = debugging
        for note in notes(debugging.state):
            self._print(note)
        Reattach(debugging, connection, job, self._threads_began, self._over).start()

    def _threads_began(self, ranks: Sequence[int]) -> None:
        for rank in ranks:
            self._post(_event("thread", {"reason": "started", "threadId": FIRST_THREAD + rank}))

    def _over(self) -> None:
        if not self._terminated and not self.disconnected:
            self._terminated = True
            self._post(_event("terminated", {}))

    # ---- where ranks stop

    async def _breakpoints(self, request: Dap) -> Dap:
        assert self._debugging is not None
        arguments = request["arguments"]
        source = arguments["source"]
        path, points = self._sources.path(source), arguments.get("breakpoints", [])
        wrong = dialect.nowhere(path, points)
        if wrong:
            unset = dialect.breakpoints(path, points, [], wrong)
            return _ok(request, {"breakpoints": self._points.numbered(path, [], source, unset)})
        folders = self._state.folders
        file = self._points.file_of(path, folders[0] if folders else None)
        together = [*self._points.others(path, points), *points]
        self._debugging.state, wrong = dialect.with_points(self._state, file, together)
        good = [{"line": p["line"]} for p in together if p["line"] not in wrong]
        plain = {**request, "arguments": {"source": {"path": file}, "breakpoints": good}}
        answer = await self._debugging.request(plain)
        placed = (answer.get("body") or {}).get("breakpoints") or []
        merged = dialect.breakpoints(path, together, placed, wrong)[len(together) - len(points) :]
        return {**answer, "body": {"breakpoints": self._points.numbered(path, points, source, merged)}}

    async def _text(self, request: Dap) -> Dap:
        assert self._debugging is not None
        arguments = request["arguments"]
        path = self._sources.path(arguments.get("source") or arguments)
        there = requests.there_of(self._state, path)
        for rank in self._state.attached:
            order = requests.Order("source", {rank: {"source": {"path": there}}})
            answer = (await self._debugging.ask(order)).get(rank, {})
            if answer.get("success"):
                return _ok(request, {**answer["body"], "mimeType": "text/x-python"})
        raise BadRequest(f"No rank has the text of {path.removeprefix(CELL)}.", "")

    async def _across(self, expression: str) -> str:
        """Evaluate an expression without a frame, on all ranks that are paused or idle."""
        assert self._debugging is not None
        dialect.readable(expression)
        order = requests.Order("where", {r: {} for r in self._state.running})
        for rank, answer in (await self._debugging.ask(order)).items():
            if answer.get("success"):
                self._debugging.state = events.record_location(self._state, rank, answer["body"])
        row = await self._debugging.across(expression)
        if not row.groups:
            raise Conflict("The ranks are running.", "Pause them to look at their variables.")
        if all(group.error for group in row.groups):
            raise BadRequest(f"{dialect.side_by_side(row)}.", "")
        return dialect.side_by_side(row)

    # ---- moving

    async def _move(self, request: Dap) -> Dap:
        assert self._debugging is not None
        self._held = []
        self._debugging.state = dialect.moving(self._state, request)
        alone = self._state.mode == "this"
        rank = rank_of(request["arguments"])
        if not self._state.paused or (alone and rank not in self._state.paused):
            raise Conflict(
                f"Rank {rank} is not paused." if alone else "No rank is paused.",
                "Pause the ranks, or wait for a breakpoint.",
            )
        try:
            answer = await self._debugging.request(request)
        finally:
            self._debugging.state = replace(self._state, mode="all")
        if request["command"] == "continue" and answer["success"]:
            return {**answer, "body": {"allThreadsContinued": not alone}}
        return answer

    # ---- events

    def _received(self, event: Dap) -> None:
        if event["event"] == "dtrain/state":
            self._print(dialect.waiting(self._state))
        elif event["event"] == "dtrain/loaded":
            for body in self._points.loaded(event["body"]["path"]):
                self._post(_event("breakpoint", body))
        elif self._held is not None:
            self._held.append(_event(event["event"], event["body"]))
        else:
            self._post(_event(event["event"], event["body"]))

    def _print(self, text: str) -> None:
        if text and text != self._printed:
            self._post(_event("output", {"category": "console", "output": f"{text}\n"}))
        self._printed = text

    def _post(self, message: Dap) -> None:
        self._seq += 1
        self._send({**self._numbering.outward(message), "seq": self._seq})


def _event(name: str, body: Dap) -> Dap:
    return {"type": "event", "event": name, "body": body}


def _ok(request: Dap, body: Dap | None = None) -> Dap:
    return {**replies.refused(request, ""), "success": True, "message": "", "body": body or {}}
