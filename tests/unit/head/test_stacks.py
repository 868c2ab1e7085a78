"""Stacks are read by ranks themselves, then by the agents of those that don't answer, with one request."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from dtrain_lab.head.ownership.rank_ownership import StackReader
from dtrain_lab.head.stacks import Stacks
from dtrain_lab.wire import links

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
