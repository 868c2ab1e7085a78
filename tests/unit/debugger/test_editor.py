"""The debugger as an editor sees it: framing, threads, whole breakpoints, whose stop is looked at."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from dtrain_lab.cli.adapter.stdio import vscode_entry
from dtrain_lab.debugger import events, framing, replies, requests
from dtrain_lab.debugger.compare_values import AcrossGroup, AcrossRow
from dtrain_lab.debugger.editor import arguments, dialect
from dtrain_lab.debugger.editor.numbering import Numbering
from dtrain_lab.debugger.state import Breakpoint, State, Step
from dtrain_lab.errors import BadRequest, Conflict
from tests.unit.debugger.paused_ranks import attached, paused

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


GOOD = framing.encode({"seq": 2})
BODY = b'{"seq": 1, "command": "threads"}'


@pytest.mark.parametrize(
    ("data", "kept"),
    [
        (b"Content-Length: 9\r\n\r\n{not json", 0),
        (b"Content-Length: 2\r\n\r\n[]", 0),
        (b"Content-Length: 3\r\n\r\n\xff\xfe\xfd", 0),
        (b"Content-Length: 20000\r\n\r\n" + b"[" * 20000, 0),
        (b"Content-Length: 20\r\n\r\n" + BODY, 0),
        (b"Content-Length: 40\r\n\r\n" + BODY, 1),
        (b"Content-Length: 99999999999\r\n\r\n" + BODY, 0),
        (b"Content-Length: -3\r\n\r\n" + BODY, 0),
        (BODY, 0),
        (b"Content-Type: x\r\n\r\n" + BODY, 0),
    ],
)
def test_after_a_message_that_cannot_be_read_the_next_one_is_found(data: bytes, kept: int) -> None:
    for size in (1, 7, 1 << 20):
        skipped: list[bytes] = []
        decoder = framing.Decoder(skipped.append)
        stream = GOOD + data + GOOD
        found = [m for i in range(0, len(stream), size) for m in decoder.feed(stream[i : i + size])]
        assert [m["seq"] for m in found] == [2, *[1] * kept, 2]
        assert bool(skipped) is not bool(kept)
        assert decoder.rest == b""


def test_what_never_becomes_a_header_ends_it_also_later() -> None:
    decoder = framing.Decoder(lambda _: None)
    decoder.feed(GOOD)
    with pytest.raises(BadRequest, match="debug adapter protocol"):
        decoder.feed(b"x" * 9000)


def test_a_request_in_a_message_that_cannot_be_read_is_named() -> None:
    assert dialect.named_in(b'{"seq": 12, "command": "next", "arg') == {"seq": 12, "command": "next"}
    assert dialect.named_in(b"{not json") is None


def test_lines_and_columns_are_counted_as_the_editor_does() -> None:
    from_0 = dialect.numbering({"linesStartAt1": False, "columnsStartAt1": False})
    asked = {"source": {"path": FILE}, "breakpoints": [{"line": 0, "column": 3}, {"line": 5}]}
    inward = from_0.inward("setBreakpoints", asked)
    assert inward["breakpoints"] == [{"line": 1, "column": 4}, {"line": 6}]
    assert from_0.inward("completions", {"text": "x", "column": 1, "line": 0}) == {
        "text": "x",
        "column": 2,
        "line": 1,
    }
    frame = {"id": 1, "line": 7, "column": 1, "endLine": 8}
    told = from_0.outward({"body": {"stackFrames": [frame], "totalFrames": 1}})
    assert told["body"] == {
        "stackFrames": [{"id": 1, "line": 6, "column": 0, "endLine": 7}],
        "totalFrames": 1,
    }
    told = from_0.outward({"body": {"breakpoints": [{"line": 7}]}})
    assert told["body"]["breakpoints"] == [{"line": 6}]
    told = from_0.outward({"body": {"reason": "changed", "breakpoint": {"line": 7}}})
    assert told["body"]["breakpoint"] == {"line": 6}
    assert from_0.outward({"body": {"stackFrames": [{"line": 0}]}})["body"]["stackFrames"] == [{"line": 0}]
    lines_only = dialect.numbering({"linesStartAt1": False})
    assert lines_only.inward("setBreakpoints", asked)["breakpoints"][0] == {"line": 1, "column": 3}
    assert dialect.numbering({}) == Numbering()
    message = {"body": {"stackFrames": [frame]}}
    assert Numbering().outward(message) is message
    with pytest.raises(BadRequest, match="paths"):
        dialect.numbering({"pathFormat": "uri"})


@pytest.mark.parametrize(
    ("command", "given", "said"),
    [
        ("nonsense", {}, 'has no request "nonsense"'),
        (None, {}, "has no request"),
        ("next", None, "next: its arguments must have threadId."),
        ("next", {"threadId": "1001"}, "next: threadId must be a number."),
        ("variables", [1], "must be an object"),
        ("setBreakpoints", {"source": "x"}, "source must be an object."),
        ("setBreakpoints", {"source": {"path": "a"}, "breakpoints": "x"}, "breakpoints must be a list."),
        (
            "setBreakpoints",
            {"source": {}, "breakpoints": [{"line": "x"}]},
            r"breakpoints\[0\].line must be a",
        ),
        ("setExceptionBreakpoints", {"filters": ["x"]}, 'no exception filter "x"'),
        ("completions", {"text": "a", "column": "a"}, "column must be a number"),
        ("attach", {"cluster": 5}, "attach: cluster must be a text."),
        ("attach", {"job": ["a"]}, "attach: job must be a text."),
        ("attach", {"cluster": "a", "job": "b"}, "attach names both a cluster and a job. Name one"),
    ],
)
def test_arguments_that_are_wrong_are_named(command: str | None, given: Any, said: str) -> None:
    with pytest.raises(BadRequest, match=said):
        arguments.valid({"command": command, "arguments": given})


def test_of_arguments_only_what_is_known_and_not_null_goes_on() -> None:
    given = {"threadId": 1001, "levels": None, "own": 1}
    assert arguments.valid({"command": "stackTrace", "arguments": given}) == {"threadId": 1001}
    attach = {"cluster": "demo", "own": None}
    assert arguments.valid({"command": "attach", "arguments": attach}) == attach


@pytest.mark.parametrize(
    ("command", "given", "said"),
    [
        (
            "next",
            {"threadId": 1},
            "There is no thread 1. Threads are 1001, 1003: one for each rank that is there.",
        ),
        ("next", {"threadId": 1004}, "There is no thread 1004"),
        ("stackTrace", {"threadId": 1002}, "Rank 1 has ended."),
        ("scopes", {"frameId": 5}, "There is no frame 5"),
        ("evaluate", {"expression": "x", "frameId": 90_000_001}, "There is no frame"),
        ("variables", {"variablesReference": 0}, "There is no variable 0"),
        ("variables", {"variablesReference": 10_000_000}, "There is no variable"),
        ("exceptionInfo", {"threadId": 1001}, "did not stop at an exception"),
    ],
)
def test_threads_frames_and_variables_have_to_be_there(command: str, given: Any, said: str) -> None:
    state, _ = events.happened(seen(), 1, "gone", {})
    with pytest.raises((BadRequest, Conflict), match=said):
        arguments.check_target(state, command, given)
    with pytest.raises(BadRequest, match=r"Threads are 1001 to 1003: one for each rank\."):
        arguments.check_target(seen(), "next", {"threadId": 1})
    arguments.check_target(state, "stackTrace", {"threadId": 1001})
    arguments.check_target(state, "threads", {})


def test_what_pydevd_refuses_is_said_in_words() -> None:
    request = {"arguments": {"frameId": 20000099}}
    for message in ("Wrong ID sent from the client: 99", "Unable to find thread for evaluation."):
        told = arguments.in_words(request, {"success": False, "message": message})
        assert told["message"].startswith("The rank has no frame or variable 20000099: it has resumed")
    own = {"success": False, "message": "NameError: name 'x' is not defined"}
    assert arguments.in_words(request, own) is own


def test_a_breakpoint_waits_while_no_rank_has_its_file() -> None:
    request = {
        "command": "setBreakpoints",
        "seq": 1,
        "arguments": {"source": {"path": FILE}, "breakpoints": [{"line": 3}]},
    }

    def told(*loaded: bool, state: State) -> dict[str, Any]:
        of_ranks = {
            rank: {"success": True, "body": {"breakpoints": [{"verified": True, "line": 3, "loaded": one}]}}
            for rank, one in enumerate(loaded)
        }
        moved, _ = requests.orders(state, request, None)
        _, answer, _ = replies.reply(moved, request, None, [of_ranks])
        made: dict[str, Any] = answer["body"]["breakpoints"][0]
        return made

    waits = told(False, False, state=seen(2))
    assert (waits["verified"], waits["reason"]) == (False, "pending")
    assert "No rank has imported this file yet" in waits["message"]
    assert told(False, True, state=seen(2)) == {"verified": True, "line": 3, "source": {"path": FILE}}
    assert told(False, False, state=attached(2))["verified"], "JupyterLab is not told later that it is"
    _, emitted = events.happened(seen(2), 0, "loaded", {"path": FILE})
    assert [e["body"] for e in emitted] == [{"path": FILE}]


def test_paths_that_ranks_do_not_know_are_refused_at_once() -> None:
    points = [{"line": 1}]
    assert "not an absolute path" in dialect.nowhere("model.py", points)[1]
    assert "loaded sources" in dialect.nowhere("/a/b.ipynb", points)[1]
    assert dialect.nowhere(FILE, points) == dialect.nowhere("dtrain-cell:7.py", points) == {}


def test_every_rank_is_a_thread_and_every_stop_is_told() -> None:
    state = seen()
    assert [t["name"] for t in dialect.threads(state)] == ["rank 0", "rank 1", "rank 2"]
    state, told = stop(state, 2)
    assert [(b["threadId"], b.get("preserveFocusHint")) for b in told] == [(1003, None)]
    state, told = stop(state, 0)
    assert [(b["threadId"], b["preserveFocusHint"]) for b in told] == [(1001, True)]
    state, emitted = events.happened(state, 0, "continued", {})
    assert emitted[0]["body"]["threadId"] == 1001
    state, emitted = events.happened(state, 1, "gone", {})
    assert emitted[0] == {"event": "thread", "body": {"reason": "exited", "threadId": 1002}}
    assert [t["id"] for t in dialect.threads(state)] == [1001, 1003]
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
    moved, orders = requests.orders(dialect.moving(state, request), request, None)
    assert set(orders[0].arguments) == {0, 1, 2}
    assert moved.focus == 1
    assert isinstance(moved.step, Step)
    request["arguments"]["singleThread"] = True
    moved, orders = requests.orders(dialect.moving(state, request), request, None)
    assert set(orders[0].arguments) == {1}


def test_breakpoints_come_with_their_conditions_and_wrong_ones_are_said() -> None:
    asked = [
        {"line": 3, "condition": "rank == 1", "hitCondition": "3"},
        {"line": 5, "condition": "rank ="},
        {"line": 9, "logMessage": "loss {loss}"},
    ]
    state, wrong = dialect.with_points(seen(), FILE, asked)
    assert state.points[FILE] == (Breakpoint(3, "rank == 1", "3"), Breakpoint(9, log="loss {loss}"))
    assert "condition can't be read" in wrong[5]
    request = {
        "command": "setBreakpoints",
        "arguments": {"source": {"path": FILE}, "breakpoints": [{"line": 3}, {"line": 9}]},
    }
    _, orders = requests.orders(state, request, None)
    assert "1 == 1" in orders[0].arguments[1]["breakpoints"][0]["condition"]
    placed = [{"verified": True, "line": 3}, {"verified": True, "line": 10}]
    told = dialect.breakpoints(FILE, asked, placed, wrong)
    assert [(b["verified"], b["line"]) for b in told] == [(True, 3), (False, 5), (True, 10)]
    assert dialect.breakpoints(FILE, asked[:1], [], {})[0]["message"] == "No rank is attached."


def test_idle_ranks_are_paused_too_as_others_run_cells() -> None:
    state = dialect.running(seen())
    _, orders = requests.orders(state, {"command": "pause", "arguments": {"threadId": 1}}, None)
    assert set(orders[0].arguments) == {0, 1, 2}


def test_values_side_by_side() -> None:
    groups = (AcrossGroup((0, 2), "1.5"), AcrossGroup((1,), "nan", outlier=True))
    row = AcrossRow("loss", False, groups, text="1.5 to nan")
    assert dialect.side_by_side(row) == "1.5 to nan\nranks 0, 2: 1.5\nrank 1: nan"
    alike = replace(row, groups=groups[:1], same=True, text="1.5 on all ranks")
    assert dialect.side_by_side(alike) == "1.5 on all ranks"


def test_vs_code_is_given_the_adapter_as_a_path_and_the_name_as_an_argument() -> None:
    entry = vscode_entry(None, "20261125-x")
    assert (entry["type"], entry["request"], entry["job"]) == ("debugpy", "attach", "20261125-x")
    assert "cluster" not in entry
    assert vscode_entry("demo", None)["cluster"] == "demo"
    assert not {"cluster", "job"} & set(vscode_entry(None, None))
