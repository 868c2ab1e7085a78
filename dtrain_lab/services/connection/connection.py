"""A client's connection to a head: requests, answers and events over one socket."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from dtrain_lab.backends.base import HeadAddress
from dtrain_lab.errors import Unreachable
from dtrain_lab.machine import supervision
from dtrain_lab.services.connection.cells import Cells, OnOutput
from dtrain_lab.services.connection.client_socket import ClientSocket
from dtrain_lab.services.connection.inbox import Inbox
from dtrain_lab.services.connection.pending_requests import PendingRequests
from dtrain_lab.services.connection.presence import Presence
from dtrain_lab.services.connection.watchers import Watchers
from dtrain_lab.wire import clients
from dtrain_lab.wire.cells import CellResult
from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.wire.codec import clock

log = logging.getLogger("dtrain_lab.client")
ANSWER_WITHIN_S = 30.0
LOST_S = 1.0
"""Time in which a head that has closed its end ends; otherwise it lives, and only the connection is lost."""
NO_ANSWER, BROKE = "no_answer", "connection_broke"
"""Codes of a request that got no answer in time, and of one whose head lives but may not have heard it."""
OnDebug = Callable[[int, bytes], None]


class Connection:
    """One client's connection to one head. Lives in the loop that opened it.

    Args:
        identity: Id of the cluster or job.
        name: Its name.
        directory: Folder of the head's log.
        presence: Makes what finds the head and detects its end.
    """

    def __init__(
        self, identity: str, name: str, directory: str, presence: Callable[[Connection], Presence]
    ) -> None:
        self.id = identity
        self.name = name
        self.directory = directory
        self.presence = presence(self)
        self.closed = False
        self.on_close: list[Callable[[], None]] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        """The loop that reads, once it does."""
        self._pending = PendingRequests()
        self._cells = Cells(self._pending)
        self._watchers = Watchers(self)
        inbox = Inbox(self.presence, self._pending, self._cells, self._watchers, self._debugged)
        self._transport = ClientSocket(inbox.arrived, self._broken)
        self.on_debug: OnDebug | None = None
        """Called with messages of the ranks' debuggers while this client holds them."""
        self._gone_event = asyncio.Event()

    async def open(self) -> None:
        """Connect, or start connecting in the background.

        Raises:
            Unreachable: The head's process is gone.
        """
        await self.presence.open()

    def connect(self, address: HeadAddress, *, stream: bool = False) -> None:
        """Connect to the head; arguments as those of `ClientSocket.connect`."""
        self._loop = asyncio.get_running_loop()
        self._transport.connect(address, stream=stream)

    async def ask(self, body: clients.AnyBody, within_s: float | None = ANSWER_WITHIN_S) -> Any:
        """Send a request to the head, or to its stand-in while the head is not up.

        Args:
            body: The request.
            within_s: Timeout in seconds; None for no limit.

        Raises:
            DtrainError: The head refused the request.
            Unreachable: The head ended, or did not answer in time.
        """
        if not self.closed and not self.presence.up:
            return await self.presence.answer_for_head(body)
        if isinstance(body, clients.ReadHistory):
            body = replace(body, since=body.since + self.presence.ahead)
        return clock.by_ours(await self.ask_head(body, within_s), self.presence.ahead)

    async def ask_head(self, body: clients.AnyBody, within_s: float | None = ANSWER_WITHIN_S) -> Any:
        """Send a request to the head itself; times in the answer are left in the head's clock.

        Args:
            body: The request.
            within_s: Timeout in seconds; None for no limit.

        Returns:
            The answer, of the type that the request names as its `result`.

        Raises:
            DtrainError: The head refused the request.
            Unreachable: The head ended, or did not answer in time.
        """
        if self.closed:
            raise self.presence.gone()
        try:
            return await self._pending.ask(body, self.send, within_s)
        except TimeoutError:
            text = f"{self.name} did not answer in {within_s or 0:.0f} s."
            raise Unreachable(text, f"Its log is in {self.directory}", code=NO_ANSWER) from None

    async def run(self, order: clients.Run, on_output: OnOutput) -> CellResult:
        """Run a cell.

        The head answers this request only to refuse it; otherwise the end of the cell is the answer.

        Args:
            order: The request to run the cell.
            on_output: Called with its output as it arrives.

        Raises:
            DtrainError: The head refused the cell, or is not up.
            Unreachable: The head ended while the cell ran.
        """
        await self._needs_head(order)
        return await self.begin(order, order.cell, on_output)

    def begin(
        self,
        order: clients.Run | clients.Follow,
        cell: str,
        on_output: OnOutput,
        on_end: Callable[[asyncio.Future[CellResult]], None] | None = None,
    ) -> asyncio.Future[CellResult]:
        """Send the request to run or follow a cell; from every thread to a head of this machine, see `near`.

        Args:
            order: The request.
            cell: Id of the cell.
            on_output: Called with its output as it arrives.
            on_end: Called in this connection's loop when the returned future is done, before its callbacks.

        Returns:
            A future of this connection's loop: the cell's result.

        Raises:
            Unreachable: The head has ended.
        """
        if self.closed:
            raise self.presence.gone()
        loop = self._loop or asyncio.get_running_loop()
        done: asyncio.Future[CellResult] = loop.create_future()
        request = self._cells.begin(order, cell, on_output, done, on_end)
        try:
            self.send(request)
            if self.closed:  # meanwhile, by the loop, which may not have known of this cell
                raise self.presence.gone()
        except BaseException:
            self._cells.leave(request, cell)
            raise
        return done

    @property
    def socket(self) -> Any:
        """ZeroMQ's socket, while it leads to the head."""
        return self._transport.socket

    @property
    def near(self) -> bool:
        """Whether a stream leads to the head, so that a thread can send without the loop."""
        return self._transport.near

    async def follow(self, cell: str, on_output: OnOutput) -> CellResult:
        """Receive all output of a running cell from its start, and its result, as if this client had run it.

        Args:
            cell: Id of the cell.
            on_output: Called with each output.

        Raises:
            NotFound: The head no longer knows the cell.
            Conflict: The head is not up.
            Unreachable: The head ended.
        """
        order = clients.Follow(cell)
        await self._needs_head(order)
        return await self.begin(order, cell, on_output)

    async def _needs_head(self, order: clients.Run | clients.Follow) -> None:
        if not self.closed and not self.presence.up:
            await self.presence.answer_for_head(order)  # refuses it

    def watch(self, changed: Callable[[Cluster], None], period_s: float, *, end_only: bool = False) -> None:
        """Call `changed` on changes (`end_only`: at the end), at most every `period_s` s, until closed."""
        self._watchers.add(changed, period_s, end_only=end_only)

    async def unwatch(self, changed: Callable[[Cluster], None] | None = None) -> None:
        """Remove this watcher, or all watchers."""
        await self._watchers.remove(changed)

    @property
    def head_ended(self) -> bool:
        """Whether the head has ended, which closes this connection; this end may also close it by itself."""
        return self._gone_event.is_set()

    async def ended(self) -> None:
        """Wait until the head's process is gone."""
        await self._gone_event.wait()

    async def forward(self, address: str, port: int) -> tuple[str, int]:
        """Return a local address and port for a port of the head's node; on this machine, the same ones."""
        return await self.presence.forward(address, port)

    def _broken(self, address: HeadAddress) -> None:
        """The head has closed its end: as it ends, or after a failed send, with which it lives on."""
        asyncio.get_running_loop().call_later(LOST_S, self._reconnect, address)

    def _reconnect(self, address: HeadAddress) -> None:
        if self.closed:
            return
        log.warning("the connection to %s was lost; reconnecting", self.name)
        self.disconnect()
        self.connect(address, stream=True)
        self.resend_or_fail()
        supervision.here().once("client.task", self.catch_up())

    def resend_or_fail(self) -> None:
        """Repeat requests whose answer may have been lost, if that changes nothing; fail the others."""
        text = f"The connection to {self.name} broke before it answered."
        hint = "The request may have gone through: check the state of the cluster."
        self._pending.resend_or_fail(self.send, lambda: Unreachable(text, hint, code=BROKE))

    def close(self) -> None:
        """Disconnect; pending requests fail with `Unreachable`."""
        if self.closed:
            return
        self.closed = True
        self.presence.close()
        self._watchers.close()
        self.disconnect()
        self._pending.fail(self.presence.gone)
        for hook in self.on_close:
            hook()

    def disconnect(self) -> None:
        """Close the socket; pending requests stay pending."""
        self._transport.close()

    def has_ended(self) -> None:
        """Record that the head is gone."""
        self._gone_event.set()

    async def catch_up(self) -> None:
        """Request again what the head sent about cells while the connection was lost.

        After a reconnect the head knows this end by another identity, so those messages are not delivered.
        """
        self._cells.follow_again(self.send)
        await self.watch_again()

    async def watch_again(self) -> None:
        """Subscribe to changes again, if there are watchers."""
        await self._watchers.subscribe_again()

    def notify(self, cluster: Cluster) -> None:
        """Call all watchers with the cluster's state."""
        self._watchers.notify(cluster)

    def pending(self, number: int) -> clients.AnyBody | None:
        """Return what a request asks for; None if its answer is not awaited any more."""
        return self._pending.body(number)

    def keep_output(self, cell: str, on_output: OnOutput | None) -> None:
        """Keep receiving a cell's output after its end, because it has widgets.

        Args:
            cell: Id of the cell.
            on_output: Called with each output; None stops that.
        """
        self._cells.keep_output(cell, on_output)

    def send(self, request: clients.Request) -> None:
        """Send a request, which waits while the head is not connected or does not read.

        Raises:
            DtrainError: The head has ended, or does not read.
        """
        if not self._transport.send(clients.encode(request)):
            raise self.presence.gone()

    def _debugged(self, rank: int, data: bytes) -> None:
        if self.on_debug is not None:
            self.on_debug(rank, data)
