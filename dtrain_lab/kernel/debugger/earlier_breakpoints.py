"""Breakpoints that the kernel's own debugger received before the ranks' debugger took its place."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from dtrain_lab.debugger.conditions import given
from dtrain_lab.debugger.requests import MAGIC
from dtrain_lab.debugger.sources import cell_name, is_cell
from dtrain_lab.debugger.state import Breakpoint, Dap, State

ASKS: Dap = {"event": "dtrain/conditions", "body": {}}
"""The event that asks front ends for the conditions that they have shown so far."""
ANSWER_WITHIN_S = 3.0
"""Seconds that a front end has to answer. One without our panel does not, and has set no condition."""

At = tuple[str, int]
"""Name of a cell, which a restart of the kernel does not change, or path of a file; and a line."""


class EarlierBreakpoints:
    """Takes over breakpoints after a restart of the kernel, or where the extension was loaded late.

    The kernel's own debugger keeps their lines only. Their conditions are asked from the front end, which
    has shown them all the time. Lives in the portal's loop, but for its creation.

    Args:
        own: The own debugger's breakpoints: path → points.
        emit: Sends an event to the front end.
    """

    def __init__(self, own: Callable[[], Mapping[str, Sequence[Dap]]], emit: Callable[[Dap], None]) -> None:
        self._own = own
        self._emit = emit
        self._conditions: dict[At, Breakpoint] = {}
        self._answered = asyncio.Event()
        if any(own().values()):  # the answer is here before the first cell of ranks, then
            emit(ASKS)

    async def answered(self, state: State) -> None:
        """Wait for the conditions of breakpoints that `adopt` will take over, if there are any."""
        if self._answered.is_set() or not self._new(state):
            return
        self._emit(ASKS)
        try:
            await asyncio.wait_for(self._answered.wait(), ANSWER_WITHIN_S)
        except TimeoutError:  # asked once only
            self._answered.set()

    def adopt(self, state: State) -> State:
        """Return the state with breakpoints of `%%distributed` cells and of files that it lacks."""
        for path, points in self._new(state).items():
            if is_cell(path):
                state = replace(state, cells={**state.cells, path: Path(path).read_text(encoding="utf-8")})
            adopted = tuple(self._conditions.get(_at(path, point["line"]), given(point)) for point in points)
            state = replace(state, points={**state.points, path: adopted})
        return state

    def conditions_received(self, points: Sequence[Dap], state: State) -> list[dict[str, Any]]:
        """Called with the front end's answer.

        Args:
            points: Conditions with `path`, a cell's without its folder, and `line`.
            state: State of the debugger.

        Returns:
            Arguments of `dtrain/breakpoint` for breakpoints that were adopted before the answer.
        """
        new = {_at(point["path"], int(point["line"])): given(point) for point in points}
        self._conditions |= new
        self._answered.set()
        return [
            {"path": path, "line": p.line, "condition": p.condition, "hit": p.hit, "log": p.log}
            for path, adopted in state.points.items()
            for bare in adopted
            if bare == Breakpoint(bare.line) and (p := new.get(_at(path, bare.line))) is not None
        ]

    def _new(self, state: State) -> dict[str, Sequence[Dap]]:
        current = {**state.points, **state.cells}
        new = {path: points for path, points in self._own().items() if points and path not in current}
        return {path: points for path, points in new.items() if _of_ranks(path)}


def _of_ranks(path: str) -> bool:
    """Whether ranks stop at a path's breakpoints: that of a file, or of a cell with our magic."""
    if not is_cell(path):
        return True
    file = Path(path)
    return file.is_file() and file.read_text(encoding="utf-8").startswith(MAGIC)


def _at(path: str, line: int) -> At:
    return (cell_name(path) if is_cell(path) else path), line
