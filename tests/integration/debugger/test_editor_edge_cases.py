"""Corners of an editor's session: requests that are wrong, odd breakpoints, lines from 0, broken messages."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import dtrain_lab as dt
from dtrain_lab.rank.debugger.breakpoints import BELOW, MOVED
from tests.dap import Editor
from tests.integration.debugger.cells import RIGHT, STEPS, Running

pytestmark = [pytest.mark.processes, pytest.mark.timeout(120), pytest.mark.usefixtures("tidy")]
LATER = """def later(x):
    # a comment
    y = x + 1
    return y

# the end
"""


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    return {"steps.py": STEPS, "gone.py": LATER, "broken.py": "def f(:\n"}


@pytest.fixture(scope="module")
def imports() -> str:
    return "import steps, gone"


@pytest.fixture(scope="module")
def cluster(cluster: dt.Cluster, folder: Path) -> dt.Cluster:
    (folder / "gone.py").unlink()
    return cluster


def set_at(editor: Editor, path: Path | str, *lines: int) -> list[dict[str, Any]]:
    points = [{"line": line} for line in lines]
    answer = editor.ask("setBreakpoints", source={"path": str(path)}, breakpoints=points)
    made: list[dict[str, Any]] = answer["body"]["breakpoints"]
    assert answer["success"]
    assert all(point["source"] == {"path": str(path)} for point in made)
    return made


def goes_on(editor: Editor, cell: Running, *paths: Path) -> None:
    for path in paths:
        set_at(editor, path)
    assert editor.ask("continue", threadId=1001)["success"]
    assert cell.end().ok


def test_wrong_requests_are_refused_in_words_and_move_no_rank(cluster: dt.Cluster, folder: Path) -> None:
    with Editor(cluster.name) as editor:
        assert editor.attach()["success"]
        set_at(editor, folder / "steps.py", 7)
        cell = Running(cluster, "print(steps.train(rank))")
        assert {editor.event("stopped")["threadId"] for _ in range(2)} == {1001, 1002}
        frame = editor.ask("stackTrace", threadId=1002)["body"]["stackFrames"][0]["id"]
        scope = editor.ask("scopes", frameId=frame)["body"]["scopes"][0]["variablesReference"]
        refused = {
            "nonsense": {},
            "setFunctionBreakpoints": {"breakpoints": []},
            "next": {"threadId": 5},
            "stepIn": {"threadId": 1003},
            "continue": {},
            "pause": {"threadId": 0},
            "stackTrace": {"threadId": 1},
            "scopes": {"frameId": frame + 500},
            "variables": {"variablesReference": scope + 500},
            "evaluate": {"expression": "1", "frameId": frame + 500},
            "completions": {"text": "x", "column": "a", "frameId": frame},
            "setVariable": {"variablesReference": scope, "name": "x", "value": "1 +"},
            "exceptionInfo": {"threadId": 1001},
            "source": {"sourceReference": 77},
            "setExceptionBreakpoints": {"filters": ["x"]},
            "setBreakpoints": {"source": {"path": "/a.py"}, "breakpoints": [{"line": "x"}]},
        }
        for command, arguments in refused.items():
            answer = editor.ask(command, **arguments)
            assert (answer["success"], answer["command"]) == (False, command), answer
            assert answer["message"].endswith("."), answer
            assert not any(word in answer["message"] for word in ("Error", "Traceback", "ID sent")), answer
        wrong = {"nothing": "NameError: name 'nothing' is not defined", "1 +": "can't be read"}
        for expression, why in wrong.items():
            answer = editor.ask("evaluate", expression=expression)
            assert (answer["success"], why in answer["message"]) == (False, True), answer
            assert not editor.ask("evaluate", expression=expression, frameId=frame)["success"]
        for thread in (1001, 1002):
            assert editor.ask("stackTrace", threadId=thread)["body"]["stackFrames"][0]["line"] == 7
        assert editor.ask("next", threadId=1001)["success"]
        for _ in range(2):
            editor.event("stopped")
        goes_on(editor, cell, folder / "steps.py")


def test_a_breakpoint_says_where_it_stops_or_why_it_does_not(cluster: dt.Cluster, folder: Path) -> None:
    (folder / "later.py").write_text(LATER)
    with Editor(cluster.name) as editor:
        assert editor.attach()["success"]
        moved, blank, end = set_at(editor, folder / "steps.py", 1, 11, 99)
        assert (moved["verified"], moved["line"]) == (True, 2)
        assert moved["message"] == MOVED
        assert (blank["verified"], blank["line"]) == (True, 12)
        assert (end["verified"], end["message"]) == (False, BELOW)
        [gone] = set_at(editor, folder / "gone.py", 2)
        assert gone["message"].startswith(f"There is no file {folder}/gone.py on ")
        [broken] = set_at(editor, folder / "broken.py", 1)
        assert "is not valid Python: line 1" in broken["message"]
        [folder_] = set_at(editor, folder, 1)
        [relative] = set_at(editor, "steps.py", 5)
        [before] = set_at(editor, folder / "steps.py", 0)
        assert not any(p["verified"] for p in (gone, broken, folder_, relative, before))
        assert editor.ask("loadedSources")["body"]["sources"] == [], "what is missing is no source of ranks"

        [waits] = set_at(editor, folder / "later.py", 2)
        assert (waits["verified"], waits["reason"], waits["line"]) == (False, "pending", 3)
        cell = Running(cluster, "import later\nprint(later.later(rank))")
        events = [editor.next_of("breakpoint", "stopped") for _ in range(3)]
        assert sorted(name for name, _ in events) == ["breakpoint", "stopped", "stopped"]
        told = dict(events)["breakpoint"]
        assert told["reason"] == "changed"
        assert (told["breakpoint"]["id"], told["breakpoint"]["verified"]) == (waits["id"], True)
        goes_on(editor, cell, folder / "later.py")
        assert set_at(editor, folder / "later.py", 3)[0]["verified"], "it is loaded now"


def test_a_file_opened_by_a_link_stops_and_is_shown_there(cluster: dt.Cluster, folder: Path) -> None:
    file, link = folder / "steps.py", folder / "link.py"
    link.symlink_to(file)
    with Editor(cluster.name) as editor:
        assert editor.attach()["success"]
        assert set_at(editor, file, 10)[0]["verified"]
        assert set_at(editor, link, 7)[0]["verified"]
        cell = Running(cluster, "print(steps.train(rank))")
        for line, path in ((7, file), (10, file), (7, link)):  # that by its other name is there, too
            assert {editor.event("stopped")["threadId"] for _ in range(2)} == {1001, 1002}
            frame = editor.ask("stackTrace", threadId=1001)["body"]["stackFrames"][0]
            assert (frame["line"], frame["source"]["path"]) == (line, str(path))
            if path == file and line == 10:
                set_at(editor, file)
            if path == file:
                assert editor.ask("continue", threadId=1001)["success"]
        goes_on(editor, cell, link)


def test_lines_and_columns_from_0_are_so_in_both_directions(cluster: dt.Cluster, folder: Path) -> None:
    with Editor(cluster.name) as editor:
        assert editor.ask("initialize", linesStartAt1=False, columnsStartAt1=False)["success"]
        assert editor.ask("attach")["success"]
        first, moved = set_at(editor, folder / "steps.py", 6, 10)
        assert (first["line"], moved["line"]) == (6, 11)
        cell = Running(cluster, "print(steps.train(rank))")
        for _ in range(2):
            editor.event("stopped")
        frame = editor.ask("stackTrace", threadId=1001)["body"]["stackFrames"][0]
        assert (frame["line"], frame["column"]) == (6, 0)
        found = editor.ask("completions", text="ran", column=3, frameId=frame["id"])["body"]["targets"]
        assert "range" in [target["label"] for target in found]
        goes_on(editor, cell, folder / "steps.py")


def test_a_broken_message_is_left_out_and_the_session_goes_on(cluster: dt.Cluster, folder: Path) -> None:
    with Editor(cluster.name) as editor:
        assert editor.attach()["success"]
        set_at(editor, folder / "steps.py", 7)
        cell = Running(cluster, "print(steps.train(rank))")
        for _ in range(2):
            editor.event("stopped")
        body = b'{"seq": 99, "type": "request", "command": "next", "arguments": {"threadId": '
        for data in (
            b"Content-Length: %d\r\n\r\n" % len(body) + body,
            b"Content-Length: 20\r\n\r\n" + body,
            b"Content-Type: json\r\n\r\n",
        ):
            editor.send(data)
            if body in data:
                answer = editor.answer()
                assert (answer["request_seq"], answer["success"]) == (99, False)
                assert "can't be read" in answer["message"]
            assert [t["id"] for t in editor.ask("threads")["body"]["threads"]] == [1001, 1002]
        set_at(editor, folder / "steps.py")
        assert editor.ask("continue", threadId=1001)["success"]
        assert cell.end().stdout == RIGHT
        editor.send(b"x" * 9000)
        assert editor.process.wait(20) == 2
        assert editor.process.stderr is not None
        said = editor.process.stderr.read().decode()
        assert "Request 99 (next) can't be read" in said
        assert "A message of the editor can't be read, and was skipped: " in said
        assert "This is not a message of the debug adapter protocol: b'xxxx" in said


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="sys.monitoring has no trace function to lose")
def test_ranks_that_an_interrupt_left_untraced_stop_in_the_next_cell(
    cluster: dt.Cluster, folder: Path
) -> None:
    """Python drops a trace function that an exception leaves, as an interrupt while pydevd lets go does."""
    with Editor(cluster.name) as editor:
        assert editor.attach()["success"]
        set_at(editor, folder / "steps.py", 7)
        lost = "import pydevd_tracing\npydevd_tracing.SetTrace(None)\nraise KeyboardInterrupt"
        assert not cluster.run(lost, check=False).ok
        cell = Running(cluster, "print(steps.train(rank))")
        assert {editor.event("stopped")["threadId"] for _ in range(2)} == {1001, 1002}
        goes_on(editor, cell, folder / "steps.py")
