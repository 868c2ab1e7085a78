"""Answers to JupyterLab's debugger while the kernel's own debugger is not started."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ipykernel.compiler import get_file_name
from IPython.core.events import EventManager, available_events

from dtrain_lab.api import debug
from dtrain_lab.debugger.state import Dap, JobCode
from dtrain_lab.errors import Conflict
from dtrain_lab.kernel.debugger.debugger import KernelDebugger
from dtrain_lab.machine import supervision
from tests.unit.debugger.paused_ranks import attached


class Own:
    """ipykernel's debugger, as far as it is used; it starts if `starts`."""

    def __init__(self, *, starts: bool) -> None:
        self.is_started = False
        self.stopped_threads: set[int] = set()
        self.starts = starts
        self.asked: list[str] = []
        self.breakpoint_list: dict[str, list[Dap]] = {}

    async def process_request(self, message: Dap) -> Dap:
        self.asked.append(message["command"])
        if message["command"] == "initialize":
            self.is_started = self.starts
        return {"success": True, "body": {"own": True}} if self.is_started else {}

    async def dumpCell(self, message: Dap) -> Dap:
        return {"success": True, "body": {"sourcePath": get_file_name(message["arguments"]["code"])}}

    async def source(self, message: Dap) -> Dap:
        return {"success": False, "message": "source unavailable", "body": {}}


def made(monkeypatch: pytest.MonkeyPatch, *, starts: bool) -> tuple[KernelDebugger, Own]:
    monkeypatch.setattr(debug, "in_notebook", None)
    own = Own(starts=starts)
    shell = SimpleNamespace(events=EventManager(None, available_events))
    kernel: Any = SimpleNamespace(debugger=own, shell=shell)
    debugger = KernelDebugger(kernel, SimpleNamespace(), "a.ipynb")  # type: ignore[arg-type]
    debugger._wanted = True
    return debugger, own


def ask(command: str, **arguments: Any) -> Dap:
    return {"type": "request", "seq": 3, "command": command, "arguments": arguments}


@pytest.mark.asyncio
async def test_every_request_is_answered_with_what_jupyterlab_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    debugger, _ = made(monkeypatch, starts=False)
    await debugger._requests.ask(ask("initialize"))
    code = "x = 1"
    answer = await debugger._requests.ask(ask("dumpCell", code=code))
    assert Path(answer["body"]["sourcePath"]).name == Path(get_file_name(code)).name
    set_ = ask("setBreakpoints", source={"path": "a.py"}, breakpoints=[{"line": 2}])
    assert (await debugger._requests.ask(set_))["body"]["breakpoints"] == [{"verified": True, "line": 2}]
    for command, key in (("stackTrace", "stackFrames"), ("scopes", "scopes"), ("variables", "variables")):
        assert (await debugger._requests.ask(ask(command)))["body"] == {key: []}
    source = await debugger._requests.ask(ask("source", source={"path": "/nowhere.py"}))
    assert source["body"]["content"].startswith("# ")


@pytest.mark.asyncio
async def test_the_kernels_own_debugger_is_started_again_if_it_has_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    debugger, own = made(monkeypatch, starts=True)
    await debugger._requests.ask(ask("initialize"))
    await debugger._requests.ask(ask("attach"))
    own.is_started = False
    own.asked.clear()
    set_ = ask("setBreakpoints", source={"path": "a.py"}, breakpoints=[{"line": 2}])
    assert (await debugger._requests.ask(set_))["body"] == {"own": True}
    assert own.asked == ["initialize", "attach", "setBreakpoints"]


@pytest.mark.asyncio
async def test_a_page_that_was_reloaded_is_answered_as_the_first_one(monkeypatch: pytest.MonkeyPatch) -> None:
    debugger, own = made(monkeypatch, starts=True)
    first = [await debugger._requests.ask(ask(command)) for command in ("initialize", "attach")]
    again = [await debugger._requests.ask({**ask(command), "seq": 9}) for command in ("initialize", "attach")]
    assert own.asked == ["initialize", "attach"], "debugpy would refuse them"
    assert again == [{**answer, "request_seq": 9} for answer in first]
    debugger._requests.forget()
    own.is_started = False
    await debugger._requests.ask(ask("initialize"))
    assert own.asked[2:] == ["initialize"], "switched off and on"


@pytest.mark.asyncio
async def test_while_a_cell_runs_the_kinds_of_exceptions_are_known_and_it_is_started_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    debugger, own = made(monkeypatch, starts=True)
    debugger._cell = "c"
    for _ in range(2):  # the page is reloaded
        answer = await debugger._requests.ask(ask("initialize"))
        assert [f["filter"] for f in answer["body"]["exceptionBreakpointFilters"]][:2] == [
            "raised",
            "uncaught",
        ]
        await debugger._requests.ask(ask("attach"))
    debugger._cell = ""
    await debugger._requests.catch_up()
    assert own.asked == ["initialize", "attach"]


@pytest.mark.asyncio
async def test_switching_off_and_on_leaves_one_task_that_attaches_new_ranks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    debugger, _ = made(monkeypatch, starts=False)
    connection = SimpleNamespace(closed=False)
    cluster: Any = SimpleNamespace(connection=connection)

    async def begin(*_: object) -> None:
        debugger._debugging._connection = connection  # type: ignore[assignment]

    monkeypatch.setattr(debugger._debugging, "begin", begin)
    tasks = []
    for _ in range(2):
        assert await debugger._begin(cluster) == ""
        assert await debugger._begin(cluster) == "", "of a second cell"
        tasks.append(debugger._again)
        debugger._debugging._connection = None
    assert [task.cancelled for task in tasks if task] == [True, False]
    await debugger._end()
    assert [task.cancelled for task in tasks if task] == [True, True]
    await supervision.here().close()


@pytest.mark.asyncio
async def test_where_a_cell_failed_is_not_looked_at_while_a_job_is_debugged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    debugger, _ = made(monkeypatch, starts=False)
    job: Any = SimpleNamespace(name="train-7")
    debugger._debugging._connection = job
    debugger._target = SimpleNamespace(name="dbg", connection=object())  # type: ignore[assignment]
    answer = await debugger._look_where_it_failed(ask("dtrain/postmortem"))
    assert not answer["success"]
    assert answer["message"].startswith("The debugger is attached to train-7, and dbg ran this cell.")
    assert debugger._debugging.holds is job, "which it still debugs"


@pytest.mark.asyncio
async def test_a_pause_is_refused_where_ranks_are_debugged_and_nothing_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    debugger, own = made(monkeypatch, starts=True)
    own.is_started = True
    portal: Any = debugger._portal
    portal.wrap = lambda asked: asked
    events = debugger._kernel.shell.events

    async def pause() -> str:
        answer = await debugger.process_request(ask("pause", threadId=1))
        return answer.get("message", "") if not answer["success"] else "paused"

    assert await pause() == "paused", "a plain kernel: as without us"
    debugger._debugging.state = attached(2)
    nothing = "No cell is running: there is nothing to pause."
    assert await pause() == nothing
    events.trigger("pre_execute")
    events.trigger("pre_execute")  # a cell that runs another
    events.trigger("post_execute")
    assert await pause() == "paused", "an ordinary cell"
    debugger._cell = "c"
    assert await pause() == "No rank is running: there is nothing to pause.", "it waits for ranks"
    debugger._cell = ""
    events.trigger("post_execute")
    assert await pause() == nothing
    assert own.asked == ["pause", "pause"], "of a plain kernel, and in an ordinary cell"


@pytest.mark.asyncio
async def test_a_refused_debugger_tries_again_once_it_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    debugger, _ = made(monkeypatch, starts=True)
    target: Any = SimpleNamespace(gone=False)
    debugger._target = target
    assert debugger._without_debugger() is target
    debugger._wanted = False
    assert debugger._without_debugger() is None, "its debugger is off"
    debugger._wanted = True
    target.gone = True
    assert debugger._without_debugger() is None, "there are no ranks"
    target.gone = False
    debugger._debugging._connection = object()  # type: ignore[assignment]
    assert debugger._without_debugger() is None, "they are debugged"


@pytest.mark.asyncio
async def test_a_job_that_is_debugged_is_not_taken_for_the_notebooks_cluster(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    debugger, own = made(monkeypatch, starts=True)
    own.is_started = True
    portal: Any = debugger._portal
    portal.wrap = lambda asked: asked
    monkeypatch.setattr(debugger, "_emit", lambda event: None)
    cluster: Any = SimpleNamespace(name="dbg", connection=SimpleNamespace(name="dbg"), gone=False)
    job: Any = SimpleNamespace(name="train-7")
    debugger._target = cluster

    async def holds(connection: Any) -> bool:
        debugger._debugging._connection = connection
        told = (await debugger.process_request(ask("debugInfo")))["body"]
        assert told["isStarted"]
        return bool(told["holdsRanks"])

    assert [await holds(it) for it in (cluster.connection, job, None)] == [True, False, False]

    async def refuses(*_: object) -> None:
        raise Conflict("b.ipynb is debugging these ranks.", "", code="debugger_held")

    monkeypatch.setattr(debugger._debugging, "begin", refuses)
    await debugger._begin(cluster)
    assert debugger._debugging.state.held_elsewhere
    debugger._job = job, JobCode()
    await debugger._begin_job_quietly()
    state = debugger._debugging.state
    assert (state.notes, state.held_elsewhere) == (("b.ipynb is debugging these ranks.",), False)


@pytest.mark.parametrize(
    ("arrived", "refusal", "said"),
    [
        (True, "", ""),
        (False, "", "breakpoints that were set just before this cell have not arrived"),
        (False, "b.ipynb is debugging these ranks.", "no debugger on the ranks: b.ipynb"),
    ],
)
def test_a_cell_that_runs_without_its_last_breakpoints_says_so(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arrived: bool,
    refusal: str,
    said: str,
) -> None:
    debugger, _ = made(monkeypatch, starts=True)
    portal: Any = debugger._portal
    portal.call, portal.post = asyncio.run, lambda task: task.close()
    debugger._kernel.control_thread = SimpleNamespace(io_loop=None)

    async def begin(_: object) -> str:
        return refusal

    async def began(_: object) -> None:
        pass

    monkeypatch.setattr(debugger._sent, "wait", lambda _: arrived)
    monkeypatch.setattr(debugger, "_begin", begin)
    monkeypatch.setattr(debugger, "_began", began)
    cluster: Any = SimpleNamespace()
    with debugger.cell(cluster, [0, 1], "c"):
        pass
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition("dtrain-lab: ")[2][: len(said)] for line in lines] == ([said] if said else [])
