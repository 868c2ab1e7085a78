"""A rank obeys orders in the order in which they were sent, whichever of its threads reads them."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from dtrain_lab.rank import rank as rank_module
from dtrain_lab.rank.cells.backward_threads import BackwardThreads
from dtrain_lab.rank.link.main_tasks import MainTasks
from dtrain_lab.rank.link.orders import Orders
from dtrain_lab.rank.rank import Rank
from dtrain_lab.wire import links
from dtrain_lab.wire.links import CellReply

COMM = links.encode(links.Comm(cell="c", kind="comm_msg", data=b"{}"))
CELL = links.encode(links.Execute(cell="c", code="1", label="[1]"))


class BareRank(Rank):
    """A rank without kernel, group and link: its threads are loops that the test runs."""

    def __init__(self) -> None:
        self._loop, self._io_loop = asyncio.new_event_loop(), asyncio.new_event_loop()
        self._main_tasks = MainTasks(self._loop)
        self.orders = Orders(self._obey, self._begin, self._io_loop)
        self._backward = BackwardThreads()
        self._cells: Any = SimpleNamespace(busy=False)
        self._widgets: Any = SimpleNamespace(beside=False, enqueue=lambda *_: None, take=self._take)
        self._spec: Any = SimpleNamespace(rank=3)
        outbox = SimpleNamespace(put=lambda message, now=False: self.sent.append(message))
        self._link: Any = SimpleNamespace(outbox=outbox)
        self.began: list[str] = []
        self.sent: list[Any] = []

    async def _execute(self, order: links.Execute | links.Diagnose) -> None:
        self.began.append("cell")

    async def _take(self) -> None:
        self.began.append("comm")

    def run(self, loop: asyncio.AbstractEventLoop) -> None:
        """Run a loop until it has nothing to do."""
        for _ in range(5):
            loop.call_soon(loop.stop)
            loop.run_forever()

    def close(self) -> None:
        self._loop.close()
        self._io_loop.close()


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param("I:comm M:cell", id="the IOPub thread has read the first"),
        pytest.param("M:comm M:cell", id="the main thread reads both"),
        pytest.param("M:comm I:cell", id="the main thread hands the first over, the other reads the second"),
    ],
)
def test_a_cell_does_not_overtake_a_widget(steps: str) -> None:
    rank = BareRank()
    read = {"M": rank.orders.read_by_main, "I": rank.orders.read_by_iopub}
    for step in steps.split():
        thread, _, what = step.partition(":")
        read[thread]([COMM if what == "comm" else CELL])
    rank.run(rank._io_loop)
    rank.run(rank._loop)
    assert rank.began == ["comm", "cell"]
    rank.close()


def test_what_fails_beside_the_cells_code_is_logged_and_ends_the_cell(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise RecursionError("in a handler")

    monkeypatch.setattr(rank_module.store_exchange, "begin_cell", fails)
    rank = BareRank()
    rank._notes = SimpleNamespace(forget=lambda: None)  # type: ignore[assignment]
    rank._group = SimpleNamespace(store=None)  # type: ignore[assignment]
    rank._monitor = None
    order = links.decode_to_rank(CELL)
    rank._main_tasks.begin(lambda: Rank._execute(rank, order))  # type: ignore[arg-type]
    rank.run(rank._loop)
    assert rank.sent == [CellReply("c", 3, "raised", "RecursionError", "in a handler")]
    assert "RecursionError: in a handler" in caplog.text
    assert not rank._main_tasks._running
    rank.close()
