"""The debugger of a world that changes its size, and of a process that lets go of it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from dtrain_lab.debugger.state import Dap
from dtrain_lab.services.debugger.debugging import Debugging
from tests.unit.debugger.test_debug import paused


def debugging(size: int, *, head_ended: bool) -> tuple[Debugging, list[Dap]]:
    emitted: list[Dap] = []
    made = Debugging("a.ipynb", emitted.append)
    made.state = paused(size)
    made._connection = SimpleNamespace(head_ended=head_ended)  # type: ignore[assignment]
    return made, emitted


def phases(made: Debugging) -> list[Any]:
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
