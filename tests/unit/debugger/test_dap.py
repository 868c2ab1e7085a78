"""All ranks under one debugger: every request and event, without a socket."""

from __future__ import annotations

import base64
from array import array
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from dtrain_lab.debugger import compare_values, conditions, events, replies, requests
from dtrain_lab.debugger.collective_waits import waits_for
from dtrain_lab.debugger.sources import runs_at
from dtrain_lab.debugger.state import (
    FIRST_THREAD,
    Breakpoint,
    Collective,
    Dap,
    Outcome,
    State,
    inward,
    outward,
    to_rank,
)
from dtrain_lab.debugger.view import view
from dtrain_lab.errors import BadRequest, Conflict
from dtrain_lab.rank.debugger.conditions import forget_hits
from dtrain_lab.wire.links.values import ValueSummary
from tests.unit.debugger.paused_ranks import attached, paused

CELL = "/tmp/ipykernel_1/77.py"
OWN = "/tmp/ipykernel_1/88.py"
MAGIC = "%%distributed\nx = 1"


def ask(command: str, **arguments: Any) -> Dap:
    return {"type": "request", "seq": 9, "command": command, "arguments": arguments}


def serve(state: State, request: Dap, *answers: dict[int, Dap], kernel: Dap | None = None) -> Any:
    state, orders = requests.orders(state, request, kernel)
    state, answer, emitted = replies.reply(state, request, kernel, answers)
    return state, orders, answer, emitted


OK = {"success": True, "body": {}}


def test_a_cell_of_ranks_is_known_by_its_magic_and_others_are_the_kernels() -> None:
    kernel = {"success": True, "body": {"sourcePath": CELL}}
    state, orders, answer, _ = serve(attached(), ask("dumpCell", code=MAGIC), kernel=kernel)
    assert state.cells == {CELL: MAGIC}
    assert orders[0].arguments[2] == {"name": "77.py", "code": MAGIC}
    assert answer is kernel
    state, orders, _, _ = serve(attached(), ask("dumpCell", code="x = 1"), kernel=kernel)
    assert not state.cells
    assert not orders


def test_the_cells_of_a_job_are_known_by_their_text() -> None:
    state = replace(attached(), texts={"x = 1": "[4]"}, folders=("/home/me/nb", "/jobs/7/code"))
    kernel = {"success": True, "body": {"sourcePath": OWN}}
    state, orders, _, _ = serve(state, ask("dumpCell", code="x = 1"), kernel=kernel)
    assert not orders, "the job has its text"
    assert requests.there_of(state, OWN) == "dtrain-cell:[4]"
    assert events.path_of(state, "dtrain-cell:[4]") == OWN
    assert requests.there_of(state, "/home/me/nb/model.py") == "/jobs/7/code/model.py"
    assert events.path_of(state, "/jobs/7/code/model.py") == "/home/me/nb/model.py"


def test_breakpoints_of_ranks_go_to_ranks_and_keep_their_conditions() -> None:
    state = replace(attached(), cells={CELL: MAGIC})
    request = ask("setBreakpoints", source={"path": CELL}, breakpoints=[{"line": 2}])
    assert requests.for_kernel(state, request)["arguments"]["breakpoints"] == []
    placed = {"success": True, "body": {"breakpoints": [{"verified": True, "line": 3}]}}
    state, orders, answer, emitted = serve(state, request, dict.fromkeys(range(3), placed), kernel=OK)
    assert orders[0].arguments[1]["source"] == {"path": "dtrain-cell:77.py"}
    assert answer["body"]["breakpoints"][0]["line"] == 3, "a blank line's is at the next that runs"
    assert emitted[0]["event"] == "dtrain/state"

    state, orders, _, _ = serve(
        state, ask("dtrain/breakpoint", path=CELL, line=3, condition="rank == 1 and x > 2", hit="3")
    )
    made = orders[0].arguments[1]["breakpoints"][0]["condition"]
    assert made.startswith("(1 == 1 and x > 2) and (")
    assert made.endswith(" == 3)")
    assert orders[0].arguments[2]["breakpoints"][0]["condition"].startswith("(2 == 1 and x > 2)")
    again = ask("setBreakpoints", source={"path": CELL}, breakpoints=[{"line": 3}, {"line": 5}])
    state, _ = requests.orders(state, again, OK)
    assert state.points[CELL] == (Breakpoint(3, "rank == 1 and x > 2", "3"), Breakpoint(5))
    # what our panel gives to a new kernel
    state = replace(attached(), cells={CELL: MAGIC})
    point = {"line": 3, "condition": "rank == 1", "hitCondition": "3", "logMessage": "x"}
    state, _ = requests.orders(state, ask("setBreakpoints", source={"path": CELL}, breakpoints=[point]), OK)
    assert state.points[CELL] == (Breakpoint(3, "rank == 1", "3", "x"),)
    of_file = ask("setBreakpoints", source={"path": "/home/me/model.py"}, breakpoints=[point])
    assert requests.for_kernel(state, of_file)["arguments"]["breakpoints"] == [{"line": 3}]


def test_breakpoints_in_a_cell_of_ranks_are_shown_while_no_rank_is_attached() -> None:
    none = {"success": True, "body": {"breakpoints": []}}
    request = ask("setBreakpoints", source={"path": CELL}, breakpoints=[{"line": 2}, {"line": 5}])
    state, orders, answer, _ = serve(State(cells={CELL: MAGIC}), request, kernel=none)
    assert not orders, "another notebook debugs the ranks"
    shown = [(point["line"], point["verified"]) for point in answer["body"]["breakpoints"]]
    assert shown == [(2, True), (5, True)]
    sent = [order.command for order in requests.catch_up(state, (0, 1))]
    assert sent == ["dumpCell", "setBreakpoints", "setExceptionBreakpoints"], "once ranks are attached"
    request = ask("setBreakpoints", source={"path": CELL}, breakpoints=[])
    assert serve(state, request, kernel=none)[2]["body"]["breakpoints"] == []
    own = {"success": True, "body": {"breakpoints": [{"line": 3, "verified": True}]}}
    request = ask("setBreakpoints", source={"path": OWN}, breakpoints=[{"line": 2}])
    assert serve(state, request, kernel=own)[2] is own, "an ordinary cell"


TEXT = """import torch

def one(x):

    # a comment
    y = (x +
         1)
    return y

def two(x):
    return [
        i
        for i in x]
"""


@pytest.mark.parametrize(
    ("line", "runs"),
    [(1, 1), (2, 3), (3, 3), (4, 6), (5, 6), (6, 6), (7, 7), (8, 8), (9, 10), (14, None), (99, None)],
)
def test_a_breakpoint_is_where_code_runs(line: int, runs: int | None) -> None:
    assert runs_at(TEXT, line) == runs
    assert runs_at(f"%time x = 1\n{TEXT}", line) == line, "not Python: whoever runs it knows"


def test_a_file_that_some_ranks_or_all_lack_is_named() -> None:
    path = "/home/me/model.py"
    placed = {"success": True, "body": {"breakpoints": [{"verified": True, "line": 4}]}}
    lacks = {"success": False, "message": f"There is no file {path} on gpu-2, where rank 2 runs."}
    request = ask("setBreakpoints", source={"path": path}, breakpoints=[{"line": 4}])
    state, _, answer, _ = serve(attached(), request, {0: placed, 1: placed, 2: lacks}, kernel=OK)
    assert answer["body"]["breakpoints"][0]["verified"]
    assert state.notes == (f"{lacks['message']} Rank 2 does not stop there.",)
    state, _, _, _ = serve(state, request, {0: placed, 1: placed, 2: placed}, kernel=OK)
    assert state.notes == (), "it is there now"

    point = ask("dtrain/breakpoint", path=path, line=4, condition="")
    state, _, answer, _ = serve(attached(), point, dict.fromkeys(range(3), lacks))
    assert (answer["success"], answer["message"]) == (False, lacks["message"])
    assert not state.points
    state, _, answer, _ = serve(attached(), request, dict.fromkeys(range(3), lacks), kernel=OK)
    [unplaced] = answer["body"]["breakpoints"]
    assert (unplaced["verified"], unplaced["message"]) == (False, lacks["message"])


def test_breakpoints_of_the_kernels_own_cells_are_left_to_it() -> None:
    request = ask("setBreakpoints", source={"path": OWN}, breakpoints=[{"line": 2}])
    state, orders, answer, _ = serve(attached(), request, kernel=OK)
    assert not orders
    assert answer is OK
    assert not state.points
    assert requests.for_kernel(state, request) == request


def test_newcomers_are_told_what_the_others_know() -> None:
    state = replace(attached(), cells={CELL: MAGIC}, points={CELL: (Breakpoint(2),)}, filters=("uncaught",))
    orders = requests.catch_up(state, [2])
    assert [order.command for order in orders] == ["dumpCell", "setBreakpoints", "setExceptionBreakpoints"]
    assert all(list(order.arguments) == [2] for order in orders)


def test_steps_move_all_ranks_or_one_or_some() -> None:
    state = paused()
    step = ask("next", threadId=FIRST_THREAD)
    moved, orders = requests.orders(state, step, None)
    assert list(orders[0].arguments) == [0, 1, 2]
    assert moved.paused == (), "they run, before their answer is there"
    state, _, _, _ = serve(state, ask("dtrain/focus", rank=2))
    one, _, _, _ = serve(state, ask("dtrain/mode", mode="this"))
    assert list(requests.orders(one, step, None)[1][0].arguments) == [2]
    every = ask("continue", threadId=1, all=True)
    assert list(requests.orders(one, every, None)[1][0].arguments) == [0, 1, 2], "the panel's Continue"
    some, _, _, _ = serve(state, ask("dtrain/mode", mode="some", ranks=[0, 2]))
    assert list(requests.orders(some, step, None)[1][0].arguments) == [0, 2]
    others = requests.orders(state, ask("dtrain/gather", rank=1), None)[1]
    assert list(others[0].arguments) == [0, 2]


def test_a_rank_that_reaches_the_line_after_the_step_takes_it_too() -> None:
    here = {"file": "dtrain-cell:77.py", "line": 6, "function": "step"}
    state, orders, _, _ = serve(paused(3, 0, 2), ask("next", threadId=1001), {r: OK for r in (0, 2)})
    assert orders[0].arguments == {0: {}, 2: {}}
    # those that step over a collective wait for rank 1, which reaches its breakpoint only now
    state, _ = events.happened(state, 1, "stopped", {"reason": "breakpoint", "place": here})
    state, late = requests.catch_step(state, 1)
    assert late == (requests.Order("next", {1: {}}),)
    assert state.ranks[1].phase == "running"
    # the next time round it stops as the others do
    state, _ = events.happened(state, 1, "stopped", {"reason": "breakpoint", "place": here})
    assert requests.catch_step(state, 1) == (state, ())


def test_a_late_rank_takes_all_the_steps_that_it_has_missed() -> None:
    def at(line: int, reason: str) -> Dap:
        return {"reason": reason, "place": {"file": "dtrain-cell:77.py", "line": line, "function": "step"}}

    state, _, _, _ = serve(paused(2, 0), ask("next", threadId=1001), {0: OK})
    state, _ = events.happened(state, 0, "stopped", at(7, "step"))
    state, _, _, _ = serve(state, ask("next", threadId=1001), {0: OK})  # over a collective on line 7
    for line, reason in ((6, "breakpoint"), (7, "step")):
        state, _ = events.happened(state, 1, "stopped", at(line, reason))
        state, late = requests.catch_step(state, 1)
        assert late == (requests.Order("next", {1: {}}),), line
    state, _ = events.happened(state, 1, "stopped", at(8, "step"))
    assert requests.catch_step(state, 1) == (state, ())


@pytest.mark.parametrize(
    ("change", "stop"),
    [
        ({}, {"line": 9}),
        ({}, {"reason": "pause"}),
        ({"mode": "this"}, {}),
        ({}, {"command": "continue"}),
    ],
    ids=["another line", "a pause", "one rank's step", "continue"],
)
def test_a_rank_that_stops_for_another_reason_stays(change: dict[str, Any], stop: dict[str, Any]) -> None:
    state = replace(paused(2, 0), **change)
    state, _, _, _ = serve(state, ask(stop.get("command", "next"), threadId=1001), {0: OK})
    place = {"file": "dtrain-cell:77.py", "line": stop.get("line", 6), "function": "step"}
    body = {"reason": stop.get("reason", "breakpoint"), "place": place}
    state, _ = events.happened(state, 1, "stopped", body)
    assert requests.catch_step(state, 1)[1] == ()


def test_whom_a_rank_in_a_collective_waits_for() -> None:
    waits = {"operation": {"name": "all_reduce", "ranks": [0, 1]}, "sequences": {"0": 7, "pair": 3}}
    assert waits_for(waits, {0: {"sequences": {"0": 6, "pair": 3}}})
    assert not waits_for(waits, {0: {"sequences": {"0": 7, "pair": 3}}}), "it has come: the rank comes back"
    assert not waits_for(waits, {2: {"sequences": {"0": 6}}}), "it does not take part"
    assert not waits_for({"operation": None, "sequences": {"0": 7}}, {0: {"sequences": {"0": 6}}})
    assert waits_for({"operation": {"name": "recv"}, "sequences": {"0": 7}}, {0: {"sequences": {"0": 7}}})


def test_one_rank_is_paused_for_whom_the_others_wait() -> None:
    _, orders, answer, _ = serve(attached(), ask("dtrain/pause", ranks=[1]), {1: OK})
    assert orders[0].command == "pause"
    assert list(orders[0].arguments) == [1]
    assert answer["success"]


@pytest.mark.parametrize("command", ["continue", "next", "stepIn", "stepOut", "pause"])
def test_where_no_rank_stands_the_kernel_is_meant(command: str) -> None:
    assert requests.asks_kernel(attached(), ask(command, threadId=1))
    assert not requests.asks_kernel(
        paused() if command != "pause" else events.cell_began(attached(), [0]), ask(command, threadId=1)
    )


def test_frames_variables_and_scopes_are_numbered_by_rank() -> None:
    state = replace(paused(), cells={CELL: MAGIC})
    frame = {"id": 5, "name": "step", "line": 6, "source": {"path": "dtrain-cell:77.py"}}
    answer = {"success": True, "body": {"stackFrames": [frame]}}
    state, orders, got, _ = serve(state, ask("stackTrace", threadId=FIRST_THREAD + 2), {2: answer})
    assert orders == (requests.Order("stackTrace", {2: {}}),)
    assert got["body"]["stackFrames"][0]["id"] == outward(2, 5)
    assert got["body"]["stackFrames"][0]["source"]["path"] == CELL
    assert inward(outward(2, 5)) == (2, 5)

    scopes = {"success": True, "body": {"scopes": [{"name": "Locals", "variablesReference": 7}]}}
    _, orders, got, _ = serve(state, ask("scopes", frameId=outward(2, 5)), {2: scopes})
    assert orders[0].arguments == {2: {"frameId": 5}}
    assert got["body"]["scopes"][0]["variablesReference"] == outward(2, 7)

    variables = {
        "success": True,
        "body": {
            "variables": [{"name": n, "value": "", "variablesReference": 0} for n in ("x", "_i3", "In")]
        },
    }
    _, _, got, _ = serve(state, ask("variables", variablesReference=outward(1, 7)), {1: variables})
    assert [v["name"] for v in got["body"]["variables"]] == ["x"]


def test_steps_are_offered_while_an_idle_rank_is_looked_at_and_move_the_paused_ones() -> None:
    """JupyterLab's buttons are disabled unless a thread has stopped, and never say why."""

    def told(emitted: tuple[Dap, ...]) -> list[tuple[str, int]]:
        shown = [e for e in emitted if e["event"] in ("stopped", "continued")]
        return [(e["event"], e["body"]["threadId"] - FIRST_THREAD) for e in shown]

    state = replace(paused(3, 0, 1).rank(2, phase="idle", attached=True), focus=0)
    state, _, _, emitted = serve(state, ask("dtrain/focus", rank=2))
    assert told(emitted) == [("continued", 0), ("stopped", 2)], "the other's frames are not shown as its own"
    _, _, info, _ = serve(state, ask("debugInfo"), kernel={"success": True, "body": {}})
    assert info["body"]["stoppedThreads"] == [FIRST_THREAD + 2], "also after a reload"
    assert to_rank(state, ask("stackTrace", threadId=1))["arguments"] == {"threadId": FIRST_THREAD + 2}
    none = {2: {"success": False, "message": "Rank 2 is not paused."}}
    _, _, stack, _ = serve(state, ask("stackTrace", threadId=FIRST_THREAD + 2), none)
    assert stack["body"] == {"stackFrames": []}
    assert not requests.asks_kernel(state, ask("evaluate", expression="x"))
    with pytest.raises(Conflict, match="Rank 2 is not paused"):
        serve(state, ask("evaluate", expression="x"))
    state, orders, _, _ = serve(state, ask("next", threadId=FIRST_THREAD + 2), {0: OK, 1: OK})
    assert list(orders[0].arguments) == [0, 1]
    state, emitted = events.happened(state, 0, "continued", {})
    assert told(emitted) == [("continued", 2)], "none is paused any more"
    state, _ = events.happened(state, 0, "stopped", {"reason": "step"})
    state, emitted = events.settled(state)
    assert (state.focus, told(emitted)) == (2, [("stopped", 2)]), "it stays in focus"
    alone, _, _, emitted = serve(state, ask("dtrain/mode", mode="this"))
    assert told(emitted) == [("continued", 2)], "no rank would move: the sidebar says why"
    assert not alone.offers_steps
    _, emitted = events.focus(state, 0)
    assert told(emitted) == [("stopped", 0)]


def test_a_stack_of_thread_1_is_that_of_the_focused_rank_while_it_is_paused() -> None:
    """JupyterLab 4.2 knows no other thread."""
    asked = ask("stackTrace", threadId=1)
    state = replace(paused(), focus=2)
    assert to_rank(state, asked)["arguments"] == {"threadId": FIRST_THREAD + 2}
    assert to_rank(attached(), asked) == asked
    other = ask("stackTrace", threadId=FIRST_THREAD)
    assert to_rank(state, other) == other


def test_rank_that_is_not_there_is_refused() -> None:
    with pytest.raises(BadRequest, match="no rank 7"):
        requests.orders(paused(), ask("stackTrace", threadId=FIRST_THREAD + 7), None)
    with pytest.raises(BadRequest, match="no rank 7"):
        serve(paused(), ask("dtrain/focus", rank=7))


def test_threads_and_info_add_the_ranks() -> None:
    kernel = {"success": True, "body": {"threads": [{"id": 1, "name": "MainThread"}]}}
    _, _, answer, _ = serve(paused(), ask("threads"), kernel=kernel)
    assert [t["id"] for t in answer["body"]["threads"]] == [1, 1001, 1002, 1003]
    state = replace(paused(), points={CELL: (Breakpoint(2),)})
    kernel = {
        "success": True,
        "body": {"breakpoints": [{"source": OWN, "breakpoints": []}], "stoppedThreads": []},
    }
    _, _, answer, _ = serve(state, ask("debugInfo"), kernel=kernel)
    assert {b["source"] for b in answer["body"]["breakpoints"]} == {CELL, OWN}
    assert answer["body"]["stoppedThreads"] == [FIRST_THREAD]


def test_an_expression_is_evaluated_where_one_looks() -> None:
    answer = {"success": True, "body": {"result": "3", "variablesReference": 4}}
    _, orders, got, _ = serve(paused(), ask("evaluate", expression="x", frameId=outward(1, 5)), {1: answer})
    assert orders[0].arguments == {1: {"expression": "x", "frameId": 5}}
    assert got["body"] == {"result": "3", "variablesReference": outward(1, 4)}
    _, orders, _, _ = serve(paused(), ask("evaluate", expression="x"), {0: answer})
    assert list(orders[0].arguments) == [0], "the rank that is looked at"


def test_an_expression_with_a_collective_runs_on_all_or_not_at_all() -> None:
    expression = "dist.all_reduce(x)"
    _, orders = requests.orders(paused(), ask("evaluate", expression=expression, frameId=outward(1, 5)), None)
    assert orders[0].arguments == {r: {"expression": expression} for r in range(3)}
    with pytest.raises(Conflict, match="not all ranks are paused"):
        requests.orders(paused(3, 0, 1), ask("evaluate", expression=expression), None)


def test_a_refusal_of_the_rank_is_passed_on() -> None:
    no = {"success": False, "message": "Rank 1 is not paused."}
    _, _, answer, _ = serve(paused(), ask("scopes", frameId=outward(1, 5)), {1: no})
    assert not answer["success"]
    assert answer["message"] == "Rank 1 is not paused."
    assert answer["body"] == {"scopes": []}, "JupyterLab reads on"


def test_a_source_that_the_notebooks_host_lacks_is_read_by_the_rank() -> None:
    request = ask("source", source={"path": "/data/model.py"}, sourceReference=0)
    lacks: Dap = {"success": False, "body": {"content": "# none"}}
    here: Dap = {"success": True, "body": {"content": "x = 1"}}
    state = replace(paused(), focus=1)
    _, orders, answer, _ = serve(state, request, {1: here}, kernel=lacks)
    assert orders[0].arguments == {1: {"source": {"path": "/data/model.py"}}}
    assert (answer["success"], answer["body"]) == (True, {"content": "x = 1"})
    _, _, answer, _ = serve(state, request, {1: {"success": False, "message": "no"}}, kernel=lacks)
    assert answer == lacks
    assert serve(state, request, kernel=here)[1:3] == ((), here)


def test_the_text_of_a_cell_that_the_front_end_has_not_announced_is_read_by_the_rank() -> None:
    lacks: Dap = {"success": False, "body": {"content": "# none"}}
    state = replace(paused(), focus=1, prefix="/tmp/ipykernel_1/")
    for path, name in (("/tmp/ipykernel_1/5.py", "dtrain-cell:5.py"), ("/tmp/other.py", "/tmp/other.py")):
        _, orders, _, _ = serve(state, ask("source", source={"path": path}), kernel=lacks)
        assert orders[0].arguments == {1: {"source": {"path": name}}}


def test_rich_values_come_from_the_rank() -> None:
    answer = {"success": True, "body": {"result": "({'text/html': '<b>3</b>'}, {})"}}
    request = ask("richInspectVariables", variableName="x", frameId=outward(1, 5))
    _, orders, got, _ = serve(paused(), request, {1: answer})
    assert "format(x)" in orders[0].arguments[1]["expression"]
    assert got["body"]["data"] == {"text/html": "<b>3</b>"}


def test_switching_off_lets_all_go() -> None:
    state = replace(paused(), points={CELL: (Breakpoint(2),)})
    state, orders, _, emitted = serve(state, ask("disconnect"), dict.fromkeys(range(3), OK), kernel=OK)
    assert orders == (requests.Order("detach", {0: {}, 1: {}, 2: {}}),)
    assert not state.on
    assert not state.points
    assert emitted[0]["body"]["code"] == "off"


# ---- events


def test_the_rank_that_is_looked_at_stays_the_one() -> None:
    state = events.cell_began(attached(), range(3))
    state, told = events.happened(state, 1, "stopped", {"reason": "breakpoint"})
    assert state.focus == 1, "nobody was looked at: the first"
    assert told[0] == events.stopped(state, 1)
    state, told = events.happened(state, 0, "stopped", {"reason": "breakpoint"})
    assert [e["event"] for e in told] == ["dtrain/state"], "another one's stop moves nothing"
    state, told = events.happened(state, 0, "continued", {})
    assert [e["event"] for e in told] == ["dtrain/state"]
    state, told = events.happened(state, 1, "continued", {})
    assert told[0] == events.continued(1)


def test_the_title_is_about_a_step_first_and_then_about_a_rank_that_is_yet_to_pause() -> None:
    state = replace(paused(2, 1).rank(0, phase="running"), focus=1, pausing=(0,))
    stepped, *_ = serve(state, ask("next", threadId=FIRST_THREAD + 1))
    assert (view(stepped).code, view(stepped).stepping) == ("stepping", (1,))
    pausing = "Pausing rank 0: it stops when its current call returns."
    assert view(stepped).sentence == f"Stepping rank 1. {pausing}"
    assert view(replace(stepped, pausing=())).sentence == "Stepping rank 1."
    assert view(replace(stepped, pausing=(0, 1))).code == "pausing", "its step takes too long for the user"
    back, _ = events.happened(stepped, 1, "stopped", {"reason": "step"})
    assert (view(back).code, back.stepping) == ("paused", ())
    alone, *_ = serve(back, ask("continue", threadId=FIRST_THREAD + 1))
    assert view(alone).code == "running"


def test_after_continue_whoever_stands_is_looked_at_and_after_a_step_nobody_else() -> None:
    state = replace(paused(3, 2), focus=0, moving="continue")
    settled, told = events.settled(state)
    assert settled.focus == 2
    assert told[0] == events.stopped(settled, 2)
    stepping = replace(state, moving="step")
    assert events.settled(stepping) == (stepping, ())


def test_a_paused_rank_that_a_step_moves_is_looked_at_where_the_chosen_one_is_idle() -> None:
    state = replace(paused(3, 1), focus=0, mode="this", moving="step").rank(0, phase="idle")
    chosen, _, _, told = serve(state, ask("dtrain/mode", mode="all"))
    assert chosen.focus == 1
    assert told[0] == events.stopped(chosen, 1), "JupyterLab offers Continue and Next"
    for arguments in ({"mode": "this"}, {"mode": "some", "ranks": [2]}):
        other, _, _, told = serve(state, ask("dtrain/mode", **arguments))
        assert other.focus == 0
        assert [e["event"] for e in told] == ["dtrain/state"]
    some, *_ = serve(state, ask("dtrain/mode", mode="some", ranks=[1, 2]))
    assert some.focus == 1


def test_where_the_rank_that_is_looked_at_has_ended_the_cell_another_is_looked_at() -> None:
    stepping = replace(paused(3, 1), focus=0, moving="step")
    ended = events.record_location(stepping, 0, {})
    state, told = events.left(stepping, ended)
    assert (state.focus, told[0]["event"]) == (1, "stopped")
    assert events.left(ended, ended)[0].focus == 0, "it was chosen while idle"
    alone = replace(ended, mode="this")
    assert events.left(replace(stepping, mode="this"), alone)[0] == alone
    lost, told = events.happened(replace(paused(3), focus=0), 0, "gone", {})
    assert (lost.focus, [e["event"] for e in told][:2]) == (1, ["continued", "stopped"])


def test_a_rank_that_ends_is_said_to_be_lost() -> None:
    state, told = events.happened(paused(), 0, "gone", {})
    assert told[0] == events.continued(0)
    assert state.ranks[0].phase == "gone"
    assert view(replace(state.rank(1, phase="idle").rank(2, phase="idle"))).sentence == "Rank 0 was lost."


def test_after_an_interrupt_a_rank_is_told_its_breakpoints_anew() -> None:
    state, told = events.happened(paused(), 1, "released", {})
    assert state.attached == (0, 2)
    assert not told


def test_a_rank_that_waits_says_for_whom() -> None:
    state = paused(3, 0, 2)
    body = {
        "place": {"file": "dtrain-cell:77.py", "line": 7, "function": "step"},
        "operation": {"name": "all_reduce", "sequence": 412, "shape": [2], "ranks": [0, 1, 2]},
    }
    state = events.record_location(state, 1, body)
    shown = view(state)
    assert shown.sentence == "Paused on 2 ranks. Rank 1 waits in all_reduce."
    assert shown.waits[0].text == "Rank 1 waits in all_reduce for ranks 0, 2."
    assert shown.waits[0].reachable
    assert not view(state.rank(2, failed=True)).waits[0].reachable
    assert state.waiting[1] == Collective("all_reduce", 412, (2,), (0, 1, 2))


def test_ranks_that_were_in_a_collective_before_are_told_once_and_until_they_go_on() -> None:
    state = events.cell_began(
        replace(attached(), began_before={0: "all_reduce", 1: "all_reduce", 2: "broadcast"}), [0, 1, 2]
    )
    assert view(state).notes == (
        "all_reduce on ranks 0–1 and broadcast on rank 2 began before the debugger was turned on, "
        "and keep their time-outs.",
    )
    place = {"file": "dtrain-cell:77.py", "line": 6, "function": "step"}
    there = {"place": place, "operation": {"name": "all_reduce", "sequence": 1}}
    state = events.record_location(events.record_location(state, 0, {"place": place}), 1, there)
    assert view(state).notes[0].startswith("all_reduce on rank 1 and broadcast on rank 2 began before")
    one = replace(state, began_before={1: "all_reduce"})
    assert view(one).notes == (
        "all_reduce on rank 1 began before the debugger was turned on, and keeps its time-out.",
    )
    state, _ = events.cell_ended(state, [0, 1, 2], Outcome())
    assert view(state).notes == ()


def test_a_cluster_that_was_stopped_has_lost_no_rank() -> None:
    state = attached(2)
    for rank in (0, 1):
        state, _ = events.happened(replace(state, ended=True), rank, "gone", {})
    assert (view(state).code, view(state).sentence) == ("ended", "The cluster has ended.")


def test_a_small_tensor_is_told_where_jupyterlab_shows_only_types() -> None:
    found = [
        {"name": "a", "type": "Tensor", "value": "tensor([1.,\n 2.])"},
        {"name": "big", "type": "Tensor", "value": "tensor([" + "1., " * 40 + "])"},
        {"name": "x", "type": "int", "value": "1"},
    ]
    state = replace(paused(2), focus=0)
    request = ask("variables", variablesReference=outward(0, 1))
    answer = {"success": True, "body": {"variables": found}}
    _, _, reply, _ = serve(state, request, {0: answer})
    assert [v["type"] for v in reply["body"]["variables"]] == ["tensor([1., 2.])", "Tensor", "int"]


def test_a_cell_that_has_ended_leaves_ranks_idle_and_can_be_looked_at_if_it_failed() -> None:
    outcome = Outcome(failed=True, raised=(1,), unfinished=(0, 1))
    state, _ = events.cell_ended(events.cell_began(attached(), [0, 1]), [0, 1], outcome)
    looks = events.post_mortem(replace(state, focus=0), outcome)
    assert looks.focus == 1, "not the one that was only interrupted"
    assert not view(state).only_interrupted
    ended, _ = events.cell_ended(state, [0, 1], replace(outcome, raised=()))
    assert view(ended).only_interrupted
    assert [r.phase for r in state.ranks] == ["idle"] * 3
    assert view(state).failed
    assert not view(events.cell_began(state, [0])).failed


def test_an_error_of_a_condition_is_told_with_its_breakpoint_until_it_is_changed() -> None:
    state = replace(attached(), cells={CELL: MAGIC}, points={CELL: (Breakpoint(3, "nosuch > 3"),)})
    body = {"path": "dtrain-cell:77.py", "line": 3, "text": "NameError: name 'nosuch' is not defined"}
    for rank in (1, 0):
        state, told = events.happened(state, rank, "condition", body)
        assert told
    assert view(state).points[0].error == "NameError: name 'nosuch' is not defined (on ranks 0–1)"
    assert not view(events.cell_began(state, [0])).points[0].error
    state, *_ = serve(state, ask("dtrain/breakpoint", path=CELL, line=3, condition="rank > 3"))
    assert not view(state).points[0].error


def test_a_rank_that_was_restarted_has_nothing_left_to_look_at() -> None:
    outcome = Outcome(failed=True, raised=(1,), unfinished=(0, 1))
    state, _ = events.cell_ended(events.cell_began(attached(), [0, 1]), [0, 1], outcome)
    state, _ = events.happened(state, 1, "gone", {})
    assert (state.outcome.raised, state.outcome.unfinished) == ((), (0,))
    assert view(state).failed, "the other rank can still be looked at"
    ended, _ = events.cell_ended(state, [0, 1], outcome)
    assert ended.outcome == state.outcome, "it may end before its cell does"
    state, _ = events.happened(state, 0, "gone", {})
    assert not view(state).failed


def test_a_request_that_comes_after_the_end_gets_the_list_that_jupyterlab_reads() -> None:
    for command, arguments, body in (
        ("stackTrace", {"threadId": 1002}, {"stackFrames": []}),
        ("scopes", {"frameId": 20000002}, {"scopes": []}),
    ):
        _, _, answer, _ = serve(paused(2), ask(command, **arguments), {})
        assert answer["body"] == body


@pytest.mark.parametrize(
    ("state", "text"),
    [
        (State(), "The debugger is off."),
        (State(ended=True), "The debugger is off."),
        (State(ended=True, texts={"x = 1": "[1]"}), "The job has ended. The debugger is off."),
        (
            State(ended=True, unwatched=True, texts={"x = 1": "[1]"}),
            "The job goes on, but its head has ended. The debugger is off.",
        ),
        (State(on=True), "No ranks yet: run a %%distributed cell."),
        (attached(2), "Ready to debug 2 ranks."),
        (events.cell_began(attached(2), [0]), "1 rank runs."),
        (paused(2), "Paused on 2 ranks."),
    ],
)
def test_how_the_ranks_stand_in_one_sentence(state: State, text: str) -> None:
    assert view(state).sentence == text


def test_the_error_at_which_ranks_have_stopped_is_named() -> None:
    state = paused(2)
    raised = {"reason": "exception", "text": "ValueError: bad value 10", "place": None}
    state, (stopped, _) = events.happened(state, 0, "stopped", raised)
    assert (stopped["body"]["reason"], stopped["body"]["text"]) == ("exception", "ValueError: bad value 10")
    assert view(state).sentence == "Paused on 2 ranks. Rank 0 raised ValueError: bad value 10."
    assert (view(state).error, view(state).raised) == ("ValueError: bad value 10", (0,))
    state, _ = events.happened(state, 1, "stopped", raised)
    assert view(state).sentence == "Paused on 2 ranks: ValueError: bad value 10."
    state, _ = events.happened(state, 0, "continued", {})
    state, _ = events.happened(state, 1, "continued", {})
    assert (view(state).error, view(state).raised) == ("", ())


def test_an_error_leads_and_ranks_that_it_has_interrupted_follow() -> None:
    lost = "RuntimeError: [/pytorch/gloo/transport/tcp/pair.cc:553] Connection closed by peer [127.0.0.1]:7"
    outcome = Outcome(failed=True, raised=(1,), unfinished=(0, 1, 2), inside={0: "barrier", 2: "barrier"})
    state = events.post_mortem(attached(), outcome)
    follows = {"reason": "exception", "text": lost, "place": None}
    for rank in (0, 2):
        state, _ = events.happened(state, rank, "stopped", follows)
    assert view(state).sentence.startswith("Paused on 2 ranks: RuntimeError"), "it is all that is known"
    assert not view(state).interrupted
    raised = {"reason": "exception", "text": "ZeroDivisionError: division by zero", "place": None}
    state, _ = events.happened(state, 1, "stopped", raised)
    shown = view(state)
    error = "Paused on 3 ranks. Rank 1 raised ZeroDivisionError: division by zero."
    assert shown.sentence == f"{error} Ranks 0, 2 were interrupted in barrier."
    assert (shown.raised, shown.interrupted, shown.inside) == ((1,), (0, 2), ("barrier",))
    stopped_by_user = {"reason": "exception", "text": "KeyboardInterrupt", "place": None}
    state, _ = events.happened(replace(state, interrupted={}), 0, "stopped", stopped_by_user)
    assert view(state).sentence == f"{error} Ranks 0, 2 were interrupted."
    assert not events.cell_began(events.post_mortem(state, outcome), (0,)).interrupted


# ---- conditions


def test_rank_is_its_number_but_not_a_lambdas_own() -> None:
    point = Breakpoint(3, "any(map(lambda rank: rank > 1, xs)) and rank == 2")
    assert (
        conditions.for_rank(point, CELL, 5)["condition"] == "any(map(lambda rank: rank > 1, xs)) and 5 == 2"
    )


@pytest.mark.parametrize(
    ("condition", "made"),
    [
        ("any(rank == 0 for rank in peers)", "any((rank == 0 for rank in peers))"),
        ("[rank for rank in range(rank)]", "[rank for rank in range(5)]"),
        ("{k: rank for k, rank in xs}", "{k: rank for k, rank in xs}"),
        ("{x for x in xs if x == rank}", "{x for x in xs if x == 5}"),
        ("(lambda *rank: rank)(rank)", "(lambda *rank: rank)(5)"),
    ],
)
def test_rank_is_not_a_comprehensions_own(condition: str, made: str) -> None:
    assert conditions.for_rank(Breakpoint(3, condition), CELL, 5)["condition"] == made


def test_a_log_point_prints_in_the_rank_and_never_stops() -> None:
    point = Breakpoint(3, "x > 1", log="x is {x} on {rank}")
    made = conditions.for_rank(point, CELL, 1)
    heard: list[str] = []
    names = {"x": 2, "print": heard.append}
    assert not eval(str(made["condition"]), names)
    assert heard == ["x is 2 on 1"]


@pytest.mark.parametrize(
    ("hit", "met"),
    [
        ("3", [3]),
        (">= 4", [4, 5]),
        ("% 2 == 0", [2, 4]),
        ("% 2", [2, 4]),
        ("% 3 == 1", [1, 4]),
        ("", [1, 2, 3, 4, 5]),
    ],
)
@pytest.mark.parametrize("log", ["", "pass {x}"])
def test_a_breakpoint_stops_or_prints_in_the_passes_that_its_hit_count_names(
    hit: str, met: list[int], log: str
) -> None:
    forget_hits()
    heard: list[str] = []
    made = str(conditions.for_rank(Breakpoint(3, "x > 0", hit, log), CELL, 1)["condition"])
    stops = [x for x in range(6) if eval(made, {"x": x, "print": heard.append})]
    assert (stops, heard) == (([], [f"pass {x}" for x in met]) if log else (met, []))


def test_passes_of_a_line_are_counted_by_file_and_in_each_cell_anew() -> None:
    forget_hits()
    here, there = (
        str(conditions.for_rank(Breakpoint(3, hit="2"), path, 0)["condition"]) for path in (CELL, OWN)
    )
    assert [eval(each) for each in (here, there, here, here)] == [False, False, True, False]
    forget_hits()  # as a rank's debugger does when a cell begins
    assert [eval(here), eval(here)] == [False, True]


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("condition", "x ="),
        ("log", "{x"),
        *(("hit", text) for text in ("often", "= 3", "% 0", "% 3 == 3", "== 03", ">= 3 or 1")),
    ],
)
def test_what_no_rank_could_read_is_refused(field: str, text: str) -> None:
    point = replace(Breakpoint(1), **{field: text})
    with pytest.raises(BadRequest, match=r"can't be read|not a hit count") as refused:
        conditions.check(point)
    assert refused.value.code == f"unreadable_{field}", "the panel marks the field by it"


# ---- across ranks


def glance(text: str, *leaves: list[Any], **more: Any) -> ValueSummary:
    return msgspec.convert({"type": "T", "text": text, "leaves": leaves, **more}, ValueSummary)


def numbers(*values: float) -> str:
    return base64.b64encode(array("d", values).tobytes()).decode()


def test_equal_values_are_one_group() -> None:
    answers = {r: glance("412", ["", "value", "int", [], "412"]) for r in range(3)}
    row = compare_values.row("step", answers, {}, {})
    assert (row.same, row.text) == (True, "412 on all ranks")


def test_what_differs_first_is_named_with_how_far() -> None:
    def model(digest: str) -> ValueSummary:
        same = ["fc.bias", "tensor", "float32", [2], "same"]
        return glance("Net", same, ["fc.weight", "tensor", "float32", [2], digest])

    answers = {0: model("a"), 1: model("b"), 2: model("a")}
    assert compare_values.wanted_leaf(answers) == ("fc.weight", (0, 1))
    row = compare_values.row("model", answers, {}, {0: numbers(1, 2), 1: numbers(1, 2.5)})
    assert row.first == "fc.weight"
    assert row.text == "differs first in fc.weight (float32[2])"
    assert [(g.ranks, g.outlier, g.max_abs) for g in row.groups] == [((0, 2), False, None), ((1,), True, 0.5)]


def test_a_plain_value_that_differs_first_is_said_with_its_ranks() -> None:
    def metrics(loss: str) -> ValueSummary:
        return glance(f"{{'loss': {loss[:8]}}}", ["loss", "value", "float", [], loss])

    row = compare_values.row("metrics", {0: metrics("0.059285717351096015"), 1: metrics("0.5")}, {}, {})
    assert row.text == "differs first in loss: 0.0592857 on rank 0, 0.5 on rank 1"
    many = {rank: metrics(f"{rank}.5") for rank in range(5)}
    assert compare_values.row("metrics", many, {}, {}).text.endswith("2.5 on rank 2 and 2 more")
    missing = {0: metrics("1.5"), 1: metrics("1.5"), 2: glance("{}", ["step", "value", "int", [], "3"])}
    assert "1.5 on ranks 0–1, missing on rank 2" in compare_values.row("metrics", missing, {}, {}).text


def test_numbers_are_a_range_and_nan_an_outlier() -> None:
    answers = {r: glance(t, ["", "value", "float", [], t]) for r, t in enumerate(["1.7", "1.8", "nan"])}
    row = compare_values.row("loss", answers, {}, {})
    assert row.text == "1.7 to 1.8"
    assert [g.outlier for g in row.groups] == [False, False, True]
    answers = {r: glance("0", ["", "value", "int", [], str(r)]) for r in range(3)}
    own = compare_values.row("rank", answers, {}, {})
    assert [g.outlier for g in own.groups] == [False] * 3, "no rank stands out where each has its own"


def test_numbers_have_the_digits_that_tell_them_apart_and_are_kept_in_full() -> None:
    def value(number: float) -> ValueSummary:
        text = repr(number)
        return glance(f"{number:.6g}", ["", "value", "float", [], text], exact=text)

    row = compare_values.row("loss", {0: value(1 / 3), 1: value(2 / 3)}, {}, {})
    assert row.text == "0.333333 to 0.666667"
    assert [g.exact for g in row.groups] == ["0.3333333333333333", "0.6666666666666666"]
    near = compare_values.row("loss", {0: value(1 / 3), 1: value(1 / 3 + 2e-9)}, {}, {})
    assert near.text == "0.33333333 to 0.33333334"
    lists = {
        r: glance("[0.333333]", ["[0]", "value", "float", [], e], exact=f"[{e}]")
        for r, e in enumerate(["0.3333333333333333", "0.3333333353333333"])
    }
    row = compare_values.row("rates", lists, {}, {})
    assert [g.text for g in row.groups] == ["[0.3333333333333333]", "[0.3333333353333333]"]
    same = compare_values.row("loss", {0: value(1 / 3), 1: value(1 / 3)}, {}, {})
    assert (same.text, same.groups[0].exact) == ("0.333333 on all ranks", "0.3333333333333333")


def test_shapes_that_differ_are_said() -> None:
    def batch(n: int, digest: str = "") -> ValueSummary:
        leaf = ["", "tensor", "float32", [n, 4], digest or str(n)]
        return glance(f"float32[{n}, 4]", leaf, tensor={"shape": [n, 4], "dtype": "float32", "device": "cpu"})

    row = compare_values.row("x", {0: batch(32), 1: batch(32), 2: batch(17)}, {}, {})
    assert row.text == "shape (32, 4) on ranks 0–1, (17, 4) on rank 2"
    assert row.groups[1].ranks == (2,)
    row = compare_values.row("x", {0: batch(32, "a"), 1: batch(17), 2: batch(32, "b")}, {}, {})
    assert row.text == "shape (32, 4) on ranks 0, 2, (17, 4) on rank 1", "each shape once"
    each = compare_values.row("x", {rank: batch(rank + 1) for rank in range(5)}, {}, {})
    assert each.text.endswith("(3, 4) on rank 2 and 2 more")


def test_errors_are_grouped_and_ranks_that_run_are_said() -> None:
    row = compare_values.row("y", {}, {0: "name 'y' is not defined", 1: "name 'y' is not defined"}, {}, (2,))
    assert [g.ranks for g in row.groups] == [(0, 1)]
    assert row.groups[0].error
    assert row.text == "name 'y' is not defined (on ranks 0–1)", "not: not defined on them"
    assert row.running == (2,)
    errors = {0: "name 'y' is not defined", 1: "NameError: name 'y' is not defined", 2: "TimeoutError: slow"}
    assert [g.lacks for g in compare_values.row("y", {}, errors, {}).groups] == [True, True, False]


def test_ranks_that_run_are_not_said_to_have_the_value_of_the_others() -> None:
    answers = {r: glance("412", ["", "value", "int", [], "412"]) for r in range(3)}
    row = compare_values.row("step", answers, {}, {}, (3,))
    assert (row.same, row.text) == (False, "412 on ranks 0–2")
    alone = compare_values.row("step", {0: answers[0]}, {}, {}, (1, 2, 3))
    assert (alone.same, alone.text) == (False, "412 on rank 0")


def test_where_all_ranks_run_it_is_not_said_that_none_has_the_value() -> None:
    assert compare_values.row("x", {}, {}, {}, (0, 1)).text == "not looked at: ranks 0–1 run"
    assert compare_values.row("x", {}, {}, {}, (1,)).text == "not looked at: rank 1 runs"
    assert (
        compare_values.row("x", {}, {}, {}, (0, 1, 2), {1}).text
        == "not looked at: ranks 0, 2 run, rank 1 waits"
    )
    assert compare_values.row("x", {}, {}, {}).text == "no rank has it"


def test_objects_that_differ_by_their_address_alone_are_not_compared() -> None:
    leaf = ["", "object", "Thing", [], ""]
    answers = {r: glance("<Thing object>", leaf, opaque=True) for r in range(2)}
    row = compare_values.row("thing", answers, {}, {})
    assert (row.same, row.comparable, row.text) == (False, False, "<Thing object>, not compared")
    other = {**answers, 1: glance("[1]", ["[0]", "value", "int", [], "1"])}
    row = compare_values.row("thing", other, {}, {})
    assert (row.comparable, len(row.groups)) == (True, 2), "what differs all the same is told"
    figures = {r: glance("<Figure>", ["", "object", "Figure", [], str(r), "looks"]) for r in range(2)}
    row = compare_values.row("fig", figures, {}, {})
    assert (row.same, row.comparable, row.text) == (False, False, "<Figure>, not compared")
