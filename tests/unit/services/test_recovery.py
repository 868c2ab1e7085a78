"""Recovery of ranks: what a client asks of the head, and which variables it copies, in this order."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from dtrain_lab.errors import BadRankSet, BadRequest, BadSize
from dtrain_lab.services.worlds import recovery
from dtrain_lab.wire import clients


class World:
    """A cluster of four ranks, of which some are lost; keeps what happens to it."""

    def __init__(self, *lost: int) -> None:
        self.happened: list[Any] = []
        ranks = [SimpleNamespace(rank=r, state="lost" if r in lost else "idle") for r in range(4)]
        self._info = SimpleNamespace(name="it", ranks=ranks, nodes=(1,), world=SimpleNamespace(size=4))

    async def ask(self, body: clients.AnyBody, _: float = 30.0) -> Any:
        if not isinstance(body, clients.Info):
            self.happened.append(body)
        return self._info

    async def copy(self, _: Any, copies: Any) -> None:
        self.happened.append([(source, tuple(ranks)) for source, ranks in copies])

    async def resize(self, _: Any, size: int) -> Any:
        self.happened.append(size)
        return self._info


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Any:
    made = World(1)
    monkeypatch.setattr(recovery, "_copy", made.copy)
    return made


async def test_variables_are_copied_once_the_ranks_are_back(world: Any) -> None:
    await recovery.restart(world, (1, 2), 0)
    assert world.happened == [clients.Restart((1, 2)), [(0, (1, 2))]]


@pytest.mark.parametrize(("ranks", "source"), [(None, 0), ((0, 1), 0), ((1,), 4)])
async def test_nothing_is_restarted_if_the_source_can_not_give(
    world: Any, ranks: tuple[int, ...] | None, source: int
) -> None:
    with pytest.raises(BadRankSet):
        await recovery.restart(world, ranks, source)
    assert not world.happened


async def test_a_lost_rank_takes_over_a_rank_that_goes_before_the_world_shrinks(world: Any) -> None:
    await recovery.exclude(world, world, ())
    assert world.happened == [clients.Restart((1,)), [(3, (1,))], 3]


async def test_a_world_that_lost_no_such_rank_stays(world: Any) -> None:
    with pytest.raises(BadRequest, match="it has lost no rank"):
        await recovery.exclude(world, world, (2,))
    assert not world.happened


async def test_no_rank_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    lost: Any = World(0, 1, 2, 3)
    with pytest.raises(BadSize):
        await recovery.exclude(lost, lost, ())
