"""The rank's end of the link: reads the head's orders, and sends messages in order.

The link has no thread of its own. Orders are read by the main thread while it is idle, else by the kernel's
IOPub thread, even while the main thread is inside a collective: that is how an abort gets through.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Callable
from typing import Any

import zmq

from dtrain_lab.cells.output_buffer import STREAMS
from dtrain_lab.rank.link.channel import far, near
from dtrain_lab.rank.link.order_reading import MainSelector, SocketHandoff
from dtrain_lab.rank.link.orders import Orders
from dtrain_lab.rank.output.outbox import Outbox
from dtrain_lab.rank.output.streams import RankStream
from dtrain_lab.wire import links
from dtrain_lab.wire.links import CellReply, Message, RankSpec

events = logging.getLogger("dtrain_lab.rank")


class Link:
    """The rank's connection to the head: a channel, orders that arrive, and an outbox.

    Args:
        spec: settings of this rank.
        main: loop of the main thread.
        iopub: loop of the IOPub thread.
        selector: selector of the main thread's loop.
        obey: carries out an order, on the IOPub thread.
        begin: starts a cell, on the main thread.
    """

    def __init__(
        self,
        spec: RankSpec,
        main: asyncio.AbstractEventLoop,
        iopub: asyncio.AbstractEventLoop,
        selector: MainSelector,
        obey: Callable[[Message], None],
        begin: Callable[[links.Execute], None],
    ) -> None:
        self._spec = spec
        self._main, self._iopub = main, iopub
        self._selector = selector
        self._orders = Orders(obey, begin, iopub)
        self.outbox = Outbox(iopub)

    def open(self, context: zmq.Context[Any]) -> None:
        """Connect to the head, on the IOPub thread.

        Args:
            context: ZeroMQ context, for a head on another node.
        """
        self._iopub.call_soon_threadsafe(self._connect, context)

    def send(self, message: Message) -> None:
        """Send a message at once; safe from every thread."""
        self.outbox.post(message, now=True)

    def ask(self, call: links.StoreCall) -> None:
        """Send a call whose answer the main thread waits for: the IOPub thread reads the answer."""
        self._selector.share()  # for a finalizer that runs while the main thread waits
        self.send(call)

    def finish(self, reply: CellReply | links.WidgetHandled) -> None:
        """Send a reply after all output; on the main thread, or on the IOPub thread."""
        self.outbox.finish(reply, [stream.write_out for stream in RankStream.made.values()])
        RankStream.flushed()

    def _connect(self, context: zmq.Context[Any]) -> None:
        near_one = near(self._spec, self._orders, self._attend, self._lost)
        channel = near_one or far(self._spec, self._orders, context)
        for name in STREAMS:
            getattr(sys, name).begin_count()
        self.outbox.open(channel)
        RankStream.timed()
        self.outbox.put(links.RankHello(rank=self._spec.rank, pid=os.getpid()), now=True)

    @staticmethod
    def _lost() -> None:
        """End this rank: its connection to the head is gone. Its agent reports the exit, if it can."""
        events.error("the connection to the head is lost, so this rank ends")
        os._exit(1)

    def _attend(self, handoff: SocketHandoff, read: Callable[[], object]) -> None:
        self._main.call_soon_threadsafe(self._selector.attend, handoff, read)
