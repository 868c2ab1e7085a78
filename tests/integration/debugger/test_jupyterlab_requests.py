"""JupyterLab's debug requests to a real kernel: cells of ranks and ordinary cells under one debugger."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dtrain_lab as dt
from tests.integration.debugger.debugged import Debugged
from tests.integration.kernels import by_rank
from tests.waiting import wait_until

pytestmark = [pytest.mark.processes, pytest.mark.timeout(300)]
ANSWER_S = 90
"""Longer than any answer takes, also where three parts of the tests share a slow machine."""

CELL = """%%distributed
import torch, torch.distributed as dist
def step(x, i):
    y = x * 2
    dist.all_reduce(y)
    return y.sum().item()

total = 0
for i in range(2):
    total += step(torch.ones(1) * rank, i)
print(total)"""
LATE = """%%distributed
import os, time, torch, torch.distributed as dist
def step(x):
    dist.all_reduce(x)
    return x.item()

while rank == 1 and not os.path.exists(GATE):
    time.sleep(0.01)
print(step(torch.ones(1)))"""
ORDINARY = "def double(x):\n    y = x * 2\n    return y\nprint(double(4))"


@pytest.fixture(scope="module")
def notebook() -> Iterator[Debugged]:
    made = Debugged()
    try:
        assert made.run("%load_ext dtrain_lab\n%distributed start --ranks 2").status == "ok"
        yield made
        made.run("%distributed stop")
    finally:
        made.close()


@pytest.fixture(autouse=True)
def let_go(notebook: Debugged) -> Iterator[None]:
    """A test that failed in the middle must not fail the next ones, whose ranks would still stand."""
    yield
    if notebook.is_on:
        notebook.switch_off()
        notebook.manager.interrupt_kernel()
        notebook.run("pass")


def test_a_cell_of_ranks_and_an_ordinary_one_under_one_debugger(notebook: Debugged) -> None:
    notebook.switch_on()
    path = notebook.source(CELL)
    own = notebook.source(ORDINARY)
    assert notebook.breakpoints(path, 5)[0]["verified"]
    assert notebook.breakpoints(own, 2)[0]["verified"]

    cell = notebook.begin(CELL)
    thread = notebook.event("stopped")["threadId"]
    assert thread in (1001, 1002)
    frames = notebook.ask("stackTrace", threadId=thread)["body"]["stackFrames"]
    assert [(f["name"], f["line"]) for f in frames] == [("step", 5), ("<module>", 10)]
    assert frames[0]["source"]["path"] == path
    scopes = notebook.ask("scopes", frameId=frames[0]["id"])["body"]["scopes"]
    names = notebook.ask("variables", variablesReference=scopes[0]["variablesReference"])
    assert {v["name"] for v in names["body"]["variables"]} >= {"x", "y", "i"}
    rich = notebook.ask("richInspectVariables", variableName="y", frameId=frames[0]["id"])
    assert rich["body"]["data"]["text/plain"].startswith("tensor(")
    notebook.ask("next", threadId=thread)
    assert notebook.event("stopped")["threadId"] == thread, "the same rank is looked at"
    other = 1002 if thread == 1001 else 1001
    assert notebook.ask("dtrain/focus", rank=other - 1001)["success"]
    assert notebook.event("stopped")["threadId"] == other
    both = {"rank 0 (paused)", "rank 1 (paused)"}

    def names() -> set[str]:
        return {thread["name"] for thread in notebook.ask("threads")["body"]["threads"]}

    wait_until(lambda: names() >= both, 30, "the rank that is not looked at to end its step, too")
    info = notebook.ask("debugInfo")["body"]
    assert info["isStarted"]
    assert {b["source"] for b in info["breakpoints"] if b["breakpoints"]} == {path, own}
    notebook.breakpoints(path)
    notebook.ask("continue", threadId=1)
    assert by_rank(notebook.end(cell)) == {0: ["4.0"], 1: ["4.0"]}

    cell = notebook.begin(ORDINARY)
    thread = notebook.event("stopped")["threadId"]
    assert thread < 1000, "the kernel's own"
    assert notebook.ask("stackTrace", threadId=thread)["body"]["stackFrames"][0]["line"] == 2
    notebook.ask("continue", threadId=thread)
    assert notebook.end(cell) == "8\n"
    notebook.switch_off()
    assert by_rank(notebook.run(CELL).stdout) == {0: ["4.0"], 1: ["4.0"]}


def test_a_step_over_a_collective_brings_a_rank_along_that_comes_late(
    notebook: Debugged, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    code = LATE.replace("GATE", repr(str(gate)))
    notebook.switch_on()
    path = notebook.source(code)
    assert notebook.breakpoints(path, 4)[0]["verified"]
    cell = notebook.begin(code)
    assert notebook.event("stopped")["threadId"] == 1001
    assert notebook.ask("next", threadId=1001)["success"]  # rank 0 waits in all_reduce now
    gate.touch()
    assert notebook.event("stopped")["threadId"] == 1001
    frames = notebook.ask("stackTrace", threadId=1001)["body"]["stackFrames"]
    assert frames[0]["line"] == 5
    wait_until(lambda: "rank 1 (paused)" in _threads(notebook), 20, "rank 1 to stop")
    assert notebook.ask("stackTrace", threadId=1002)["body"]["stackFrames"][0]["line"] == 5
    notebook.breakpoints(path)
    notebook.ask("continue", threadId=1)
    assert by_rank(notebook.end(cell)) == {0: ["2.0"], 1: ["2.0"]}
    notebook.switch_off()


def test_it_is_switched_on_while_ranks_run_a_cell(notebook: Debugged) -> None:
    loop = "%%distributed\nimport time\nends = False\nwhile not ends:\n    time.sleep(0.01)\nprint('over')"
    cell = notebook.begin(loop)
    wait_until(lambda: _runs(notebook), 20, "the cell to run")
    notebook.switch_on()
    path = notebook.source(loop)
    notebook.breakpoints(path, 5)
    thread = notebook.event("stopped")["threadId"]
    assert thread in (1001, 1002)
    wait_until(lambda: {"rank 0 (paused)", "rank 1 (paused)"} <= _threads(notebook), 20, "both to stop")
    notebook.breakpoints(path)
    for rank in range(2):
        notebook.ask("dtrain/focus", rank=rank)
        frames = notebook.ask("stackTrace", threadId=1001 + rank)["body"]["stackFrames"]
        answer = notebook.ask(
            "evaluate",
            expression="globals().update(ends=True)",
            frameId=frames[0]["id"],
            context="repl",
        )
        assert answer["success"]
    notebook.ask("continue", threadId=1)
    assert "over" in notebook.end(cell)
    # the kernel's own debugger begins now that the kernel is free
    own = notebook.source(ORDINARY)
    assert notebook.breakpoints(own, 2)[0]["verified"]
    cell = notebook.begin(ORDINARY)
    assert notebook.event("stopped")["threadId"] < 1000
    notebook.ask("continue", threadId=1)
    notebook.end(cell)
    notebook.switch_off()


def _runs(notebook: Debugged) -> bool:
    from dtrain_lab.api.start import clusters

    return any(c.info()["running"] for c in clusters())


def test_who_debugs_already_is_named_and_the_cell_runs(notebook: Debugged) -> None:
    from dtrain_lab.api.start import clusters

    with clusters()[0].debug():
        notebook.switch_on()
        said = notebook.run(CELL).stdout
        assert "no debugger on the ranks: A terminal is debugging these ranks." in said
        assert by_rank(said) == {0: ["4.0"], 1: ["4.0"]}
        told = notebook.ask("dtrain/state")["body"]
        assert told["notes"] == ["A terminal is debugging these ranks. Turn the debugger off there first."]
        assert told["held_elsewhere"]
        refused = notebook.ask("debugInfo")["body"]
        assert (refused["isStarted"], refused["holdsRanks"]) == (True, False)
    notebook.run(CELL)
    assert notebook.ask("debugInfo")["body"]["holdsRanks"], "nobody else debugs them now"
    notebook.switch_off()


def test_a_pause_with_nothing_running_stops_no_later_cell(notebook: Debugged) -> None:
    notebook.switch_on()
    wait_until(lambda: _told(notebook)["code"] == "ready", 20, "the ranks to be attached")
    answer = notebook.ask("pause", threadId=1)
    assert answer["message"] == "No cell is running: there is nothing to pause."
    assert by_rank(notebook.end(notebook.begin(CELL))) == {0: ["4.0"], 1: ["4.0"]}
    busy = "import time\nends = False\nwhile not ends:\n    time.sleep(0.01)\nprint('over')"
    cell = notebook.begin(busy)
    wait_until(lambda: notebook.ask("pause", threadId=1)["success"], 20, "an ordinary cell to be paused")
    thread = notebook.event("stopped")["threadId"]
    frames = notebook.ask("stackTrace", threadId=thread)["body"]["stackFrames"]
    own = next(frame for frame in frames if frame["name"] == "<module>")
    ends = {"expression": "globals().update(ends=True)", "frameId": own["id"], "context": "repl"}
    assert notebook.ask("evaluate", **ends)["success"]
    notebook.ask("continue", threadId=thread)
    assert notebook.end(cell) == "over\n"
    notebook.switch_off()


def test_ranks_that_came_later_stop_too(notebook: Debugged) -> None:
    notebook.switch_on()
    notebook.breakpoints(notebook.source(CELL), 5)
    assert notebook.run("%distributed resize 3").status == "ok"
    cell = notebook.begin(CELL)
    notebook.event("stopped")
    wait_until(
        lambda: [r["phase"] for r in notebook.ask("dtrain/state")["body"]["ranks"]] == ["paused"] * 3,
        20,
        "all three to stand",
    )
    notebook.switch_off()
    ran = by_rank(notebook.end(cell))
    assert ran == {0: ["12.0"], 1: ["12.0"], 2: ["12.0"]}, "the debugger's end lets them go"
    assert notebook.run("%distributed resize 2").status == "ok"


def test_after_an_interrupt_breakpoints_are_there_again(notebook: Debugged) -> None:
    notebook.switch_on()
    notebook.breakpoints(notebook.source(CELL), 5)
    for _ in range(2):
        cell = notebook.begin(CELL)
        notebook.event("stopped")
        notebook.manager.interrupt_kernel()
        assert not by_rank(notebook.end(cell)), "no rank runs on to the end"
    notebook.switch_off()
    assert by_rank(notebook.run(CELL).stdout) == {0: ["4.0"], 1: ["4.0"]}


NEVER = """%%distributed
import time, torch.distributed as dist
while rank == 1:
    time.sleep(0.05)
dist.barrier()"""


def _first_waits() -> bool:
    from dtrain_lab.api.start import clusters

    return any([r["state"] for r in c.info()["ranks"]] == ["in collective", "busy"] for c in clusters())


def test_steps_to_a_collective_that_never_comes_end_with_pause_or_continue(notebook: Debugged) -> None:
    def view() -> dict[str, Any]:
        body: dict[str, Any] = notebook.ask("dtrain/state")["body"]
        return body

    notebook.switch_on()
    cell = notebook.begin(NEVER)
    wait_until(_first_waits, 20, "rank 0 to wait in the barrier, where a pause does not stop it")
    assert notebook.ask("pause", threadId=1)["success"]
    wait_until(lambda: view()["waits"], 20, "rank 0 to be said to wait")
    wait_until(lambda: view()["code"] == "paused", 60, "rank 1 to be stepped through its loop no longer")
    for command, phase in (("pause", "paused"), ("continue", "running")):
        assert notebook.ask("dtrain/gather", rank=0)["success"]
        said = view()
        assert (said["code"], said["sentence"]) == (
            "bringing",
            "Stepping rank 1 to barrier, where rank 0 waits.",
        )
        assert notebook.ask(command, threadId=1)["success"]
        assert view()["bringing"] is None
        wait_until(lambda as_told=phase: view()["ranks"][1]["phase"] == as_told, 20, f"rank 1 to be {phase}")
    notebook.manager.interrupt_kernel()
    notebook.end(cell)
    notebook.switch_off()


def _states(cluster: dt.Cluster) -> set[str]:
    return {rank["state"] for rank in cluster.info()["ranks"]}


@pytest.mark.parametrize("killed", [False, True], ids=["asked to end", "killed"])
def test_ranks_run_on_when_the_kernel_restarts_while_they_stand(killed: bool) -> None:
    with dt.start(ranks=2) as cluster:
        made = Debugged()
        try:
            assert made.run(f"%load_ext dtrain_lab\n%distributed attach {cluster.name}").status == "ok"
            made.switch_on()
            made.breakpoints(made.source(CELL), 5)
            made.begin(CELL)
            made.event("stopped")
            # one that comes late has not run the cell's imports yet: an interrupt would leave it without them
            wait_until(lambda: _states(cluster) == {"paused"}, 20, "both ranks to stand")
            if killed:  # at once: `restart_kernel(now=True)` interrupts it first, which it may hear or not
                os.kill(made.manager.provisioner.pid, signal.SIGKILL)
            made.manager.restart_kernel(now=killed)
            wait_until(lambda: cluster.info()["state"] == "ready", 20, "the ranks to run on")
            wait_until(lambda: not cluster.info()["running"], 20, "the cell to end")
            if killed:  # one that is asked to end is interrupted first, and so are its ranks
                assert cluster.run("print(total)").stdout == {0: "4.0\n", 1: "4.0\n"}
                _goes_on_with_its_breakpoints(made, cluster)
        finally:
            made.close()
        again = cluster.run("t = torch.ones(1); dist.all_reduce(t); print(t.item())")
        assert again.stdout == {0: "2.0\n", 1: "2.0\n"}


def _goes_on_with_its_breakpoints(notebook: Debugged, cluster: dt.Cluster) -> None:
    """A new kernel has its breakpoints before our extension, and their conditions from the front end."""
    notebook.client.wait_for_ready(timeout=ANSWER_S)
    notebook.switch_on()
    path = notebook.source(CELL)
    notebook.breakpoints(path, 5)
    assert notebook.run(f"%load_ext dtrain_lab\n%distributed attach {cluster.name}").status == "ok"
    point = {"path": Path(path).name, "line": 5, "condition": "i == 1 and rank == 0"}
    assert notebook.ask("dtrain/conditions", points=[point])["success"]
    notebook.begin(CELL)
    assert notebook.event("stopped")["threadId"] == 1001
    frames = notebook.ask("stackTrace", threadId=1001)["body"]["stackFrames"]
    i = notebook.ask("evaluate", expression="i", frameId=frames[0]["id"], context="repl")
    assert i["body"]["result"] == "1", "the condition is kept"
    assert [p["condition"] for p in _told(notebook)["points"]] == [point["condition"]]
    notebook.switch_off()


def test_a_cell_that_was_edited_stops_where_its_breakpoint_is_now(notebook: Debugged) -> None:
    notebook.switch_on()
    before = notebook.source(CELL)
    notebook.breakpoints(before, 5)
    edited = CELL.replace("def step", "# a new line\ndef step")
    path = notebook.source(edited)
    assert path != before
    assert notebook.breakpoints(path, 6)[0]["verified"]
    cell = notebook.begin(edited)
    thread = notebook.event("stopped")["threadId"]
    [frame, _] = notebook.ask("stackTrace", threadId=thread)["body"]["stackFrames"]
    assert (frame["line"], frame["source"]["path"]) == (6, path)
    notebook.switch_off()
    assert by_rank(notebook.end(cell)) == {0: ["4.0"], 1: ["4.0"]}


def test_where_nobody_debugs_requests_are_answered_all_the_same(notebook: Debugged) -> None:
    assert not notebook.ask("debugInfo")["body"]["isStarted"]
    assert notebook.ask("dtrain/state")["body"]["code"] == "off"
    answer = notebook.ask("dtrain/focus", rank=9)
    assert not answer["success"]
    assert answer["message"].startswith("There is no rank 9.")
    assert "Traceback" not in answer["message"]


def test_a_page_that_was_reloaded_gets_what_the_page_before_had(notebook: Debugged) -> None:
    notebook.switch_on()
    first = notebook.ask("initialize", clientID="jupyterlab", adapterID="python3")
    kinds = [one["filter"] for one in first["body"]["exceptionBreakpointFilters"]]
    assert {"raised", "uncaught"} <= {*kinds}
    assert first["body"]["supportsModulesRequest"]
    assert notebook.ask("setExceptionBreakpoints", filters=["uncaught"])["success"]
    assert notebook.ask("attach")["success"]
    assert notebook.ask("dtrain/exceptions")["body"]["filters"] == ["uncaught"]
    notebook.switch_off()


FAILS = """%%distributed
import torch.distributed as dist
rows = [1, 2, 3]
def normalize(n):
    if rank == 1:
        raise ValueError(n)
normalize(7)"""
FINE = "%%distributed\nprint(len(rows))"


def test_where_a_cell_failed_is_looked_at_as_often_as_one_likes(notebook: Debugged) -> None:
    # both ranks have failed before, elsewhere: nobody wants to see that any more
    notebook.run("%%distributed\ndef old():\n    raise KeyError(rank)\nold()")
    notebook.run(FAILS)
    notebook.switch_on()
    wait_until(lambda: _told(notebook)["failed"], 20, "the failure to be known")
    for _ in range(2):
        # a double click is one look
        assert notebook.ask("dtrain/postmortem")["success"]
        assert notebook.ask("dtrain/postmortem")["success"]
        wait_until(lambda: _phases(notebook) == ["idle", "paused"], 20, "the rank that failed to stand there")
        frames = notebook.ask("stackTrace", threadId=1002)["body"]["stackFrames"]
        assert (frames[0]["name"], frames[0]["line"]) == ("normalize", 6)
        # no file has its text: it ran before the debugger was on
        text = notebook.ask("source", source={"path": frames[0]["source"]["path"]})["body"]["content"]
        assert text.splitlines()[1:] == FAILS.splitlines()[1:]
        # the other rank has ended the cell: it has its own variables, and no frame
        row = notebook.ask("dtrain/across", expression="len(rows)")["body"]
        assert (row["same"], row["groups"][0]["text"]) == (True, "3")
        # of what it sees, only the argument of its function is unknown to the other
        assert notebook.ask("dtrain/names")["body"]["only"] == [{"ranks": [1], "names": ["n"]}]
        assert notebook.ask("continue", threadId=1, all=True)["success"]
        wait_until(lambda: _told(notebook)["code"] == "ready", 20, "the look to be over")
        assert _told(notebook)["failed"], "it can be looked at again"
    assert by_rank(notebook.run(FINE).stdout) == {0: ["3"], 1: ["3"]}
    answer = notebook.ask("dtrain/postmortem")
    assert not answer["success"]
    assert "has not failed" in answer["message"]
    notebook.switch_off()


ALONE = """%%distributed
import torch.distributed as dist
def meet():
    if rank == 1:
        raise ValueError("alone")
    dist.barrier()
meet()"""


def test_a_rank_that_another_ones_failure_interrupts_is_looked_at_too(notebook: Debugged) -> None:
    notebook.switch_on()
    notebook.run(ALONE)
    wait_until(lambda: _told(notebook)["failed"], 20, "the failure to be known")
    assert notebook.ask("dtrain/postmortem")["success"]
    wait_until(lambda: _phases(notebook) == ["paused", "paused"], 20, "both ranks to stand in it")
    said = "Paused on 2 ranks. Rank 1 raised ValueError: alone. Rank 0 was interrupted in barrier."
    assert _told(notebook)["sentence"] == said
    for rank, line in ((0, 6), (1, 5)):
        frames = notebook.ask("stackTrace", threadId=1001 + rank)["body"]["stackFrames"]
        assert (frames[0]["name"], frames[0]["line"]) == ("meet", line)
    notebook.switch_off()


def test_an_error_that_the_ranks_no_longer_have_is_refused(notebook: Debugged) -> None:
    from dtrain_lab.api.start import clusters

    [cluster] = clusters()
    notebook.switch_on()
    notebook.run(FAILS)
    notebook.run(FAILS.replace("normalize", "later"))
    earlier, later = (record.id for record in cluster._portal.call(cluster.cells())[-2:])
    answer = notebook.ask("dtrain/postmortem", cell=earlier)
    assert answer["message"].startswith(
        "The ranks no longer have the error of this cell: another cell has run since"
    )
    assert _told(notebook)["failed"], "the last one's is there"
    assert notebook.ask("dtrain/postmortem", cell=later)["success"]
    wait_until(lambda: _phases(notebook) == ["idle", "paused"], 20, "the rank that failed to stand there")
    assert notebook.ask("stackTrace", threadId=1002)["body"]["stackFrames"][0]["name"] == "later"
    assert notebook.ask("dtrain/postmortem", cell=later)["success"], "it is looked at already"
    answer = notebook.ask("dtrain/postmortem", cell=earlier)
    assert answer["message"].startswith("The ranks are in another cell.")
    assert notebook.ask("continue", threadId=1, all=True)["success"]
    wait_until(lambda: _told(notebook)["code"] == "ready", 20, "the look to be over")
    # of another client, of which this one knows nothing
    cluster.run("pass")
    answer = notebook.ask("dtrain/postmortem")
    assert answer["message"].startswith("The ranks no longer have the error of the last cell: another cell")
    assert not _told(notebook)["failed"], "there is nothing left to look at"
    answer = notebook.ask("dtrain/across", expression="len(")
    assert answer["code"] == "unreadable_expression"
    notebook.switch_off()


HANGS = """%%distributed
import time, torch.distributed as dist
def meet(n):
    if rank == 0:
        dist.barrier()
    time.sleep(600)
meet(3)"""


def test_a_restarted_rank_is_debugged_again_and_is_not_lost(notebook: Debugged) -> None:
    from dtrain_lab.api.start import clusters

    notebook.run("%%distributed\nweight = 3")
    notebook.switch_on()
    cell = notebook.begin(HANGS)
    [cluster] = clusters()
    # an interrupt before the ranks have begun leaves no frames to look at
    wait_until(lambda: cluster.info()["ranks"][0]["state"] == "in collective", 20, "rank 0 to wait")
    notebook.manager.interrupt_kernel()
    notebook.end(cell)
    cluster.restart([1], source=0)
    wait_until(lambda: _told(notebook)["code"] == "ready", 30, "the new process to be attached")
    assert _told(notebook)["sentence"] == "Ready to debug 2 ranks."
    # rank 0 was interrupted, and has kept its frames; the new process has none
    assert _told(notebook)["failed"]
    assert notebook.ask("dtrain/postmortem")["success"]
    wait_until(lambda: _phases(notebook) == ["paused", "idle"], 20, "rank 0 to stand")
    assert notebook.ask("continue", threadId=1, all=True)["success"]
    wait_until(lambda: _told(notebook)["code"] == "ready", 20, "the look to be over")
    cluster.restart([0])
    wait_until(lambda: _told(notebook)["code"] == "ready", 30, "the new process to be attached")
    assert not _told(notebook)["failed"]
    notebook.switch_off()


def _told(notebook: Debugged) -> dict[str, Any]:
    """The debugger's state, as its view gets it."""
    body: dict[str, Any] = notebook.ask("dtrain/state")["body"]
    return body


def _phases(notebook: Debugged) -> list[str]:
    return [rank["phase"] for rank in _told(notebook)["ranks"]]


def _threads(notebook: Debugged) -> set[str]:
    return {thread["name"] for thread in notebook.ask("threads")["body"]["threads"]}
