"""The claim on a world's debugger: only an end ends it, and a cut of the network is got over."""

from __future__ import annotations

from typing import Any

import pytest

from dtrain_lab.debugger.requests import Order
from dtrain_lab.debugger.state import Dap, State
from dtrain_lab.errors import Conflict, DtrainError, Unreachable
from dtrain_lab.services.debugger import debug_session, debugger_lock, running_ranks
from dtrain_lab.services.debugger.debugger_lock import DebuggerLock
from dtrain_lab.wire import clients
from tests.unit.debugger.paused_ranks import paused

ENDED = Unreachable("hosts-2 has ended.", "", code="ended")
NO_ANSWER = Unreachable("hosts-2 did not answer in 30 s.", "", code="no_answer")
BROKE = Unreachable("The connection to hosts-2 broke.", "", code="connection_broke")
UNSURE = Unreachable("The connection to hosts-2 broke before it answered.", "")
TAKEN = Conflict("b.ipynb is debugging these ranks.", "", code="debugger_held")


class World:
    """Two paused ranks, and the head that answers claims as told; then the client lets go."""

    closed = False

    def __init__(self, *answers: DtrainError | None, released: tuple[int, ...] = ()) -> None:
        self.state: State = paused(2)
        self.answers = list(answers)
        self.released = released
        self.happened: list[str] = []

    @property
    def holds(self) -> Any:
        return self if self.answers and not {"ended", "lost"} & set(self.happened) else None

    def resized(self, size: int) -> None:
        assert size == 2

    async def begin(self, _: Any) -> None:
        missing = [r.rank for r in self.state.ranks if not r.attached]
        self.happened.append(f"attach {missing}")

    async def ask(self, order: Any) -> Any:
        if isinstance(order, Order):
            return self.relayed(order)
        error = self.answers.pop(0)
        if error is not None:
            raise error
        return 2

    def relayed(self, order: Order) -> dict[int, Dap]:
        return {rank: {"success": rank not in self.released} for rank in order.arguments}

    async def run(self) -> list[str]:
        order = clients.AcquireDebugger("a.ipynb", 1, "here")
        ends = (lambda: self.happened.append("ended"), lambda: self.happened.append("lost"))
        await DebuggerLock(self, self, order, *ends).renew()  # type: ignore[arg-type]
        return self.happened


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debugger_lock, "RENEW_S", 0.0)


async def test_a_head_that_is_gone_ends_it() -> None:
    assert await World(None, ENDED, None).run() == ["ended"]


@pytest.mark.parametrize("error", [NO_ANSWER, BROKE, UNSURE])
async def test_a_lost_answer_is_no_end(error: DtrainError) -> None:
    world = World(error, None, None)
    assert await world.run() == ["attach []"], "ranks that stay attached are not attached anew"
    assert world.state.paused == (0, 1)


async def test_ranks_that_were_let_go_meanwhile_are_attached_again() -> None:
    world = World(NO_ANSWER, None, None, released=(1,))
    assert await world.run() == ["attach [1]"]
    assert world.state.paused == (0,)


async def test_whoever_looks_at_running_ranks_waits_for_the_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running_ranks, "POLL_S", 0.0)
    told: list[Dap] = []
    client = debug_session.DebugSession("a.ipynb", told.append)
    client.state = paused(2, 0)
    asked = 0

    class Head:
        async def ask(self, *_: Any) -> dict[int, bytes]:
            nonlocal asked
            asked += 1
            if asked == 1:
                raise TAKEN
            client._connection = None
            return {1: b'{"success": true, "body": {"place": null}}'}

    client._connection = Head()  # type: ignore[assignment]
    await running_ranks.RunningRanks(client, client._show).watch()
    assert (asked, client.state.ranks[1].phase) == (2, "idle")


async def test_another_client_takes_it_only_where_nothing_was_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await World(None, TAKEN, None).run() == ["lost"]
    assert await World(BROKE, TAKEN, None, TAKEN, None).run() == ["attach []", "lost"]
    monkeypatch.setattr(debugger_lock, "PATIENT_S", -1.0)
    assert await World(BROKE, TAKEN, None).run() == ["lost"]
