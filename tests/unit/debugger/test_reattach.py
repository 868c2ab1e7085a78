"""A debugger follows ranks that are replaced or taken away between two cells."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from dtrain_lab.debugger.state import RankView, State
from dtrain_lab.services.debugger import reattach
from dtrain_lab.services.debugger.reattach import Reattach


class Debugging:
    """A debugger at three ranks, of which rank 1 was lost; the cluster goes on with two."""

    closed = False

    def __init__(self) -> None:
        ranks = (RankView(0, attached=True), RankView(1, phase="gone"), RankView(2, attached=True))
        self.state = State(on=True, ranks=ranks)
        self.attached_after: list[int] = []
        self.connection = self

    @property
    def holds(self) -> Any:
        return None if self.attached_after else self

    async def ask(self, _: Any) -> Any:
        ranks = [SimpleNamespace(rank=rank, state="idle") for rank in range(2)]
        return SimpleNamespace(ranks=ranks, world=SimpleNamespace(size=2))

    def resized(self, size: int) -> None:
        self.state = State(on=True, ranks=self.state.ranks[:size])

    async def begin(self, *_: Any) -> None:
        self.attached_after.append(len(self.state.ranks))


@pytest.mark.asyncio
async def test_ranks_that_a_cluster_goes_on_without_are_forgotten_at_the_next_poll(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reattach, "POLL_S", 3600.0)  # a loss is followed sooner
    monkeypatch.setattr(reattach, "AFTER_LOSS_POLL_S", 0.0)
    debugging: Any = Debugging()
    ended: list[bool] = []
    task = Reattach(debugging, debugging, None, lambda _: None, lambda: ended.append(True)).start()
    await task.wait()
    assert ended == [True]
    assert debugging.attached_after == [2]
