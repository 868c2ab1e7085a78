"""Outgoing queue of a rank: sends messages and cell output to the head in order, from every thread."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections import deque
from typing import Any, Protocol

import msgspec
from ipykernel.jsonutil import json_clean
from jupyter_client.session import extract_header

from dtrain_lab.rank.output.streams import RankStream
from dtrain_lab.wire import links
from dtrain_lab.wire.codec.encode import encode_json
from dtrain_lab.wire.links import CellOutput, Message

COALESCE_S = 0.010
"""Output is sent at once, then at most once in this many seconds."""
BIG = 1 << 18
MOST_OUTPUT = 64 << 20
"""Largest display output in bytes: head, kernel and page each hold a copy."""
UNREAD = frozenset({"status", "execute_input"})
"""Kernel messages that are dropped, because no client reads them."""
WIDGETS = frozenset({"comm_open", "comm_msg", "comm_close"})
PASSED_ON = WIDGETS | {"display_data", "update_display_data", "execute_result", "clear_output", "error"}
"""`error` is an exception that a library has caught and shows; the cell's own error is in the reply."""


class Way(Protocol):
    """The connection to the head."""

    def send(self, messages: list[bytes]) -> None:
        """Send messages in order."""


class Outbox:
    """Queue of messages to the head, sent in order and several at once.

    All methods may be called from every thread. While a cell's code runs on the main thread, it only posts:
    an interrupt must not end it between a message and its bookkeeping.

    Args:
        loop: asyncio loop of the IOPub thread.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._way: Way | None = None
        self._lock = threading.Lock()
        self._posted: deque[tuple[Message, bool]] = deque()
        self._waiting: list[Message] = []
        self._bytes = 0
        self._last = 0.0
        self._later = False
        """Whether a flush is due within `COALESCE_S`."""
        self.threads: set[int] = set()
        """Threads that send at once where they stand; output of others is posted."""

    def open(self, way: Way) -> None:
        """Start to send; called on the IOPub thread.

        Args:
            way: connected to the head.
        """
        self._way = way
        self.threads.add(threading.get_ident())

    def post(self, message: Message, *, now: bool = False) -> None:
        """Queue a message, which the IOPub thread sends.

        A flush of stdout that is running on the IOPub thread may already hold text that was printed after
        this message: `put` takes what was posted first.

        Args:
            message: for the head.
            now: send at once, as in `put`.
        """
        self._posted.append((message, now))
        self._loop.call_soon_threadsafe(self._send_posted)

    def put(self, message: Message, *, now: bool = False) -> None:
        """Queue a message and send it soon, after all that were posted.

        Args:
            message: for the head.
            now: send at once, rather than together with other messages of the next 10 ms.
        """
        with self._lock:
            self._take_posted()
            self._put(message, now=now)

    def flush(self) -> None:
        """Send all queued messages now."""
        with self._lock:
            self._take_posted()
            self._flush()

    def _send_posted(self) -> None:
        with self._lock:
            self._take_posted()

    def _take_posted(self) -> None:
        while self._posted:
            message, now = self._posted.popleft()
            self._put(message, now=now)

    def _put(self, message: Message, *, now: bool = False) -> None:
        self._waiting.append(message)
        if isinstance(message, CellOutput):
            self._bytes += len(message.text) + len(message.data)
        if now or self._bytes > BIG or time.monotonic() - self._last > COALESCE_S:
            self._flush()
        elif not self._later:
            self._later = True
            self._loop.call_soon_threadsafe(self._flush_later)

    def _flush_later(self) -> None:
        self._loop.call_later(COALESCE_S, self._due)

    def _due(self) -> None:
        with self._lock:
            self._later = False
            self._flush()

    def _flush(self) -> None:
        if self._way is None or not self._waiting:
            return
        messages = [links.encode(message) for message in _joined(self._waiting)]
        self._waiting, self._bytes, self._last = [], 0, time.monotonic()
        self._way.send(messages)


def _joined(messages: list[Message]) -> list[Message]:
    """Merge neighbouring texts of one cell and stream into one message."""
    joined: list[Message] = []
    for message in messages:
        before = joined[-1] if joined else None
        if (
            isinstance(message, CellOutput)
            and isinstance(before, CellOutput)
            and message.text
            and (before.cell, before.kind, before.parent) == (message.cell, message.kind, message.parent)
        ):
            joined[-1] = msgspec.structs.replace(
                before, text=before.text + message.text, through=message.through
            )
        else:
            joined.append(message)
    return joined


def route_output(session: Any, io: Any, rank: int, outbox: Outbox) -> None:
    """Send output of cells over the link; all other messages still go to ipyparallel.

    Args:
        session: the kernel's session, whose `send` is replaced.
        io: the IOPub socket.
        rank: number of this rank.
        outbox: takes the output.
    """
    usual = session.send
    process = os.getpid()

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
            about = msg_or_type.get("metadata") if whole else metadata
            through = _through(kind, body, lost=not cell)
            if cell:
                message = _output(cell, rank, kind, body, buffers, through)
                if message is not None:
                    message = _whole(message, about, origin)
                if message is not None:
                    if threading.get_ident() in outbox.threads:
                        outbox.put(message)
                    else:
                        outbox.post(message)
                    return None
                if kind in UNREAD:
                    return None
        return usual(
            stream, msg_or_type, content=content, parent=parent, ident=ident, buffers=buffers,
            track=track, header=header, metadata=metadata, **more,
        )  # fmt: skip

    def straight(name: str, header: dict[str, Any], text: str) -> bool:
        cell = header.get("dtrain_cell")
        if cell is None:
            return False
        through, parent = RankStream.made[name].sent(text), header.get("dtrain_parent", "")
        message = CellOutput(cell=cell, rank=rank, kind=name, text=text, through=through, parent=parent)  # type: ignore[arg-type]
        if threading.get_ident() in outbox.threads:
            outbox.put(message)
        else:
            outbox.post(message)
        return True

    RankStream.straight = straight
    session.send = send


def _through(kind: str, content: Any, *, lost: bool) -> int:
    """Count the bytes of a stream's text that is sent.

    Text for ipyparallel is confirmed at once, so that it is not reported as the last output of a lost rank.

    Args:
        kind: type of the message.
        content: its content.
        lost: whether the text goes to ipyparallel instead of the head.

    Returns:
        Bytes of this stream sent so far; 0 for other messages.
    """
    stream = RankStream.made.get(content["name"]) if kind == "stream" else None
    if stream is None:
        return 0
    through = stream.sent(content["text"])
    if lost:
        stream.seen(through)
    return through


def _whole(message: CellOutput, metadata: Any, origin: Any) -> CellOutput:
    """The message with its metadata, parent and (for a new comm) process id added."""
    about = encode_json(json_clean(metadata)) if metadata else b""
    parent = origin.get("dtrain_parent", "")
    pid = os.getpid() if message.kind == "comm_open" else 0
    if not (about or parent or pid):
        return message
    return msgspec.structs.replace(message, metadata=about, parent=parent, pid=pid)


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
    data = encode_json(json_clean(content))
    packed = tuple(bytes(memoryview(buffer).cast("B")) for buffer in buffers or ())
    size = len(data) + sum(map(len, packed))
    if size > MOST_OUTPUT:
        text = f"dtrain-lab: an output of {size >> 20} MiB is left out; save it and show a part of it.\n"
        return CellOutput(cell=cell, rank=rank, kind="stderr", text=text)
    return CellOutput(cell=cell, rank=rank, kind=kind, data=data, buffers=packed)  # type: ignore[arg-type]
