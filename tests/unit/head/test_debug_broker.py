"""What the head says to the debuggers of ranks."""

from __future__ import annotations

import json

import pytest

from dtrain_lab.errors import Conflict
from dtrain_lab.head.debug_broker import DebugBroker
from dtrain_lab.head.ownership.rank_routes import RankRoutes
from dtrain_lab.machine import processes
from dtrain_lab.wire import clients, links


class Ranks:
    """Ranks that answer each request at once, and the broker that speaks to them."""

    def __init__(self) -> None:
        self.told: list[tuple[int, str, object]] = []
        self.routes = RankRoutes(self._receive, lambda _: None)
        self.broker = DebugBroker(self.routes, lambda client, data: None, lambda: None)
        self.broker.acquire(b"c", clients.AcquireDebugger("me", 1, f"not {processes.system()}"))

    def _receive(self, _: bytes, frames: list[bytes]) -> None:
        order = links.decode_to_rank(frames[0])
        assert isinstance(order, links.DebugRequest)
        self.told.append((order.rank, order.command, json.loads(order.arguments)))
        self.broker.answered(links.DebugResponse(order.rank, order.id, b"{}"))

    async def attach(self, *ranks: int) -> None:
        """These ranks connect, and the client's debugger attaches to them."""
        for rank in ranks:
            self.routes.joined(rank, b"r%d" % rank)
        order = clients.DebugRequest("attach", dict.fromkeys(ranks, b"{}"), 5.0)
        await self.broker.handlers[clients.DebugRequest](b"c", order)

    def happens(self, rank: int, *, paused: bool) -> None:
        """A rank pauses or continues."""
        self.broker.happened(links.DebugEvent(rank=rank, data=b"{}", paused=paused))


async def test_a_rank_that_attaches_while_others_are_paused_is_told_that_ranks_are_held() -> None:
    ranks = Ranks()
    await ranks.attach(0)
    ranks.happens(0, paused=True)
    assert ranks.told == [(0, "attach", {}), (0, "held", {"held": True})]
    ranks.told.clear()
    await ranks.attach(1)  # on a host of a job that connects later
    assert ranks.told == [(1, "attach", {}), (1, "held", {"held": True})]
    ranks.told.clear()
    ranks.happens(0, paused=False)
    assert ranks.told == [(0, "held", {"held": False}), (1, "held", {"held": False})]
    ranks.told.clear()
    await ranks.attach(2)
    assert ranks.told == [(2, "attach", {})]


@pytest.mark.parametrize(
    ("who", "name"), [("runs/a.ipynb", "a.ipynb"), ("Vim/Neovim", "Vim/Neovim"), ("A terminal", "A terminal")]
)
def test_the_client_that_debugs_is_named(who: str, name: str) -> None:
    broker = DebugBroker(RankRoutes(lambda *_: None, lambda _: None), lambda *_: None, lambda: None)
    elsewhere = f"not {processes.system()}"
    broker.acquire(b"first", clients.AcquireDebugger(who, 1, elsewhere))
    with pytest.raises(Conflict) as refused:
        broker.acquire(b"second", clients.AcquireDebugger("b.ipynb", 2, elsewhere))
    assert str(refused.value).startswith(f"{name} is debugging these ranks.")
