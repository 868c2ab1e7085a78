"""The debugger of a world that changes its size, and of a process that lets go of it."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import msgspec
from msgspec.structs import replace

from dtrain_lab.debugger import visible_names
from dtrain_lab.debugger.state import Dap, State, sized
from dtrain_lab.machine import supervision
from dtrain_lab.rank.debugger.values import plain_summary, value_summary
from dtrain_lab.services.debugger.debug_session import DebugSession
from dtrain_lab.wire import clients
from dtrain_lab.wire.links.values import VisibleNames
from tests.unit.debugger.paused_ranks import paused


def debugging(size: int, *, head_ended: bool) -> tuple[DebugSession, list[Dap]]:
    emitted: list[Dap] = []
    made = DebugSession("a.ipynb", emitted.append)
    made.state = paused(size)
    connection = SimpleNamespace(head_ended=head_ended, presence=SimpleNamespace(why=""))
    made._connection = connection  # type: ignore[assignment]
    return made, emitted


def phases(made: DebugSession) -> list[Any]:
    return [r.phase for r in made.state.ranks]


def test_ranks_that_a_resize_has_ended_are_not_lost() -> None:
    made, emitted = debugging(3, head_ended=False)
    made.resized(2)
    assert phases(made) == ["paused", "paused"]
    assert len(emitted) == 1
    made.resized(2)
    made.resized(4)  # new ranks are attached when the next cell begins
    assert (len(made.state.ranks), len(emitted)) == (2, 1)


def test_a_kernel_that_ends_says_of_its_cluster_neither_that_it_has_ended_nor_that_ranks_were_lost() -> None:
    made, emitted = debugging(2, head_ended=False)
    made._closed()
    assert (phases(made), made.state.ended, emitted, made.holds) == (["paused", "paused"], False, [], None)


def test_a_cluster_whose_head_has_gone_has_ended() -> None:
    made, _ = debugging(2, head_ended=True)
    made._closed()
    assert (phases(made), made.state.ended, made.holds) == (["gone", "gone"], True, None)


def test_names_that_only_some_ranks_have_are_found_among_ranks_in_the_same_module() -> None:
    def told(names: str, module: str = "__main__") -> VisibleNames:
        seen = dict.fromkeys([*names.split(), "In", "_x"], 0)
        found = value_summary.glance(visible_names.Visible({**seen, "__name__": module}))
        return msgspec.json.decode(found, type=VisibleNames)

    # as in a frame: some are global there, some local
    seen = eval(visible_names.EXPRESSION, {"__name__": "__main__", "only0": 5}, {"x": 0})
    first = msgspec.json.decode(plain_summary.glance(seen), type=VisibleNames)
    assert first == told("only0 x")
    found = {0: first, 1: told("x n"), 2: told("x n"), 3: told("self", "train")}
    assert visible_names.only_on_some(found) == (
        visible_names.Only((0,), ("only0",)),
        visible_names.Only((1, 2), ("n",)),
    )


async def test_ranks_of_another_world_are_not_said_to_be_ready_before_they_are_attached() -> None:
    made, emitted = debugging(3, head_ended=False)
    made._connection, made.state = None, replace(sized(State(), 3), on=True)
    said: list[Any] = []

    async def ask(order: Any, *_: Any) -> Any:
        if isinstance(order, clients.AcquireDebugger):
            return 2
        if order.command == "attach":
            said.extend((e["body"]["code"], e["body"]["sentence"], e["body"]["world"]) for e in emitted)
        return {rank: b'{"success": true, "body": {"place": null}}' for rank in order.arguments}

    job: Any = SimpleNamespace(ask=ask, id="job-7", closed=False, on_close=[], head_ended=False)
    await made.begin(job)
    await asyncio.sleep(0)  # its tasks begin
    made._let_go()
    await supervision.here().close()
    assert said == [("attaching", "Attaching to 2 ranks…", "job-7")]
    assert emitted[-1]["body"]["code"] == "ready"
