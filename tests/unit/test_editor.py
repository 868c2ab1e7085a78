"""The debugger as an editor sees it: framing, threads, whole breakpoints, whose stop is looked at."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from dtrain_lab.cli.adapter.stdio import vscode_entry
from dtrain_lab.debugger import editor, events, framing, requests
from dtrain_lab.debugger.compared import AcrossGroup, AcrossRow
from dtrain_lab.debugger.state import Breakpoint, State, Step
from dtrain_lab.errors import BadRequest
from tests.unit.test_debug import attached, paused

FILE = "/home/me/model.py"


def seen(size: int = 3) -> State:
    return replace(attached(size), editor=True)


def stop(state: State, rank: int, line: int = 6) -> tuple[State, list[dict[str, Any]]]:
    body = {"reason": "step", "place": {"file": FILE, "line": line, "function": "f"}}
    state, emitted = events.happened(state, rank, "stopped", body)
    return state, [e["body"] for e in emitted if e["event"] == "stopped"]


def test_messages_are_found_however_the_bytes_are_cut() -> None:
    messages = [{"seq": 1, "text": "ä"}, {"seq": 2}]
    data = b"".join(map(framing.encode, messages))
    for size in (1, 7, len(data)):
        decoder = framing.Decoder()
        found = [m for i in range(0, len(data), size) for m in decoder.feed(data[i : i + size])]
        assert found == messages


@pytest.mark.parametrize(
    "data",
    [b"hello\r\n\r\n", b"Content-Length: x\r\n\r\n", b"Content-Length: 2\r\n\r\n[]", b"x" * 9000],
)
def test_bytes_of_another_protocol_are_refused(data: bytes) -> None:
    with pytest.raises(BadRequest, match="debug adapter protocol"):
        framing.Decoder().feed(data)


def test_every_rank_is_a_thread_and_every_stop_is_told() -> None:
    state = seen()
    assert [t["name"] for t in editor.threads(state)] == ["rank 0", "rank 1", "rank 2"]
    state, told = stop(state, 2)
    assert [(b["threadId"], b.get("preserveFocusHint")) for b in told] == [(1003, None)]
    state, told = stop(state, 0)
    assert [(b["threadId"], b["preserveFocusHint"]) for b in told] == [(1001, True)]
    state, emitted = events.happened(state, 0, "continued", {})
    assert emitted[0]["body"]["threadId"] == 1001
    state, emitted = events.happened(state, 1, "gone", {})
    assert emitted[0] == {"event": "thread", "body": {"reason": "exited", "threadId": 1002}}
    assert [t["id"] for t in editor.threads(state)] == [1001, 1003]
    assert events.happened(state, 1, "gone", {})[1] == ()


def test_jupyterlab_is_told_of_the_rank_that_it_looks_at_only() -> None:
    state, told = stop(attached(), 2)
    assert len(told) == 1
    assert stop(state, 0)[1] == []


def test_in_a_step_the_rank_that_the_user_steps_stays_the_one_looked_at() -> None:
    state = replace(seen(), focus=1, moving="step")
    state, told = stop(state, 0)
    assert told[0]["preserveFocusHint"]
    state, told = stop(state, 1)
    assert "preserveFocusHint" not in told[0]
    alone = replace(seen(), focus=1, moving="continue")
    assert "preserveFocusHint" not in stop(alone, 0)[1][0], "the only one that stands is looked at"


def test_a_step_moves_all_ranks_or_the_one_that_was_asked_for() -> None:
    state = replace(paused(), editor=True)
    request = {"command": "next", "arguments": {"threadId": 1002}}
    moved, orders = requests.orders(editor.moving(state, request), request, None)
    assert set(orders[0].arguments) == {0, 1, 2}
    assert moved.focus == 1
    assert isinstance(moved.step, Step)
    request["arguments"]["singleThread"] = True
    moved, orders = requests.orders(editor.moving(state, request), request, None)
    assert set(orders[0].arguments) == {1}


def test_breakpoints_come_with_their_conditions_and_wrong_ones_are_said() -> None:
    asked = [
        {"line": 3, "condition": "rank == 1", "hitCondition": "3"},
        {"line": 5, "condition": "rank ="},
        {"line": 9, "logMessage": "loss {loss}"},
    ]
    state, wrong = editor.with_points(seen(), FILE, asked)
    assert state.points[FILE] == (Breakpoint(3, "rank == 1", "3"), Breakpoint(9, log="loss {loss}"))
    assert "condition can't be read" in wrong[5]
    request = {
        "command": "setBreakpoints",
        "arguments": {"source": {"path": FILE}, "breakpoints": [{"line": 3}, {"line": 9}]},
    }
    _, orders = requests.orders(state, request, None)
    assert "1 == 1" in orders[0].arguments[1]["breakpoints"][0]["condition"]
    placed = [{"verified": True, "line": 3}, {"verified": True, "line": 10}]
    told = editor.breakpoints(FILE, asked, placed, wrong)
    assert [(b["verified"], b["line"]) for b in told] == [(True, 3), (False, 5), (True, 10)]
    assert editor.breakpoints(FILE, asked[:1], [], {})[0]["message"] == "No rank is attached."


def test_idle_ranks_are_paused_too_as_others_run_cells() -> None:
    state = editor.running(seen())
    _, orders = requests.orders(state, {"command": "pause", "arguments": {"threadId": 1}}, None)
    assert set(orders[0].arguments) == {0, 1, 2}


def test_values_side_by_side() -> None:
    groups = (AcrossGroup((0, 2), "1.5"), AcrossGroup((1,), "nan", outlier=True))
    row = AcrossRow("loss", False, groups, text="1.5 to nan")
    assert editor.side_by_side(row) == "1.5 to nan\nranks 0 and 2: 1.5\nrank 1: nan"
    assert editor.side_by_side(replace(row, same=True, text="1.5 on all")) == "1.5 on all"


def test_vs_code_is_given_the_adapter_as_a_path_and_the_name_as_an_argument() -> None:
    entry = vscode_entry(None, "20261125-x")
    assert (entry["type"], entry["request"], entry["job"]) == ("debugpy", "attach", "20261125-x")
    assert "cluster" not in entry
    assert vscode_entry("demo", None)["cluster"] == "demo"
    assert not {"cluster", "job"} & set(vscode_entry(None, None))
