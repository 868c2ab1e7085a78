"""Breakpoints that the kernel's own debugger received first: they are taken over with their conditions."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from dtrain_lab.debugger.state import Breakpoint, Dap, State
from dtrain_lab.kernel.debugger import earlier_breakpoints
from dtrain_lab.kernel.debugger.earlier_breakpoints import EarlierBreakpoints

FILE = "/home/me/model.py"
TOLD = [
    {"path": "7.py", "line": 5, "condition": "rank == 1", "hitCondition": ">= 3", "logMessage": ""},
    {"path": FILE, "line": 2, "condition": "x > 2"},
]
ASKED = Breakpoint(5, "rank == 1", ">= 3")


@pytest.fixture
def cell(tmp_path: Path) -> str:
    folder = tmp_path / "ipykernel_7"
    folder.mkdir()
    (folder / "7.py").write_text("%%distributed\nx = 1")
    (folder / "8.py").write_text("x = 1")
    return str(folder / "7.py")


@pytest.mark.asyncio
async def test_the_front_end_is_asked_for_conditions(cell: str) -> None:
    own = {cell: [{"line": 5}], cell.replace("7.py", "8.py"): [{"line": 1}], FILE: [{"line": 2}]}
    emitted: list[Dap] = []
    earlier = EarlierBreakpoints(lambda: own, emitted.append)
    assert [event["event"] for event in emitted] == ["dtrain/conditions"], "before the first cell"
    waits = asyncio.create_task(earlier.answered(State()))
    await asyncio.sleep(0)
    assert not waits.done()
    assert earlier.conditions_received(TOLD, State()) == []
    await waits
    state = earlier.adopt(State())
    assert state.points == {cell: (ASKED,), FILE: (Breakpoint(2, "x > 2"),)}, (
        "an ordinary cell's are not ours"
    )
    assert state.cells == {cell: "%%distributed\nx = 1"}
    assert earlier.adopt(state) is state


@pytest.mark.asyncio
async def test_an_answer_that_comes_late_counts_and_nobody_waits_for_it_twice(
    cell: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(earlier_breakpoints, "ANSWER_WITHIN_S", 0.01)
    own: dict[str, list[Dap]] = {}
    emitted: list[Dap] = []
    earlier = EarlierBreakpoints(lambda: own, emitted.append)
    await earlier.answered(State())
    assert not emitted, "there is nothing to take over"
    own[cell] = [{"line": 5}, {"line": 6}]
    await earlier.answered(State())
    state = earlier.adopt(State())
    assert state.points == {cell: (Breakpoint(5), Breakpoint(6))}
    await earlier.answered(State())
    assert len(emitted) == 1
    [arguments] = earlier.conditions_received(TOLD, state)
    assert arguments == {"path": cell, "line": 5, "condition": "rank == 1", "hit": ">= 3", "log": ""}
