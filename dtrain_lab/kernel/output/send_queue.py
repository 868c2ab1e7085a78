"""Sends a kernel's output no faster than its Jupyter server forwards it to the page.

All cells of a kernel share one queue, because the server counts all of the kernel's messages. Without a
server, messages are sent at once: clients are then connected to the kernel itself.
"""

from __future__ import annotations

import asyncio
from typing import Any
from weakref import WeakKeyDictionary

from dtrain_lab.kernel.output.rate_limit import Backlog, Message
from dtrain_lab.services.policy import parent_server

MOST = 1_000_000
"""Maximum queued characters if the page can read omitted text from the journal."""
MOST_WITHOUT_PAGE = 64_000_000
"""The same under a server without this extension, whose page knows no journal; limited only by memory."""
TICK_S = 0.02
"""Minimum time between two messages that had to wait."""

_known: WeakKeyDictionary[Any, SendQueue] = WeakKeyDictionary()


def of(kernel: Any) -> SendQueue:
    """Return the outgoing messages of a kernel."""
    queue = _known.get(kernel)
    if queue is None:
        queue = _known[kernel] = SendQueue(kernel)
    return queue


class SendQueue:
    """Messages of a kernel to its front ends. Used in the portal's loop only.

    Args:
        kernel: The notebook's kernel.
    """

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel
        server = parent_server.of_kernel()
        most = MOST if server is not None and server.extension else MOST_WITHOUT_PAGE
        self._backlog = Backlog(server.limits, most) if server is not None else None
        self._timer: asyncio.TimerHandle | None = None
        self._empty = asyncio.Event()
        self._empty.set()

    def send(self, message: Message) -> None:
        """Send a message, at once or in its turn."""
        if self._backlog is None:
            self._publish(message)
            return
        self._backlog.add(message)
        if self._timer is None:
            self._pump()

    @property
    def waits(self) -> bool:
        """Whether messages are queued."""
        return not self._empty.is_set()

    async def sent(self) -> None:
        """Wait until the queue is empty: front ends forget a cell once it has ended."""
        await self._empty.wait()

    def hurry(self) -> None:
        """Omit the queued text, because the user does not want to wait for it."""
        if self._backlog is not None:
            self._backlog.shorten()

    def _pump(self) -> None:
        assert self._backlog is not None
        self._timer = None
        loop = asyncio.get_running_loop()
        while True:
            message, wait = self._backlog.next(loop.time())
            if message is None:
                break
            self._publish(message)
        if wait:
            self._empty.clear()
            self._timer = loop.call_later(max(wait, TICK_S), self._pump)
        else:
            self._empty.set()

    def _publish(self, message: Message) -> None:
        kernel, stream = self._kernel, message.stream
        kernel.session.send(
            kernel.iopub_socket,
            message.kind,
            {"name": stream, "text": message.text} if stream else message.content,
            parent=message.parent,
            ident=f"stream.{stream}".encode() if stream else kernel._topic(message.kind),
            metadata=message.metadata,
            buffers=message.buffers,
        )
