"""What leaves a rank: messages to the head in order, and a cell's output among them."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import msgspec
import zmq
from ipykernel.jsonutil import json_clean
from jupyter_client.session import extract_header

from dtrain_lab.core.wire import links
from dtrain_lab.core.wire.links import CellOutput, Message
from dtrain_lab.rank.streams import RankStream

COALESCE_S = 0.010
"""Output leaves at once, then at most this often."""
BIG = 1 << 18
UNREAD = frozenset({"status", "execute_input", "error"})
"""Messages of the kernel that nobody reads: the reply carries the error."""
WIDGETS = frozenset({"comm_open", "comm_msg", "comm_close"})
PASSED_ON = WIDGETS | {"display_data", "update_display_data", "execute_result", "clear_output"}


class Outbox:
    """Messages to the head, in order, several to a ZeroMQ message. Lives in the IOPub thread's loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._socket: Any = None
        self._received: Callable[[list[bytes]], None] = lambda _: None
        self._waiting: list[Message] = []
        self._bytes = 0
        self._last = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._again: asyncio.Handle | None = None
        self.thread = 0

    def open(self, socket: Any, received: Callable[[list[bytes]], None]) -> None:
        """The socket is connected; `received` gets the frames that come in."""
        self._socket, self._received = socket, received
        self.thread = threading.get_ident()
        self._loop.add_reader(int(socket.fd), self._drain)

    def put(self, message: Message, *, now: bool = False) -> None:
        """Queue a message; it leaves at once, or with what comes in the next milliseconds."""
        self._waiting.append(message)
        if isinstance(message, CellOutput):
            self._bytes += len(message.text) + len(message.data)
        if now or self._bytes > BIG or time.monotonic() - self._last > COALESCE_S:
            self.flush()
        elif self._timer is None:
            self._timer = self._loop.call_later(COALESCE_S, self.flush)

    def flush(self) -> None:
        """Send what waits."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._socket is None or not self._waiting:
            return
        frames = [links.encode(m) for m in _joined(self._waiting)]
        self._waiting, self._bytes, self._last = [], 0, time.monotonic()
        self._socket.send_multipart(frames)
        # the descriptor is edge-triggered: a send can swallow the wake-up of what arrived meanwhile
        if self._again is None:
            self._again = self._loop.call_soon(self._drain)

    def _drain(self) -> None:
        self._again = None
        while True:
            try:
                frames = self._socket.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                return
            self._received(frames)


def _joined(messages: list[Message]) -> list[Message]:
    """Neighbouring texts of one cell and stream as one message."""
    joined: list[Message] = []
    for message in messages:
        before = joined[-1] if joined else None
        if (
            isinstance(message, CellOutput)
            and isinstance(before, CellOutput)
            and message.text
            and (before.cell, before.kind) == (message.cell, message.kind)
        ):
            joined[-1] = msgspec.structs.replace(
                before, text=before.text + message.text, through=message.through
            )
        else:
            joined.append(message)
    return joined


def route_output(session: Any, io: Any, rank: int, outbox: Outbox) -> None:
    """Send output of cells over the link; all else goes where ipyparallel sends it."""
    usual = session.send
    process = os.getpid()
    loop = io.io_loop.asyncio_loop

    def send(
        stream: Any,
        msg_or_type: Any,
        content: Any = None,
        parent: Any = None,
        ident: Any = None,
        buffers: Any = None,
        track: bool = False,
        header: Any = None,
        metadata: Any = None,
        **more: Any,
    ) -> Any:
        if stream is io and os.getpid() == process:
            whole = isinstance(msg_or_type, dict)
            origin = msg_or_type.get("parent_header") if whole else extract_header(parent) if parent else None
            cell = origin and origin.get("dtrain_cell")
            kind = msg_or_type["header"]["msg_type"] if whole else msg_or_type
            body = msg_or_type["content"] if whole else content
            through = _through(kind, body, lost=not cell)
            if cell:
                message = _output(cell, rank, kind, body, buffers, through)
                if message is not None:
                    if threading.get_ident() == outbox.thread:
                        outbox.put(message)
                    else:
                        loop.call_soon_threadsafe(outbox.put, message)
                    return None
                if kind in UNREAD:
                    return None
        return usual(
            stream, msg_or_type, content=content, parent=parent, ident=ident, buffers=buffers,
            track=track, header=header, metadata=metadata, **more,
        )  # fmt: skip

    session.send = send


def _through(kind: str, content: Any, *, lost: bool) -> int:
    """Count a text that leaves; one that leaves for ipyparallel is nobody's last words."""
    stream = getattr(sys, content["name"], None) if kind == "stream" else None
    if not isinstance(stream, RankStream):
        return 0
    through = stream.sent(content["text"])
    if lost:
        stream.seen(through)
    return through


def _output(cell: str, rank: int, kind: str, content: Any, buffers: Any, through: int) -> CellOutput | None:
    if kind == "stream":
        return CellOutput(cell=cell, rank=rank, kind=content["name"], text=content["text"], through=through)
    if kind not in PASSED_ON:
        return None
    content = dict(content)
    transient = content.get("transient")
    if transient and "display_id" in transient:
        # the same id on two ranks must not be the same output
        content["transient"] = {**transient, "display_id": f"rank{rank}:{transient['display_id']}"}
    data = msgspec.json.encode(json_clean(content), enc_hook=str)
    packed = tuple(bytes(memoryview(buffer).cast("B")) for buffer in buffers or ())
    return CellOutput(cell=cell, rank=rank, kind=kind, data=data, buffers=packed)  # type: ignore[arg-type]
