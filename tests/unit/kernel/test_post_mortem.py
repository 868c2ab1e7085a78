"""Looks at where a cell failed, whose messages arrive in any order."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from dtrain_lab.debugger.state import Outcome, RankView, State
from dtrain_lab.errors import Conflict
from dtrain_lab.kernel.debugger.post_mortem import PostMortem
from dtrain_lab.machine import supervision
from dtrain_lab.services.debugger.debug_session import DebugSession

FAILED = Outcome(failed=True, raised=(1,), unfinished=(1,), cell="fails")


class Target:
    """A cluster whose rank 1 has stopped by the time that the order is answered."""

    connection = object()

    def __init__(self, debugging: DebugSession) -> None:
        self._debugging = debugging
        self.continued = asyncio.Event()

    async def ask(self, order: Any) -> None:
        assert order.failed == "fails", "the panel names it"
        self._debugging._happened(1, "stopped", {"reason": "exception"})

    async def follow(self, *_: object) -> Any:
        await self.continued.wait()
        return SimpleNamespace(failures=(), sentence="")


@pytest.mark.asyncio
async def test_a_rank_that_stops_at_once_can_be_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    debugging = DebugSession("a.ipynb", lambda _: None)
    ranks = tuple(RankView(rank, attached=True) for rank in range(2))
    debugging.state = State(ranks=ranks, on=True, outcome=FAILED)

    async def begin(*_: object) -> None:
        """Both are attached."""

    monkeypatch.setattr(debugging, "begin", begin)
    for _ in range(2):
        target = Target(debugging)
        looks = PostMortem(debugging, lambda: "")
        await looks.begin(target)  # type: ignore[arg-type]
        assert debugging.state.paused == (1,)
        debugging.state = debugging.state.rank(1, phase="running")
        target.continued.set()
        while looks._at:
            await asyncio.sleep(0)
        assert debugging.state.outcome == FAILED
        debugging.state = replace(debugging.state, focus=None)
    await supervision.here().close()


class TwoFailed(Target):
    """A cluster whose ranks have both stopped by the time that the order is answered."""

    async def ask(self, order: Any) -> None:
        for rank in order.ranks:
            self._debugging._happened(rank, "stopped", {"reason": "exception"})


@pytest.mark.asyncio
async def test_a_rank_that_was_continued_alone_is_refused_with_the_reason() -> None:
    debugging = DebugSession("a.ipynb", lambda _: None)
    ranks = tuple(RankView(rank, attached=True) for rank in range(2))
    both = Outcome(failed=True, raised=(0, 1), unfinished=(0, 1), cell="fails")
    debugging.state = State(ranks=ranks, outcome=both)
    target: Any = TwoFailed(debugging)
    looks = PostMortem(debugging, lambda: "")
    await looks.begin(target, "fails", 1)
    await looks.begin(target, "fails", 1)  # a second click
    debugging.state = debugging.state.rank(1, phase="running")
    with pytest.raises(Conflict, match="Rank 1 was continued, and rank 0 is still paused") as refused:
        await looks.begin(target, "fails", 1)
    assert "Continue rank 0, then debug rank 1 again." in str(refused.value)
    await looks.begin(target, "fails")  # any will do
    await looks.begin(target, "fails", 0)
    target.continued.set()
    await supervision.here().close()
