"""A connection that was lost follows its cells again, and forgets those calls with their cells."""

import asyncio

from dtrain_lab.services.connection.calls import Calls
from dtrain_lab.services.connection.cells import Cells
from dtrain_lab.services.connection.connection import Connection
from dtrain_lab.wire import clients
from dtrain_lab.wire.cells import CellResult


class Catching(Connection):
    """A connection without a socket or watchers, whose calls are kept."""

    def __init__(self) -> None:
        self._calls, self._cells = Calls(), Cells()
        self.sent: list[clients.Call] = []

    def send(self, call: clients.Call) -> None:
        self.sent.append(call)

    async def watch_again(self) -> None:
        pass


def test_no_call_is_left_when_a_cell_that_was_followed_again_has_ended() -> None:
    async def followed() -> None:
        connection = Catching()
        done: asyncio.Future[CellResult] = asyncio.get_running_loop().create_future()
        connection._cells.begin("a", lambda _: None, done)
        await connection.catch_up()
        (call,) = connection.sent
        assert call.body == clients.Follow("a", connection._cells.shown["a"])
        assert connection.waits_for(call.id) is done
        done.set_exception(RuntimeError("ended"))
        await asyncio.sleep(0)
        assert connection.waits_for(call.id) is None
        assert done.exception() is not None

    asyncio.run(followed())
