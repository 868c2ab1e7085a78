"""Cells of a connection: their end is told at once; a lost connection follows them again."""

import asyncio

from dtrain_lab.services.connection.cells import Cells, Followed
from dtrain_lab.services.connection.connection import Connection
from dtrain_lab.services.connection.pending_requests import PendingRequests
from dtrain_lab.wire import clients
from dtrain_lab.wire.cells import CellResult


class Catching(Connection):
    """A connection without a socket or watchers, whose calls are kept."""

    def __init__(self) -> None:
        self._pending = PendingRequests()
        self._cells = Cells(self._pending)
        self.sent: list[clients.Request] = []
        self.closed = False
        self._loop = None

    def send(self, request: clients.Request) -> None:
        self.sent.append(request)

    async def watch_again(self) -> None:
        pass


def test_no_call_is_left_when_a_cell_that_was_followed_again_has_ended() -> None:
    async def followed() -> None:
        connection = Catching()
        done: asyncio.Future[CellResult] = asyncio.get_running_loop().create_future()
        connection._cells.running["a"] = Followed(lambda _: None, done, lambda: None)
        await connection.catch_up()
        (request,) = connection.sent
        assert request.body == clients.Follow("a", connection._cells.shown["a"])
        assert connection._pending.get(request.id) is done
        done.set_exception(RuntimeError("ended"))
        await asyncio.sleep(0)
        assert connection.pending(request.id) is None
        assert done.exception() is not None

    asyncio.run(followed())


def test_the_end_of_a_cell_is_told_once_and_in_the_loop_iteration_in_which_it_arrives() -> None:
    told: list[str] = []

    async def run() -> None:
        connection = Catching()
        order = clients.Run(cell="a", code="pass", label="[1]", ranks=None)
        done = connection.begin(order, "a", lambda _: None, lambda end: told.append(end.result().cell))
        connection._cells.ended(CellResult(cell="a", ranks=(0,)))
        assert told == ["a"]
        await done
        await asyncio.sleep(0)
        assert told == ["a"]
        assert not connection._cells.running

    asyncio.run(run())


def test_a_cell_that_nobody_waits_for_any_more_is_told_as_ended() -> None:
    told: list[bool] = []

    async def run() -> None:
        connection = Catching()
        order = clients.Run(cell="a", code="pass", label="[1]", ranks=None)
        connection.begin(order, "a", lambda _: None, lambda end: told.append(end.cancelled())).cancel()
        await asyncio.sleep(0)

    asyncio.run(run())
    assert told == [True]
