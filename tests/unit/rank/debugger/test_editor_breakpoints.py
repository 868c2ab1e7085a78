"""Breakpoints of one file that an editor opens by several names, and those that wait for their file."""

from __future__ import annotations

import asyncio
import json
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from dtrain_lab.rank.debugger import awaited_imports, debugger
from dtrain_lab.rank.debugger.awaited_imports import AwaitedImports, loaded
from dtrain_lab.rank.debugger.breakpoints import BELOW, MOVED, PlacedBreakpoints
from dtrain_lab.services.debugger.editor_points import EditorPoints
from dtrain_lab.wire import links

VERIFIED = {"verified": True}


def test_a_file_with_two_names_has_the_breakpoints_of_both(tmp_path: Path) -> None:
    file, link = tmp_path / "model.py", tmp_path / "link.py"
    file.touch()
    link.symlink_to(file)
    points = EditorPoints()
    assert points.file_of(str(link), None) == str(link)
    assert points.file_of(str(file), None) == str(link), "ranks know it by one name"
    points.numbered(str(link), [{"line": 3}], {}, [VERIFIED])
    assert points.others(str(file), [{"line": 5}]) == [{"line": 3}]
    assert points.others(str(file), [{"line": 3}]) == []
    assert points.editor_path(str(file)) == str(link), "a stop is shown where the breakpoint is"
    points.numbered(str(link), [], {}, [])
    assert points.editor_path(str(file)) == str(file)


def test_a_job_knows_a_file_of_its_notebooks_folder_by_a_link_too(tmp_path: Path) -> None:
    folder, link = tmp_path / "work", tmp_path / "link"
    folder.mkdir()
    (folder / "model.py").touch()
    link.symlink_to(folder)
    points = EditorPoints()
    assert points.file_of(f"{link}/model.py", str(folder)) == f"{folder}/model.py"
    assert points.file_of("/no/such.py", str(folder)) == "/no/such.py"


def test_once_a_file_is_loaded_its_breakpoints_are_told_once() -> None:
    points = EditorPoints()
    points.file_of("/a.py", None)
    waits = {"verified": False, "reason": "pending", "message": "…", "line": 3}
    [made] = points.numbered("/a.py", [{"line": 3}], {"path": "/a.py"}, [waits])
    [event] = points.loaded("/a.py")
    assert event["reason"] == "changed"
    assert event["breakpoint"] == {
        "verified": True,
        "line": 3,
        "id": made["id"],
        "source": {"path": "/a.py"},
    }
    assert points.loaded("/a.py") == []


def test_each_breakpoint_has_an_id_of_its_own() -> None:
    points = EditorPoints()
    given = [{**VERIFIED, "id": 0}]
    made = [points.numbered(path, [{"line": 1}], {}, given)[0]["id"] for path in ("/a", "/b")]
    assert made == [1, 2]


def test_a_rank_says_why_a_breakpoint_does_not_stop_where_it_was_set(tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    file.write_text("def f(x):\n\n    # why\n    return x\n\n# end\n")
    placed = PlacedBreakpoints(str(file), [{"line": n} for n in (2, 4, 6, 99)], str(file), cell=False, rank=0)
    assert placed.points == [{"line": 4}, {"line": 4}]
    told = placed.in_order([{"verified": True, "line": 4}, {"verified": True, "line": 4}])
    assert [(p["verified"], p["line"], p.get("message")) for p in told] == [
        (True, 4, MOVED),
        (True, 4, None),
        (False, 6, BELOW),
        (False, 99, BELOW),
    ]
    assert not told[0]["loaded"]
    file.write_text("def f(:\n")
    placed = PlacedBreakpoints(str(file), [{"line": 1}], str(file), cell=False, rank=0)
    assert "not valid Python: line 1" in placed.in_order([])[0]["message"]
    cell = PlacedBreakpoints(str(file), [{"line": 9}], "dtrain-cell:1.py", cell=True, rank=0)
    assert cell.points == [{"line": 9}], "only IPython can read it"


def test_a_module_is_loaded_under_each_name_of_its_file(tmp_path: Path) -> None:
    (tmp_path / "test_editor_breakpoints.py").symlink_to(__file__)
    assert loaded(__file__)
    assert loaded(str(tmp_path / "test_editor_breakpoints.py"))
    assert not loaded(str(tmp_path / "other.py"))


class Adapter:
    """In place of pydevd: sets each breakpoint."""

    def __init__(self, *_: object) -> None:
        pass

    async def install(self) -> None:
        """Nothing is traced."""

    async def attach(self) -> None:
        """There is no session."""

    async def ask(self, _: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the answer to `setBreakpoints`."""
        points = [{"verified": True, **point} for point in arguments["breakpoints"]]
        return {"success": True, "body": {"breakpoints": points}}


class NoCells:
    """A rank without cells."""

    def texts(self) -> dict[str, str]:
        """None."""
        return {}

    def locate(self, _: str, line: int) -> tuple[None, int]:
        """No cell's."""
        return None, line

    def name(self, _: str) -> None:
        """No cell's."""


@pytest.mark.parametrize("awaits", [True, False])
async def test_breakpoints_that_are_set_again_and_again_leave_no_watchers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, awaits: bool
) -> None:
    monkeypatch.setattr(debugger, "Adapter", Adapter)
    monkeypatch.setattr(awaited_imports, "CHECK_EVERY_S", 0.01, raising=False)
    file = tmp_path / "never_imported_before.py"
    file.write_text("x = 1\n")
    sent: list[links.Message] = []
    loop = asyncio.get_running_loop()
    refuse = cast(Any, None)
    one = debugger.RankDebugger(0, cast(Any, NoCells()), loop, sent.append, refuse, refuse)
    before = asyncio.all_tasks()

    async def until(condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(5):
            while not condition():
                await asyncio.sleep(0.001)

    async def ask(command: str, arguments: dict[str, Any]) -> None:
        count = len(sent)
        one.received(links.DebugRequest(0, 1, command, json.dumps(arguments).encode()))
        await until(lambda: len(sent) > count)

    await ask("attach", {})
    given = {"source": {"path": str(file)}, "breakpoints": [{"line": 1}], "awaitsImport": awaits}
    for _ in range(10):
        await ask("setBreakpoints", given)
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == before, "one timer at most, and no task"
    module = types.ModuleType("never_imported_before")
    module.__file__ = str(file)
    monkeypatch.setitem(sys.modules, "never_imported_before", module)
    if awaits:
        await until(lambda: isinstance(sent[-1], links.DebugEvent))
    events = [json.loads(m.data)["event"] for m in sent if isinstance(m, links.DebugEvent)]
    assert events == ["loaded"] * awaits


class Timer:
    """A loop that only counts its timers."""

    def __init__(self) -> None:
        self.waiting: list[Any] = []

    def call_later(self, _: float, work: Any) -> Timer:
        """Keep the call."""
        self.waiting.append(work)
        return self

    def cancel(self) -> None:
        """Drop it."""
        self.waiting.clear()

    def pass_(self) -> None:
        """Let the time pass."""
        self.waiting.pop()()


def test_a_look_that_fails_is_told_and_the_next_one_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    timer, told, failed = Timer(), list[str](), list[Exception]()
    watch = AwaitedImports(cast(Any, timer), told.append, failed.append)
    watch.await_file("a", str(tmp_path / "a.py"))
    watch.await_file("a", str(tmp_path / "a.py"))
    assert len(timer.waiting) == 1

    def breaks(_: str) -> bool:
        raise RuntimeError("odd module")

    monkeypatch.setattr(awaited_imports, "loaded", breaks)
    timer.pass_()
    assert [str(error) for error in failed] == ["odd module"]
    monkeypatch.setattr(awaited_imports, "loaded", lambda _: True)
    watch.await_file("b", str(tmp_path / "b.py"))
    timer.pass_()
    assert told == ["a", "b"]
    assert timer.waiting == [], "no file is awaited"
    watch.await_file("c", str(tmp_path / "c.py"))
    watch.forget("c")
    assert timer.waiting == []
