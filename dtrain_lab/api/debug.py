"""The Python interface of the debugger of a cluster's or a job's ranks: `Debugger`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from msgspec.structs import replace

from dtrain_lab.api.portal import Portal
from dtrain_lab.cells import rank_sets
from dtrain_lab.debugger.compare_values import AcrossRow
from dtrain_lab.debugger.sources import CELL
from dtrain_lab.debugger.state import FIRST_THREAD, Dap, JobCode, State, StepMode
from dtrain_lab.debugger.view import DebugView, view
from dtrain_lab.errors import BadRequest, Conflict
from dtrain_lab.services.connection import Connection
from dtrain_lab.services.debugger.debug_session import DebugSession

POLL_S = 0.02
in_notebook: Callable[[Connection, JobCode], Any] | None = None
"""Set in a notebook's kernel, where the notebook's own debugger debugs the job."""


@dataclass(frozen=True)
class Frame:
    """A stack frame of a paused rank."""

    function: str
    file: str
    line: int
    id: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}, in {self.function}"


class Debugger:
    """A debugger of ranks; as a context manager it detaches at the end of the block.

    Usage: set a breakpoint (`set_breakpoint("[7]", 6, condition="rank == 3")`), `wait` until ranks are paused
    there, inspect (`across("loss")`), and continue with `go`.

    Args:
        portal: This process's portal.
        connection: Connection to the head.
        job: Names of a job's cells; None for a cluster.
    """

    def __init__(self, portal: Portal, connection: Connection, job: JobCode | None = None) -> None:
        self._portal = portal
        self._name = connection.name
        self._connection = connection
        self._debugging = portal.call(self._begin(connection, job))

    async def _begin(self, connection: Connection, job: JobCode | None) -> DebugSession:
        debugging = DebugSession("A terminal", lambda _: None)
        await debugging.begin(connection, job)
        return debugging

    @property
    def state(self) -> DebugView:
        """State of the debugger and of each rank."""
        return view(self._state)

    @property
    def paused(self) -> tuple[int, ...]:
        """Paused ranks."""
        return self._state.paused

    # ---- where ranks stop

    def set_breakpoint(
        self, place: str, line: int, *, condition: str = "", hit: str = "", log: str = ""
    ) -> None:
        """Set a breakpoint.

        Args:
            place: Name of a cell ("[7]"), or path of a file.
            line: Line number from 1, as the notebook shows it.
            condition: A Python expression; `rank` is the number of the rank.
            hit: Condition on the hit count: "3", ">= 3", "% 10 == 0".
            log: Text with expressions in braces, which the rank prints instead of stopping (a logpoint).

        Raises:
            BadRequest: No rank can stop there, or the condition can't be parsed.
        """
        arguments = {"path": _path(place), "line": line, "condition": condition, "hit": hit, "log": log}
        self._ask("dtrain/breakpoint", arguments)
        self._ask(
            "setBreakpoints", {"source": {"path": _path(place)}, "breakpoints": self._lines(_path(place))}
        )

    def clear(self, place: str | None = None) -> None:
        """Remove the breakpoints of a cell or file, or all."""
        for path in [_path(place)] if place is not None else list(self._state.points):
            self._ask("setBreakpoints", {"source": {"path": path}, "breakpoints": []})

    def stop_at_failure(self, on: bool = True) -> None:
        """Pause a rank where its cell raises an uncaught exception."""
        self._ask("setExceptionBreakpoints", {"filters": ["uncaught"] if on else []})

    # ---- pausing and stepping

    def pause(self) -> None:
        """Pause all ranks in the calls that they are in; a rank in a collective pauses when it returns."""
        self._mark_running()
        self._ask("pause", {"threadId": 1})

    def go(self) -> None:
        """Continue."""
        self._ask("continue", {"threadId": 1})

    def step(self) -> None:
        """Step over the current line; a collective is stepped over on all ranks together."""
        self._step("next")

    def step_in(self) -> None:
        """Step into the call on the current line."""
        self._step("stepIn")

    def step_out(self) -> None:
        """Step out to the caller."""
        self._step("stepOut")

    def steps(self, mode: StepMode, ranks: rank_sets.Asked = None) -> None:
        """Set which ranks a step moves: "all", "this" (the selected rank), or "some" (`ranks`).

        Args:
            mode: "all", "this" or "some".
            ranks: The ranks of "some".
        """
        self._ask(
            "dtrain/mode", {"mode": mode, "ranks": list(rank_sets.asked(ranks, len(self._state.ranks)) or ())}
        )

    def look_at(self, rank: int) -> None:
        """Select the rank whose frames and variables are shown."""
        self._ask("dtrain/focus", {"rank": rank})

    def wait(self, timeout: float | None = None, ranks: rank_sets.Asked = None) -> tuple[int, ...]:
        """Wait until ranks are paused.

        Args:
            timeout: Seconds; None for no limit.
            ranks: Wait for all of these ranks; None to wait for any rank.

        Returns:
            The paused ranks.

        Raises:
            TimeoutError: The ranks were not paused in time.
        """
        until = time.monotonic() + timeout if timeout is not None else None
        wanted = rank_sets.asked(ranks, len(self._state.ranks))
        while not (set(wanted) <= set(self.paused) if wanted is not None else self.paused):
            if until is not None and time.monotonic() > until:
                raise TimeoutError(f"{self.state.sentence}")
            self._portal.call(asyncio.sleep(POLL_S))
        return self.paused

    # ---- inspecting

    def stack(self, rank: int | None = None) -> list[Frame]:
        """Return the frames of a paused rank, innermost first."""
        body = self._ask("stackTrace", {"threadId": FIRST_THREAD + self._rank(rank)})
        return [
            Frame(f["name"], _shown(f["source"]), f["line"], f["id"]) for f in body.get("stackFrames", ())
        ]

    def variables(self, rank: int | None = None, depth: int = 0) -> dict[str, str]:
        """Return the local variables of a frame, as text.

        Args:
            rank: A paused rank; by default the selected one.
            depth: Index of the frame in `stack`, 0 for the innermost.
        """
        frames = self.stack(rank)
        if not frames:
            return {}
        scopes = self._ask("scopes", {"frameId": frames[min(depth, len(frames) - 1)].id})["scopes"]
        body = self._ask("variables", {"variablesReference": scopes[0]["variablesReference"]})
        return {v["name"]: v["value"] for v in body["variables"] if v["value"]}

    def evaluate(self, expression: str, rank: int | None = None, depth: int = 0) -> str:
        """Evaluate an expression in a frame of a paused rank; returns its value as text.

        Args:
            expression: A Python expression.
            rank: A paused rank; by default the selected one.
            depth: Index of the frame in `stack`, 0 for the innermost.

        Raises:
            BadRequest: The expression can't be evaluated there.
        """
        frames = self.stack(rank)
        number = frames[min(depth, len(frames) - 1)].id if frames else None
        body = self._ask("evaluate", {"expression": expression, "frameId": number, "context": "repl"})
        return str(body.get("result", ""))

    def across(self, expression: str) -> AcrossRow:
        """Evaluate an expression on all ranks."""
        return self._portal.call(self._debugging.across(expression))

    # ---- end

    def detach(self) -> None:
        """Detach: the ranks continue, and nothing of the debugger stays in them."""
        self._portal.call(self._debugging.end())

    def __enter__(self) -> Debugger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.detach()

    # ----

    @property
    def _state(self) -> State:
        return self._debugging.state

    def _ask(self, command: str, arguments: Dap) -> Dap:
        if any(not r.attached and r.phase != "gone" for r in self._state.ranks):
            self._portal.call(self._debugging.begin(self._connection))  # after a detaching interrupt
        message = {"type": "request", "seq": 1, "command": command, "arguments": arguments}
        answer = self._portal.call(self._debugging.request(message))
        if not answer.get("success"):
            raise BadRequest(str(answer.get("message") or f"{self._name} refuses {command}."))
        body: Dap = answer.get("body") or {}
        return body

    def _step(self, command: str) -> None:
        if not self.paused:
            raise Conflict("No rank is paused.", "Pause them first.")
        self._ask(command, {"threadId": FIRST_THREAD})

    def _rank(self, rank: int | None) -> int:
        chosen = rank if rank is not None else self._state.focus
        if chosen is None:
            raise Conflict("No rank is paused.", "Pause them first, or set a breakpoint.")
        rank_sets.check([chosen], len(self._state.ranks))
        return chosen

    def _lines(self, path: str) -> list[Dap]:
        return [{"line": point.line} for point in self._state.points.get(path, ())]

    def _mark_running(self) -> None:
        """Mark idle ranks as running, so that they are asked to pause: they may run another client's cell."""
        state = self._state
        for rank in state.ranks:
            if rank.phase == "idle" and rank.attached:
                state = state.rank(rank.rank, phase="running")
        self._debugging.state = replace(state)


def _path(place: str) -> str:
    return f"{CELL}{place}" if place.startswith("[") else str(Path(place).expanduser().absolute())


def _shown(source: Dap) -> str:
    name, path = str(source.get("name", "")), str(source.get("path", ""))
    return name if name.startswith("cell ") else path
