"""The debugger of a cluster's or a job's ranks, as Python code holds it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from msgspec.structs import replace

from dtrain_lab.api.portal import Portal
from dtrain_lab.core import ranks as rank_sets
from dtrain_lab.core.debug.across import AcrossRow
from dtrain_lab.core.debug.places import CELL
from dtrain_lab.core.debug.state import FIRST_THREAD, Dap, State, StepMode
from dtrain_lab.core.debug.view import DebugView, view
from dtrain_lab.errors import BadRequest, Conflict
from dtrain_lab.services.debugging import Debugging, JobCode
from dtrain_lab.services.reach import Connection

LOOK_S = 0.02
in_notebook: Callable[[Connection, JobCode], Any] | None = None
"""Set in a notebook's kernel: there a job is debugged from the notebook itself."""


@dataclass(frozen=True)
class Frame:
    """A frame of a paused rank, innermost first in a stack."""

    function: str
    file: str
    line: int
    id: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}, in {self.function}"


class Debugger:
    """Ranks under a debugger; a context manager that lets them go at its end.

    Use it like this: set a breakpoint (`set_breakpoint("[7]", 6, condition="rank == 3")`), `wait` until ranks
    stand there, look (`across("loss")`), and `go` on.

    Args:
        portal: of this process.
        connection: to the head.
        job: what a job's cells are called.
    """

    def __init__(self, portal: Portal, connection: Connection, job: JobCode | None = None) -> None:
        self._portal = portal
        self._name = connection.record.name
        self._connection = connection
        self._debugging = portal.call(self._begin(connection, job))

    async def _begin(self, connection: Connection, job: JobCode | None) -> Debugging:
        debugging = Debugging("A terminal", lambda _: None)
        await debugging.begin(connection, job)
        return debugging

    @property
    def state(self) -> DebugView:
        """How the ranks stand."""
        return view(self._state)

    @property
    def paused(self) -> tuple[int, ...]:
        """Ranks that stand."""
        return self._state.paused

    # ---- where ranks stop

    def set_breakpoint(
        self, place: str, line: int, *, condition: str = "", hit: str = "", log: str = ""
    ) -> None:
        """Stop at a line.

        Args:
            place: a cell by its name ("[7]"), or the path of a file.
            line: from 1, as the notebook shows it.
            condition: a Python expression; `rank` is the rank's number.
            hit: how often it is reached first: "3", ">= 3", "% 10 == 0".
            log: text with expressions in braces: printed by the rank, which goes on.

        Raises:
            BadRequest: no rank can stop there, or the condition can't be read.
        """
        arguments = {"path": _path(place), "line": line, "condition": condition, "hit": hit, "log": log}
        self._ask("dtrain/breakpoint", arguments)
        self._ask(
            "setBreakpoints", {"source": {"path": _path(place)}, "breakpoints": self._lines(_path(place))}
        )

    def clear(self, place: str | None = None) -> None:
        """Remove the breakpoints of a place, or all."""
        for path in [_path(place)] if place is not None else list(self._state.points):
            self._ask("setBreakpoints", {"source": {"path": path}, "breakpoints": []})

    def stop_at_failure(self, on: bool = True) -> None:
        """Stop where a cell fails, before it ends."""
        self._ask("setExceptionBreakpoints", {"filters": ["uncaught"] if on else []})

    # ---- moving

    def pause(self) -> None:
        """Stop all ranks at their next line; one in a collective stops when it comes back."""
        self._mark_running()
        self._ask("pause", {"threadId": 1})

    def go(self) -> None:
        """Run on."""
        self._ask("continue", {"threadId": 1})

    def step(self) -> None:
        """To the next line; collectives too, with all ranks together."""
        self._step("next")

    def step_in(self) -> None:
        """Into the call on this line."""
        self._step("stepIn")

    def step_out(self) -> None:
        """To the caller."""
        self._step("stepOut")

    def steps(self, mode: StepMode, ranks: Sequence[int] = ()) -> None:
        """Whom a step moves: "all", "this" (the rank that is looked at), or "some"."""
        self._ask("dtrain/mode", {"mode": mode, "ranks": list(ranks)})

    def look_at(self, rank: int) -> None:
        """Look at this rank from now on."""
        self._ask("dtrain/focus", {"rank": rank})

    def wait(self, timeout: float | None = None, ranks: Sequence[int] | None = None) -> tuple[int, ...]:
        """Wait until ranks stand: any, or all of these.

        Returns:
            The ranks that stand.

        Raises:
            TimeoutError: they did not, in time, in seconds.
        """
        until = time.monotonic() + timeout if timeout is not None else None
        while not (set(ranks) <= set(self.paused) if ranks is not None else self.paused):
            if until is not None and time.monotonic() > until:
                raise TimeoutError(f"{self.state.sentence}")
            self._portal.call(asyncio.sleep(LOOK_S))
        return self.paused

    # ---- looking

    def stack(self, rank: int | None = None) -> list[Frame]:
        """Frames of a paused rank, innermost first."""
        body = self._ask("stackTrace", {"threadId": FIRST_THREAD + self._rank(rank)})
        return [
            Frame(f["name"], _shown(f["source"]), f["line"], f["id"]) for f in body.get("stackFrames", ())
        ]

    def variables(self, rank: int | None = None, depth: int = 0) -> dict[str, str]:
        """Local variables of a frame, as text."""
        frames = self.stack(rank)
        if not frames:
            return {}
        scopes = self._ask("scopes", {"frameId": frames[min(depth, len(frames) - 1)].id})["scopes"]
        body = self._ask("variables", {"variablesReference": scopes[0]["variablesReference"]})
        return {v["name"]: v["value"] for v in body["variables"] if v["value"]}

    def evaluate(self, expression: str, rank: int | None = None, depth: int = 0) -> str:
        """An expression in a frame of a paused rank, as text.

        Raises:
            BadRequest: it can't be evaluated there.
        """
        frames = self.stack(rank)
        number = frames[min(depth, len(frames) - 1)].id if frames else None
        body = self._ask("evaluate", {"expression": expression, "frameId": number, "context": "repl"})
        return str(body.get("result", ""))

    def across(self, expression: str) -> AcrossRow:
        """An expression on all ranks, laid side by side."""
        return self._portal.call(self._debugging.across(expression))

    # ---- end

    def detach(self) -> None:
        """Let the ranks go: they run on, and nothing of the debugger is left in them."""
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
            self._portal.call(self._debugging.begin(self._connection))  # an interrupt has let it go
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
        """Ranks may run cells of others: whoever can stop is asked."""
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
