"""An editor's session: the debug adapter protocol as editors speak it, over the debugger of all ranks."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Sequence

from msgspec.structs import replace

from dtrain_lab.debugger import editor, events, replies, requests
from dtrain_lab.debugger.places import CELL
from dtrain_lab.debugger.state import FIRST_THREAD, Dap, State, rank_of
from dtrain_lab.debugger.view import notes
from dtrain_lab.errors import BadRequest, Conflict, DtrainError
from dtrain_lab.machine import supervision
from dtrain_lab.services.connection import Connection
from dtrain_lab.services.debugger.again import Again
from dtrain_lab.services.debugger.debugging import Debugging, JobCode

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
"""Requests that are served beside others: one that takes long must not hold back a pause."""


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
        self._debugging: Debugging | None = None
        self._held: list[Dap] | None = None
        """Events that wait until a step was answered: an editor takes its ranks for running from then on."""
        self._shown: dict[str, str] = {}
        """Paths of sources that the editor asks us for → their names; their references are 1, 2, …"""
        self._said = ""
        self.disconnected = False
        """Whether the editor has asked for the end."""
        self._terminated = False

    async def serve(self, request: Dap) -> None:
        """Serve a request; whatever goes wrong is its answer."""
        command = str(request.get("command"))
        try:
            answer = await self._answered(command, request)
            self._tell({**answer, "type": "response", "request_seq": request.get("seq", 0)})
            if command == "attach" and answer["success"]:
                self._tell(_event("initialized", {}))
                self._threads_began(range(len(self._state.ranks)))
        finally:  # also where the request was cancelled: with its stop held for good a rank looks busy
            if command in editor.MOVES:
                held, self._held = self._held, None
                for event in held or ():
                    self._tell(event)
            if command in ("disconnect", "terminate"):
                self.disconnected = True

    async def leave(self) -> None:
        """End the session: the ranks go on."""
        if self._debugging is not None:
            await self._debugging.end()

    @property
    def _state(self) -> State:
        return self._debugging.state if self._debugging is not None else State()

    async def _answered(self, command: str, request: Dap) -> Dap:
        """Return the answer; an editor waits for one for good, so an error of any kind is one, too."""
        try:
            if not isinstance(request.get("arguments") or {}, dict):
                raise TypeError("they are no object")
            return await self._answer(command, request)
        except DtrainError as error:
            return replies.refused(request, str(error))
        except (KeyError, TypeError, ValueError) as error:  # arguments that the protocol doesn't allow
            return replies.refused(request, f"{command} has no valid arguments: {error!r}.")
        except Exception as error:  # noqa: BLE001 # a bug of ours, or of the system's
            supervision.here().fault("debug.request", error)
            return replies.refused(request, f"{command} failed: {error!r}.")

    async def _answer(self, command: str, request: Dap) -> Dap:
        arguments = request.get("arguments") or {}
        match command:
            case "initialize":
                if not arguments.get("linesStartAt1", True):
                    raise BadRequest("Lines are counted from 1 here.", "Set linesStartAt1.")
                self._who = str(arguments.get("clientName") or arguments.get("clientID") or self._who)
                return _ok(request, editor.CAPABILITIES)
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
                return _ok(request, {"threads": editor.threads(self._state)})
            case "disconnect" | "terminate" if self._debugging is None:
                return _ok(request)
        if self._debugging is None:
            raise Conflict("No cluster and no job is attached.", "Send attach first.")
        match command:
            case "setBreakpoints":
                return await self._breakpoints(request)
            case "loadedSources":
                known = list({**editor.sources(self._state), **self._shown})
                return _ok(request, {"sources": [self._source({"path": path}) for path in known]})
            case "source":
                return await self._text(request)
            case "pause":
                self._debugging.state = editor.running(self._state)
                return await self._debugging.request({**request, "arguments": {"threadId": 1}})
            case "evaluate" if rank_of(arguments) is None:
                return _ok(request, {"result": await self._across(str(arguments["expression"]))})
        if command in editor.MOVES:
            return await self._move(request)
        answer = await self._debugging.request(request)
        for frame in (answer.get("body") or {}).get("stackFrames", ()):
            if frame.get("source"):
                frame["source"] = self._source(frame["source"])
        return answer

    # ---- attaching

    async def _attach(self, arguments: Dap) -> None:
        if self._debugging is not None:
            raise Conflict("This session is attached already.", "Disconnect first.")
        connection, job = await self._find(arguments)
        debugging = Debugging(self._who, self._heard)
        debugging.state = State(editor=True)
        try:
            await debugging.begin(connection, job)
        except DtrainError:
            await debugging.end()
            raise
        self._debugging = debugging
        for note in notes(debugging.state):
            self._say(note)
        Again(debugging, connection, job, self._threads_began, self._over).keep()

    def _threads_began(self, ranks: Sequence[int]) -> None:
        for rank in ranks:
            self._tell(_event("thread", {"reason": "started", "threadId": FIRST_THREAD + rank}))

    def _over(self) -> None:
        if not self._terminated and not self.disconnected:
            self._terminated = True
            self._tell(_event("terminated", {}))

    # ---- where ranks stop

    async def _breakpoints(self, request: Dap) -> Dap:
        assert self._debugging is not None
        arguments = request["arguments"]
        path = self._path(arguments["source"])
        asked = list(arguments.get("breakpoints") or ())
        if path.endswith(".ipynb"):
            wrong = dict.fromkeys((int(point["line"]) for point in asked), editor.IN_A_NOTEBOOK)
            return _ok(request, {"breakpoints": editor.breakpoints(path, asked, [], wrong)})
        self._debugging.state, wrong = editor.with_points(self._state, path, asked)
        good = [{"line": p["line"]} for p in asked if p["line"] not in wrong]
        plain = {**request, "arguments": {"source": {"path": path}, "breakpoints": good}}
        answer = await self._debugging.request(plain)
        placed = (answer.get("body") or {}).get("breakpoints") or []
        for point in placed:
            point["source"] = self._source({**(point.get("source") or {}), "path": path})
        return {**answer, "body": {"breakpoints": editor.breakpoints(path, asked, placed, wrong)}}

    def _path(self, source: Dap) -> str:
        reference = source.get("sourceReference") or 0
        if 0 < reference <= len(self._shown):
            return list(self._shown)[reference - 1]
        if not source.get("path"):
            raise BadRequest("This source has no path.", "")
        return str(source["path"])

    def _source(self, source: Dap) -> Dap:
        """Give a source that is no file here a reference, by which the editor asks for its text."""
        path = str(source.get("path") or "")
        if not path or is_here(path):
            return {**source, "sourceReference": 0}
        named = str(source.get("name") or editor.sources(self._state).get(path) or path.removeprefix(CELL))
        name = self._shown.setdefault(path, named)
        reference = list(self._shown).index(path) + 1
        return {**source, "name": name, "sourceReference": reference, "origin": "on the ranks"}

    async def _text(self, request: Dap) -> Dap:
        assert self._debugging is not None
        arguments = request["arguments"]
        path = self._path(arguments.get("source") or {"sourceReference": arguments.get("sourceReference")})
        there = requests.there_of(self._state, path)
        for rank in self._state.attached:
            order = requests.Order("source", {rank: {"source": {"path": there}}})
            answer = (await self._debugging.ask(order)).get(rank, {})
            if answer.get("success"):
                return _ok(request, {**answer["body"], "mimeType": "text/x-python"})
        raise BadRequest(f"No rank has the text of {path.removeprefix(CELL)}.", "")

    async def _across(self, expression: str) -> str:
        """Evaluate an expression without a frame: on all ranks that stand or are idle."""
        assert self._debugging is not None
        order = requests.Order("where", {r: {} for r in self._state.running})
        for rank, answer in (await self._debugging.ask(order)).items():
            if answer.get("success"):
                self._debugging.state = events.stands(self._state, rank, answer["body"])
        row = await self._debugging.across(expression)
        if not row.groups:
            raise Conflict("The ranks run.", "Pause them to look at their variables.")
        return editor.side_by_side(row)

    # ---- moving

    async def _move(self, request: Dap) -> Dap:
        assert self._debugging is not None
        self._held = []
        self._debugging.state = editor.moving(self._state, request)
        alone = self._state.mode == "this"
        rank = rank_of(request.get("arguments") or {})
        if not self._state.paused or (alone and rank not in self._state.paused):
            raise Conflict("No rank is paused." if not alone else f"Rank {rank} is not paused.", "")
        try:
            answer = await self._debugging.request(request)
        finally:
            self._debugging.state = replace(self._state, mode="all")
        if request["command"] == "continue" and answer["success"]:
            return {**answer, "body": {"allThreadsContinued": not alone}}
        return answer

    # ---- events

    def _heard(self, event: Dap) -> None:
        if event["event"] == "dtrain/state":
            self._say(editor.waiting(self._state))
        elif self._held is not None:
            self._held.append(_event(event["event"], event["body"]))
        else:
            self._tell(_event(event["event"], event["body"]))

    def _say(self, text: str) -> None:
        if text and text != self._said:
            self._tell(_event("output", {"category": "console", "output": f"{text}\n"}))
        self._said = text

    def _tell(self, message: Dap) -> None:
        self._seq += 1
        self._send({**message, "seq": self._seq})


def is_here(path: str) -> bool:
    """Whether a source is a file of this machine."""
    return not path.startswith(CELL) and os.path.exists(path)


def _event(name: str, body: Dap) -> Dap:
    return {"type": "event", "event": name, "body": body}


def _ok(request: Dap, body: Dap | None = None) -> Dap:
    return {**replies.refused(request, ""), "success": True, "message": "", "body": body or {}}
