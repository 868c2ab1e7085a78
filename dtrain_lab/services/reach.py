"""A connection to a head: ask, be answered, and hear what happens."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import Any

import msgspec
import zmq

from dtrain_lab.backends.base import Way
from dtrain_lab.core.cluster import CellResult, Cluster
from dtrain_lab.core.endpoints import Keys
from dtrain_lab.core.job import Job
from dtrain_lab.core.record import HeadRecord
from dtrain_lab.core.wire import VERSION, doors
from dtrain_lab.core.wire.links import CellOutput
from dtrain_lab.errors import Unreachable, from_dict
from dtrain_lab.machine.curve import introduce

ANSWER_WITHIN_S = 30.0
HEARTBEAT_MS, SILENT_MS = 15_000, 90_000
"""Over a network: how often each end is heard of, and after how long a connection is made anew."""
BURST = 256
"""Messages taken in one turn of the loop; a future for each (zmq.asyncio) costs more than the message."""

MOST_WAITING = 64
"""Messages that wait here: what this process does not read stays with the head, which has it on disk."""
LATE = 200
"""Ended cells whose late output is still shown."""

OnOutput = Callable[[CellOutput], None]
OnDebug = Callable[[int, bytes], None]


class Connection:
    """One door's connection to one head. Lives in the loop that opened it.

    Args:
        record: where the head is found.
    """

    def __init__(self, record: HeadRecord) -> None:
        self.record = record
        self.closed = False
        self.on_close: list[Callable[[], None]] = []
        self._socket: Any = None
        self._next = 0
        self._answers: dict[int, tuple[Any, asyncio.Future[Any]]] = {}
        self._cells: dict[str, tuple[OnOutput, asyncio.Future[CellResult]]] = {}
        self._late: dict[str, OnOutput] = {}
        """Cells that have ended: their widgets still speak."""
        self._watchers: list[Callable[[Cluster], None]] = []
        self.on_debug: OnDebug | None = None
        """Hears of the ranks' debuggers, while this door holds them."""
        self._again: asyncio.Handle | None = None
        self._renewer: asyncio.Task[None] | None = None
        self._death: int | None = None
        self._gone_event = asyncio.Event()

    async def open(self) -> None:
        """Connect.

        Raises:
            Unreachable: the head's process is gone.
        """
        try:
            self._death = os.pidfd_open(self.record.pid)
        except ProcessLookupError:
            raise self._gone() from None
        asyncio.get_running_loop().add_reader(self._death, self._died)
        self._connect(f"ipc://{self.record.socket}")

    def _connect(self, url: str, keys: Keys | None = None) -> None:
        self._socket = zmq.Context.instance().socket(zmq.DEALER)
        self._socket.linger = 200
        self._socket.sndhwm = 0
        self._socket.rcvhwm = MOST_WAITING
        if keys is not None:
            introduce(self._socket, url, keys)
            # a network that is gone for good says nothing; what was missed is asked for again
            self._socket.heartbeat_ivl = HEARTBEAT_MS
            self._socket.heartbeat_timeout = self._socket.heartbeat_ttl = SILENT_MS
        self._socket.connect(url)
        asyncio.get_running_loop().add_reader(int(self._socket.fd), self._drain)

    async def ask(self, body: doors.AnyBody, within_s: float | None = ANSWER_WITHIN_S) -> Any:
        """Ask the head; `within_s` None: however long it takes.

        Raises:
            DtrainError: what the head says is wrong.
            Unreachable: it ended, or did not answer in time.
        """
        if self.closed:
            raise self._gone()
        self._next += 1
        number = self._next
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._answers[number] = (doors.RESULTS[type(body)], future)
        self._send(doors.Call(number, body))
        try:
            async with asyncio.timeout(within_s):
                return await future
        except TimeoutError:
            raise Unreachable(
                f"{self.record.name} did not answer in {within_s or 0:.0f} s.",
                "Its log is in " + self.record.directory,
            ) from None
        finally:
            self._answers.pop(number, None)

    async def run(self, order: doors.Run, on_output: OnOutput) -> CellResult:
        """Run a cell; `on_output` gets its output as it comes.

        The order is answered only where the head refuses it: its end is the answer.

        Raises:
            DtrainError: the head refuses the cell.
            Unreachable: the head ended while the cell ran.
        """
        return await self._until_end(order, order.cell, on_output)

    async def follow(self, cell: str, on_output: OnOutput) -> CellResult:
        """Have a cell's output from its beginning, and its end, as if it had been run from here.

        Raises:
            NotFound: the head does not know it any more.
            Unreachable: the head ended.
        """
        return await self._until_end(doors.Follow(cell), cell, on_output)

    def watch(self, changed: Callable[[Cluster], None], period_s: float) -> None:
        """Hear of changes, at most every `period_s` seconds, until the connection closes."""
        self._watchers.append(changed)
        if self._renewer is None:
            self._renewer = asyncio.create_task(self._renew(period_s))

    async def unwatch(self, changed: Callable[[Cluster], None] | None = None) -> None:
        """Tell this watcher nothing any more, or none at all."""
        self._watchers = [w for w in self._watchers if changed is not None and w != changed]
        if self._renewer is not None and not self._watchers:
            self._renewer.cancel()
            self._renewer = None
            await self.ask(doors.Watch(0.0))

    async def ended(self) -> None:
        """Wait until the head's process is gone."""
        await self._gone_event.wait()

    async def forward(self, address: str, port: int) -> tuple[str, int]:
        """An address and port that lead to one of the head's node; on this machine, the same."""
        return address, port

    def close(self) -> None:
        """Disconnect; whoever still waits gets `Unreachable`."""
        if self.closed:
            return
        self.closed = True
        loop = asyncio.get_running_loop()
        if self._death is not None:
            loop.remove_reader(self._death)
            os.close(self._death)
        if self._renewer is not None:
            self._renewer.cancel()
        if self._again is not None:
            self._again.cancel()
        if self._socket is not None:
            loop.remove_reader(int(self._socket.fd))
            self._socket.close()
        for _, future in [*self._answers.values(), *self._cells.values()]:
            if not future.done():
                future.set_exception(self._gone())
                future.exception()  # marked as seen: its waiter may be gone already
        for hook in self.on_close:
            hook()

    async def _renew(self, period_s: float) -> None:
        while True:
            await self.ask(doors.Watch(period_s))
            await asyncio.sleep(4.0)

    async def _until_end(self, order: doors.Run | doors.Follow, cell: str, on_output: OnOutput) -> CellResult:
        if self.closed:
            raise self._gone()
        done: asyncio.Future[CellResult] = asyncio.get_running_loop().create_future()
        self._cells[cell] = (on_output, done)
        self._next += 1
        number = self._next
        self._answers[number] = (CellResult, done)
        try:
            self._send(doors.Call(number, order))
            return await done
        finally:
            del self._cells[cell]
            self._late[cell] = on_output
            while len(self._late) > LATE:
                self._late.pop(next(iter(self._late)))
            self._answers.pop(number, None)

    def _send(self, call: doors.Call) -> None:
        self._socket.send(doors.encode(call))
        # the descriptor is edge-triggered: a send can swallow the wake-up of what arrived meanwhile
        if self._again is None:
            self._again = asyncio.get_running_loop().call_soon(self._drain)

    def _drain(self) -> None:
        self._again = None
        for _ in range(BURST):
            if self.closed:
                return
            try:
                frames = self._socket.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                return
            for frame in frames:
                self._received(doors.decode_to_door(frame))
        self._again = asyncio.get_running_loop().call_soon(self._drain)

    def _received(self, message: doors.ToDoor) -> None:
        match message:
            case CellOutput(cell=cell):
                shows = self._cells[cell][0] if cell in self._cells else self._late.get(cell)
                if shows is not None:
                    shows(message)
            case doors.OutputMissing(cell, rank, pieces) if cell in self._cells:
                self._cells[cell][0](CellOutput(cell=cell, rank=rank, kind="stderr", text=_missing(pieces)))
            case doors.CellEnded(result):
                if result.cell in self._cells and not self._cells[result.cell][1].done():
                    self._cells[result.cell][1].set_result(result)
            case doors.Changed(cluster):
                for watcher in list(self._watchers):
                    watcher(cluster)
            case doors.DebugEvent(rank, data):
                if self.on_debug is not None:
                    self.on_debug(rank, data)
            case doors.Answer():
                self._answered(message)

    def _answered(self, answer: doors.Answer) -> None:
        kind, future = self._answers.get(answer.id, (None, None))
        if future is None or future.done():
            return
        if answer.error is not None:
            future.set_exception(from_dict(answer.error))
        elif kind is None:
            future.set_result(None)
        else:
            future.set_result(msgspec.msgpack.decode(answer.result, type=kind))

    def _died(self) -> None:
        self._gone_event.set()
        # what it said last may still be in the socket
        asyncio.get_running_loop().call_later(0.05, self.close)
        if self._death is not None:
            asyncio.get_running_loop().remove_reader(self._death)

    def _gone(self) -> Unreachable:
        return Unreachable(
            f"{self.record.name} has ended.", "Start a cluster: %distributed start", code="ended"
        )


def _missing(pieces: int) -> str:
    count = "1 piece" if pieces == 1 else f"{pieces:,} pieces"
    return (
        f"\n[{count} of output missing here: this process did not read, and more was printed meanwhile than "
        "the cluster keeps]\n"
    )


class JobConnection(Connection):
    """A debugger's connection to the head of a job.

    Args:
        job: whose head it is.
        way: to it.
    """

    def __init__(self, job: Job, way: Way) -> None:
        super().__init__(
            HeadRecord(
                id=job.id,
                name=job.name,
                host="",
                boot="",
                pid=0,
                started=0.0,
                socket="",
                directory=job.directory,
                environment="",
                warm=False,
                created_at=job.created_at,
                version=VERSION,
            )
        )
        self._way = way

    async def open(self) -> None:
        """Connect."""
        self._connect(self._way.url, self._way.keys)

    def _gone(self) -> Unreachable:
        return Unreachable(f"{self.record.name} is not debugged any more.", "", code="ended")
