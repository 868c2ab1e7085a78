"""Stacks are read by ranks themselves, then by the agents of those that don't answer, with one request."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from dtrain_lab.head.ownership.rank_ownership import StackReader
from dtrain_lab.head.stacks import Stacks
from dtrain_lab.metrics.verdicts.awaited_ranks import AwaitedRanks
from dtrain_lab.wire import links
from dtrain_lab.wire.stacks import Frame, Where

ROUTES: Any = SimpleNamespace(of=lambda rank: None if rank == 3 else b"", absent=lambda rank: "is being made")


@pytest.mark.asyncio
async def test_the_second_reader_is_asked_for_what_the_first_could_not_read() -> None:
    asked: list[tuple[str, links.ReadStacks]] = []

    def ranks(order: links.ReadStacks) -> None:
        asked.append(("ranks", order))
        stacks.received(links.StacksRead(rank=0, id=order.id, text="by itself"))
        stacks.received(links.StacksRead(rank=1, id=order.id + 1, text="an earlier answer"))

    def agents(order: links.ReadStacks) -> None:
        asked.append(("agents", order))
        stacks.received(links.StacksRead(rank=1, id=order.id, text="by its agent"))

    ownership: Any = SimpleNamespace(stack_readers=(StackReader(ranks, 0.01), StackReader(agents, 0.01)))
    collector: Any = None
    stacks = Stacks(ownership, ROUTES, collector)
    found = await stacks.of([0, 1, 2, 3])
    assert [stack.text for stack in found] == ["by itself", "by its agent", None, None]
    assert [(who, order.ranks, order.main_only) for who, order in asked] == [
        ("ranks", (0, 1, 2), False),
        ("agents", (1, 2), False),
    ]
    assert (found[2].error or "").startswith("no answer")
    assert found[3].error == "It is being made."


@pytest.mark.asyncio
async def test_of_a_line_in_a_file_the_line_of_the_cell_that_called_it_is_known() -> None:
    frames = (
        Frame("/tmp/1.py", 9, "<module>", cell="[4]"),
        Frame("/tmp/1.py", 5, "deep", "wait(t)", cell="[4]"),
        Frame("/home/me/comms.py", 20, "wait", "time.sleep(1)"),
    )

    def ranks(order: links.ReadStacks) -> None:
        stacks.received(links.StacksRead(rank=0, id=order.id, frames=frames))
        stacks.received(links.StacksRead(rank=1, id=order.id, frames=frames[:2]))

    ownership: Any = SimpleNamespace(
        stack_readers=(StackReader(ranks, 0.01),), locate=lambda rank, frame: ("a.ipynb", "id-4")
    )
    awaited = AwaitedRanks()
    collector: Any = SimpleNamespace(awaited=awaited)
    stacks = Stacks(ownership, ROUTES, collector)
    await stacks.locate(None, [0, 1])
    cell = Where("a.ipynb", "[4]", None, "deep", 5, "id-4")
    assert awaited.locations == {
        0: Where(file="/home/me/comms.py", function="wait", line=20, called_from=cell),
        1: cell,
    }
