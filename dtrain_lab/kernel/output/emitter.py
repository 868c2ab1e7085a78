"""Emits output of ranks as output of the notebook cell that runs on them.

Called in the portal's thread while the kernel's main thread waits. Lines are labelled by rank, and merged if
they are equal. Text that arrives in one loop iteration is sent as one message, so that a burst of lines does
not become a burst of messages. Text that a rank overwrites (progress bars, text after `clear_output`) is
shown in a separate area below the lines, because a stream has only one line that can be overwritten.
"""

from __future__ import annotations

import asyncio
import io
import sys
import uuid
from collections.abc import Sequence
from typing import Any

import msgspec

from dtrain_lab.cells.merge import LineMerger, LineWriter, Piece
from dtrain_lab.kernel.output import send_queue, widget_displays
from dtrain_lab.kernel.output.live_displays import AREA_S, LiveDisplays
from dtrain_lab.kernel.output.output_widgets import OutputWidgets
from dtrain_lab.kernel.output.rate_limit import Message
from dtrain_lab.wire.links import CellOutput


class Emitter:
    """Shows the output of one cell.

    Args:
        shell: This kernel's shell.
        ranks: Ranks that run the cell; empty if unknown.
        by_rank: Show one block per rank instead of merged lines: the first rank's live, the rest at the end.
        parent: Parent message of the output; by default the message of the running cell.
    """

    def __init__(
        self,
        shell: Any,
        ranks: Sequence[int] = (),
        *,
        by_rank: bool = False,
        parent: dict[str, Any] | None = None,
    ) -> None:
        kernel: Any = getattr(shell, "kernel", None)
        self._kernel = kernel
        self._outgoing = send_queue.of(kernel) if kernel is not None else None
        self._parent = parent or (kernel.get_parent("shell") if kernel is not None else None)
        self._captured = _captured(shell) if parent is None else None
        self._captures = OutputWidgets(self._parent, alone=len(ranks) == 1)
        self._ranks = tuple(ranks)
        self._merger = LineMerger(1 if by_rank else len(ranks))
        self._writer = LineWriter()
        self._held: dict[int, list[CellOutput]] | None = {} if by_rank else None
        self._areas = LiveDisplays(self._send_display) if len(ranks) != 1 else None
        self._widgets = widget_displays.of(kernel)
        self._timer: asyncio.TimerHandle | None = None
        self._soon: asyncio.Handle | None = None
        self._drawn: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def put(self, output: CellOutput) -> None:
        """Show one piece of output."""
        if widget_displays.for_journal(output):
            return
        self._loop = self._loop or asyncio.get_running_loop()
        if self._held is not None and output.rank != min(self._ranks, default=0):
            self._held.setdefault(output.rank, []).append(output)
            return
        self._put(output)

    def finish(self) -> None:
        """Show everything that was held back, at the end of the cell."""
        self._finish_lines()
        held, self._held = self._held, None
        for _, outputs in sorted((held or {}).items()):
            self._merger = LineMerger(1)
            for output in outputs:
                self._put(output)
            self._finish_lines()
        if self._areas is not None:
            self._areas.finish()

    def note_stop(self, values: dict[str, Any]) -> None:
        """Tell the page who has stopped the cell's cluster, and when; the page shows it in its language.

        The error's message has no field for it, and the cluster's record of the cell is gone. So it is sent
        as the update of a display that does not exist: front ends ignore such an update and don't save it,
        whereas nbconvert would render an empty display as an empty block.

        Args:
            values: Who, and when.
        """
        if self._kernel is not None and self._captured is None:
            nowhere = {"display_id": f"dtrain-stop-{uuid.uuid4().hex}"}
            content = {"data": {}, "metadata": {"dtrain": {"stop": values}}, "transient": nowhere}
            self._send("update_display_data", content, {})

    @property
    def waits(self) -> bool:
        """Whether something waits for the server to pass it on."""
        return self._outgoing is not None and self._outgoing.waits

    async def sent(self) -> None:
        """Wait until the server can pass on all that was shown."""
        if self._outgoing is not None:
            await self._outgoing.sent()

    def hurry(self) -> None:
        """Leave out the text that waits for its turn."""
        if self._outgoing is not None:
            self._outgoing.hurry()

    def _put(self, output: CellOutput) -> None:
        if self._captures.holds(output):
            self._capture(output)
            return
        if output.kind in ("stdout", "stderr"):
            self._text(output.rank, output.kind, output.text)
            return
        content: dict[str, Any] = msgspec.json.decode(output.data)
        if output.kind == "execute_result" and set(content["data"]) == {"text/plain"}:
            self._text(output.rank, "stdout", content["data"]["text/plain"] + "\n")
            return
        if output.kind.startswith("comm_"):
            captures = output.kind == "comm_msg" and self._captures.see(output.rank, content)
            if captures:  # earlier lines must not be captured by the widget
                self._emit(self._merger.ready(float("inf")))
            if not captures or self._captures.alone:
                metadata = msgspec.json.decode(output.metadata) if output.metadata else {}
                self._send(output.kind, content, metadata, list(output.buffers))
            return
        self._emit(self._merger.ready(float("inf")))
        if output.kind == "error":
            self._error(labelled_error(output.rank, content))
            return
        self._display(output, content)

    def _error(self, content: dict[str, Any]) -> None:
        if self._kernel is None:
            sys.stderr.write("\n".join(content["traceback"]) + "\n")
        else:
            self._send("error", content, {})

    def _capture(self, output: CellOutput) -> None:
        """Show a piece in its rank's Output widget, unlabelled, as all output there is that rank's."""
        for kind, content in self._captures.around(output):
            self._send(kind, content, {})

    def _text(self, rank: int, stream: str, text: str) -> None:
        if self._areas is not None and self._areas.takes_text(rank):
            self._areas.add_text(rank, text)
            self._draw_later()
            return
        assert self._loop is not None
        self._merger.feed(rank, stream, text, self._loop.time())
        if self._soon is None:
            self._soon = self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        assert self._loop is not None
        self._soon = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._emit(self._merger.ready(self._loop.time()))
        due = self._merger.due()
        if due is not None:
            self._timer = self._loop.call_at(due + 0.0005, self._flush)
        if self._areas is not None and self._areas.differs(self._merger.progress):
            self._draw_later()

    def _draw_later(self) -> None:
        if self._drawn is None and self._loop is not None:
            self._drawn = self._loop.call_later(AREA_S, self._draw)

    def _draw(self) -> None:
        self._drawn = None
        if self._areas is not None:
            self._areas.draw(self._merger.progress)

    def _finish_lines(self) -> None:
        for handle in (self._timer, self._soon, self._drawn):
            if handle is not None:
                handle.cancel()
        self._timer = self._soon = self._drawn = None
        self._emit(self._merger.finish())

    def _emit(self, pieces: Sequence[Piece]) -> None:
        joined: list[tuple[str, list[str]]] = []
        for piece in pieces:
            text = self._writer.write(piece)
            if joined and joined[-1][0] == piece.stream:
                joined[-1][1].append(text)
            else:
                joined.append((piece.stream, [text]))
        for name, parts in joined:
            self._stream(name, "".join(parts))

    def _stream(self, name: str, text: str) -> None:
        if self._captured is not None:
            self._captured.text(name, text)
        elif self._kernel is None:
            (sys.stderr if name == "stderr" else sys.stdout).write(text)
        else:
            self._send("stream", {"name": name, "text": text}, {})

    def _display(self, output: CellOutput, content: dict[str, Any]) -> None:
        kind: str = output.kind
        if kind == "clear_output":
            if self._areas is None:
                self._send(kind, content, {})
            else:
                self._areas.clear(output.rank)
            return
        if kind == "execute_result":
            # not an execute_result: several ranks' values are shown, and the number is the notebook cell's
            kind = "display_data"
            content.pop("execution_count", None)
        if kind == "update_display_data":
            cleared = self._widgets.cleared_by(content)
            if cleared is not None:
                for update in cleared:
                    self._send_display(kind, update, {})
                return
        content.setdefault("transient", {})
        content["metadata"] = {**content.get("metadata", {}), "dtrain": {"rank": output.rank}}
        if kind == "display_data" and self._areas is not None:
            kind = self._areas.place(output.rank, content)
        if self._kernel is not None:
            self._widgets.note(content)
        self._send_display(kind, content, {"rank": output.rank})

    def _send_display(self, kind: str, content: dict[str, Any], metadata: dict[str, Any]) -> None:
        if self._captured is not None:
            self._captured.display(kind, content)
        elif self._kernel is None:
            sys.stdout.write(content["data"].get("text/plain", "") + "\n")
        else:
            self._send(kind, content, metadata)

    def _send(
        self, kind: str, content: dict[str, Any], metadata: dict[str, Any], buffers: Any = None
    ) -> None:
        if self._outgoing is None:
            return
        if kind == "stream":
            message = Message(kind, self._parent, stream=content["name"], text=content["text"])
        else:
            message = Message(kind, self._parent, content, metadata, buffers)
        self._outgoing.send(message)


class _Captured:
    """Passes the ranks' output to `%%capture`, which then works as for an ordinary cell."""

    def __init__(self, shell: Any) -> None:
        self._streams = {"stdout": sys.stdout, "stderr": sys.stderr}
        self._publisher = shell.display_pub

    def text(self, name: str, text: str) -> None:
        """Write text to a stream."""
        self._streams[name].write(text)

    def display(self, kind: str, content: dict[str, Any]) -> None:
        """Publish a display or an update of one."""
        self._publisher.publish(
            content["data"],
            content.get("metadata"),
            transient=content.get("transient"),
            update=kind == "update_display_data",
        )


def _captured(shell: Any) -> _Captured | None:
    """Return the `%%capture` of the running cell, if there is one."""
    return _Captured(shell) if isinstance(sys.stdout, io.StringIO) else None


def labelled_error(rank: int, content: dict[str, Any]) -> dict[str, Any]:
    """Label an error that a library has caught and displays with its rank.

    Args:
        rank: The rank that displays it.
        content: Content of an `error` message.
    """
    first, *rest = content["traceback"] or [""]
    named = {"ename": content["ename"], "evalue": content["evalue"]}
    return {**named, "traceback": [f"[{rank}] {first}", *rest]}
