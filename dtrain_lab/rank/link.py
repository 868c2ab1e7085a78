"""The rank's end of the link.

No thread of its own: the kernel's IOPub thread owns the socket, so a cell's output and its reply share one
queue and the reply is always last. Orders arrive there too, also while the main thread is inside a
collective: that is how an abort gets through.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec
import zmq
from ipykernel.jsonutil import json_clean
from jupyter_client.session import extract_header

from dtrain_lab.core.cluster import Frame
from dtrain_lab.core.wire import links
from dtrain_lab.core.wire.links import CellOutput, CellReply, Message, RankSpec
from dtrain_lab.core.words import STREAMS, Names
from dtrain_lab.rank import figures
from dtrain_lab.rank.cells import CellRunner
from dtrain_lab.rank.group import Group
from dtrain_lab.rank.monitor import install as install_monitor
from dtrain_lab.rank.questions import Questions
from dtrain_lab.rank.store import Calls
from dtrain_lab.rank.streams import RankStream
from dtrain_lab.rank.tutorials import Notes
from dtrain_lab.rank.tutorials import install as install_tutorials

COALESCE_S = 0.010
"""Output leaves at once, then at most this often."""
BIG = 1 << 18
UNREAD = frozenset({"status", "execute_input", "error"})
"""Messages of the kernel that nobody reads: the reply carries the error."""
WIDGETS = frozenset({"comm_open", "comm_msg", "comm_close"})
PASSED_ON = WIDGETS | {"display_data", "update_display_data", "execute_result", "clear_output"}


@dataclass(frozen=True)
class Shared:
    """What a rank shares with its node agent: memory of the monitor's ring and of `core.words`, and, by
    stream, both ends of the pipe for what C code writes."""

    ring: memoryview
    words: memoryview
    pipes: dict[str, tuple[int, int]]


def attach(app: Any, kernel: Any, spec: RankSpec, memory: Shared) -> Link:
    """Put a rank's kernel on the link."""
    return Link(app, kernel, spec, memory)


class Link:
    """One rank, as the head sees it."""

    def __init__(self, app: Any, kernel: Any, spec: RankSpec, memory: Shared) -> None:
        self._spec = spec
        self._kernel = kernel
        self._io_loop = kernel.iopub_socket.io_loop.asyncio_loop
        self._loop = app.loop.asyncio_loop
        self._context = contextvars.copy_context()
        self._tasks: set[asyncio.Task[None]] = set()
        self._calls = Calls(spec.rank, self.send)
        self._group = Group(spec.rank, spec.world_size, "gloo", self._calls)
        self._cells = CellRunner(kernel, self._group, spec.rank, Names(memory.words))
        self._questions = Questions(kernel, self._cells, self.send, spec.rank)
        self._notes = Notes()
        self._outbox = Outbox(self._io_loop)
        self._main = threading.main_thread().ident
        self._group.watch_objects()
        install_tutorials(self._group, self._notes)
        if spec.monitor:
            install_monitor(memory.ring, spec.world_size)
        figures.prepare()
        self._name_what_ranks_have()
        _route_output(app.session, kernel.iopub_socket, spec.rank, self._outbox)
        self._io_loop.call_soon_threadsafe(self._start, app.context)

    def send(self, message: Message) -> None:
        """Send now; safe from every thread."""
        self._io_loop.call_soon_threadsafe(partial(self._outbox.put, message, now=True))

    # ---- IOPub thread

    def _start(self, context: zmq.Context[Any]) -> None:
        socket = context.socket(zmq.DEALER)
        socket.linger = 1000
        socket.sndhwm = socket.rcvhwm = 0
        socket.connect(self._spec.link)
        for name in STREAMS:
            getattr(sys, name).begin_count()
        self._outbox.open(socket, self._received)
        self._outbox.put(links.RankHello(rank=self._spec.rank, pid=os.getpid()), now=True)

    def _received(self, frames: list[bytes]) -> None:
        for frame in frames:
            order = links.decode_to_rank(frame)
            match order:
                case links.StoreAnswer():
                    self._calls.answered(order)
                case links.Abort():
                    self._group.break_waits()
                case links.AskWhere():
                    self._outbox.put(self._where(order), now=True)
                case links.Execute():
                    self._on_main(partial(self._execute, order))
                case links.Seen(stream, through):
                    getattr(sys, stream).seen(through)
                case links.Form():
                    self._on_main(partial(self._form, order))
                case links.Comm():
                    self._on_main(partial(self._cells.comm, order))
                case links.Complete():
                    self._on_main(partial(self._questions.answer, order))
                case links.End():
                    self._outbox.flush()
                    os._exit(0)

    def _where(self, order: links.AskWhere) -> links.Here:
        names = {t.ident: t.name for t in threading.enumerate()}
        stacks = sys._current_frames()
        main = stacks.get(self._main or 0)
        frames: tuple[Frame, ...] = ()
        if main is not None:
            frames = tuple(self._cells.frame(f) for f in traceback.extract_stack(main))
            first = next((i for i, f in enumerate(frames) if f.cell), None)
            frames = frames[first:] if first is not None else ()
        text = ""
        if order.stacks:
            parts = []
            for ident, frame in sorted(stacks.items(), key=lambda item: item[0] != self._main):
                title = "Main thread" if ident == self._main else f"Thread {names.get(ident, ident)}"
                parts.append(f"{title}:\n{''.join(traceback.format_stack(frame))}")
            text = "\n".join(parts)
        return links.Here(rank=self._spec.rank, id=order.id, frames=frames[-20:], text=text)

    def _on_main(self, start: Callable[[], Any]) -> None:
        def spawn() -> None:
            task = self._loop.create_task(start(), context=self._context)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

        self._loop.call_soon_threadsafe(spawn)

    # ---- main thread

    async def _execute(self, order: links.Execute) -> None:
        self._notes.forget()
        reply = await self._cells.run(order)
        self._io_loop.call_soon_threadsafe(self._finish, reply)

    def _finish(self, reply: CellReply) -> None:
        for stream in (sys.stdout, sys.stderr):
            flush = getattr(stream, "_flush", None)
            if flush is not None:
                flush()  # into the outbox, and so before the reply
        self._outbox.put(reply, now=True)

    async def _form(self, order: links.Form) -> None:
        error = ""
        unpointed: tuple[str, ...] = ()
        async with self._kernel._main_asyncio_lock:
            try:
                unpointed = self._group.form(order)
                self._set_size(order)
            # whatever torch raises: the head decides what it means
            except Exception as failure:  # noqa: BLE001
                error = f"{type(failure).__name__}: {failure}"[:2000]
        groups, count = self._group.specs()
        self.send(
            links.GroupFormed(
                rank=self._spec.rank,
                generation=order.generation,
                error=error,
                unpointed=unpointed,
                groups=groups,
                group_count=count,
            )
        )

    def _set_size(self, order: links.Form) -> None:
        names = self._kernel.shell.user_ns_hidden
        if names["world_size"] == order.size:
            return
        import torch

        names["world_size"] = self._kernel.shell.user_ns["world_size"] = order.size
        if "OMP_NUM_THREADS" not in self._spec.variables:
            torch.set_num_threads(order.threads)

    def _name_what_ranks_have(self) -> None:
        import torch

        spec = self._spec
        device = f"cuda:{spec.local_rank % spec.gpus}" if spec.gpus else "cpu"
        names = {
            "rank": spec.rank,
            "local_rank": spec.local_rank,
            "world_size": spec.world_size,
            "device": torch.device(device),
        }
        self._kernel.shell.user_ns.update(names)
        self._kernel.shell.user_ns_hidden.update(names)


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


def _route_output(session: Any, io: Any, rank: int, outbox: Outbox) -> None:
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
