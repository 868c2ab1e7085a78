"""Sends what a rank's kernel says about a cell to the head instead of to ipyparallel."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import msgspec
from ipykernel.jsonutil import json_clean
from jupyter_client.session import extract_header

from dtrain_lab.rank.output.outbox import Outbox
from dtrain_lab.rank.output.streams import RankStream
from dtrain_lab.rank.output.widget_views import DISPLAYS, WidgetViews
from dtrain_lab.wire.codec.encode import encode_json
from dtrain_lab.wire.links import CellOutput

MOST_OUTPUT = 64 << 20
"""Largest display output in bytes: head, kernel and page each hold a copy."""
UNREAD = frozenset({"status", "execute_input"})
"""Kernel messages that are dropped, because no client reads them."""
WIDGETS = frozenset({"comm_open", "comm_msg", "comm_close"})
PASSED_ON = WIDGETS | DISPLAYS | {"clear_output", "error"}
"""`error` is an exception that a library has caught and shows; the cell's own error is in the reply."""


def route_output(session: Any, io: Any, rank: int, outbox: Outbox) -> WidgetViews:
    """Send output of cells over the link; all other messages still go to ipyparallel.

    Args:
        session: the kernel's session, whose `send` is replaced.
        io: the IOPub socket.
        rank: number of this rank.
        outbox: takes the output.

    Returns:
        What is known of the rank's widgets.
    """
    usual = session.send
    process = os.getpid()
    cells_of_comms: dict[str, str] = {}
    views = WidgetViews()

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
            if kind in WIDGETS:
                cell = _cell_of(kind, body["comm_id"], cell, cells_of_comms)
            about = msg_or_type.get("metadata") if whole else metadata
            through = _through(kind, body, lost=not cell)
            if cell:
                views.note(kind, body)
                message = _output(cell, rank, kind, views.marked(kind, body, cell), buffers, through)
                if message is not None and kind == "stream":
                    message = msgspec.structs.replace(
                        message, data=views.text(cell, body["name"], body["text"])
                    )
                if message is not None:
                    message = _whole(message, about, origin)
                if message is not None:
                    outbox.output(message)
                    for notice in views.notices(kind, body, cell, rank):
                        outbox.output(notice)
                    return None
                if kind in UNREAD:
                    return None
        return usual(
            stream, msg_or_type, content=content, parent=parent, ident=ident, buffers=buffers,
            track=track, header=header, metadata=metadata, **more,
        )  # fmt: skip

    RankStream.straight = _straight(rank, outbox, views)
    RankStream.write_serially = outbox.write_out
    session.send = send
    return views


def _straight(rank: int, outbox: Outbox, views: WidgetViews) -> Callable[[str, dict[str, Any], str], bool]:
    """Return what sends printed text without a message of the kernel; it returns False outside cells."""

    def straight(name: str, header: dict[str, Any], text: str) -> bool:
        cell = header.get("dtrain_cell")
        if cell is None:
            return False
        through, parent = RankStream.made[name].sent(text), header.get("dtrain_parent", "")
        kind: Any = name
        inside = views.text(cell, name, text)
        outbox.output(CellOutput(cell, rank, kind, text, inside, through=through, parent=parent))
        return True

    return straight


def _cell_of(kind: str, comm_id: str, cell: str | None, opened_in: dict[str, str]) -> str | None:
    """The cell to which a widget's message belongs.

    A message of another thread, or of the garbage collector, has no cell: it belongs to the one that opened
    the comm. Without it, the kernel would keep a closed widget, and a reloaded page would wait for its state.

    Args:
        kind: type of the message.
        comm_id: its comm.
        cell: the cell in its parent header, if any.
        opened_in: the cell that opened each open comm; changed.
    """
    if kind == "comm_open" and cell:
        opened_in[comm_id] = cell
    elif kind == "comm_close":
        opened = opened_in.pop(comm_id, None)
        return cell or opened
    return cell or opened_in.get(comm_id)


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
        stream.confirm(through)
    return through


def _whole(message: CellOutput, metadata: Any, origin: Any) -> CellOutput:
    """The message with its metadata, parent and (for a new comm) process id added."""
    about = encode_json(json_clean(metadata)) if metadata else b""
    parent = origin.get("dtrain_parent", "") if origin else ""
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
