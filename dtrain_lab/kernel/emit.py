"""Re-emits what ranks print and display, as output of the cell that runs them.

Called in the portal's thread, while the kernel's main thread waits. Lines are labelled by rank, and merged
where ranks agree; whatever is there at once leaves as one message, so a burst of lines is not a burst of
messages. What a rank overwrites (progress bars, text after `clear_output`) lives in an area of its own
below the lines, because one stream has only one line that can be overwritten.
"""

from __future__ import annotations

import asyncio
import secrets
import sys
from collections.abc import Sequence
from typing import Any

import msgspec

from dtrain_lab.core import ranks as rank_names
from dtrain_lab.core.lines import LineMerger, LineWriter, Piece, progress_rows
from dtrain_lab.core.wire.links import CellOutput

AREA_S = 0.1
"""The area of progress bars is drawn at most this often."""


class Emitter:
    """Shows the output of one cell.

    Args:
        shell: of this kernel.
        ranks: that run the cell; empty where not known.
        by_rank: a block for each rank, in place of one text: the first rank's live, the others' at the end.
    """

    def __init__(self, shell: Any, ranks: Sequence[int] = (), *, by_rank: bool = False) -> None:
        kernel: Any = getattr(shell, "kernel", None)
        self._kernel = kernel
        self._parent = kernel.get_parent("shell") if kernel is not None else None
        self._ranks = tuple(ranks)
        self._merger = LineMerger(1 if by_rank else len(ranks))
        self._writer = LineWriter()
        self._held: dict[int, list[CellOutput]] | None = {} if by_rank else None
        self._areas = Areas(self._send_display) if len(ranks) != 1 else None
        self._timer: asyncio.TimerHandle | None = None
        self._soon: asyncio.Handle | None = None
        self._drawn: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def put(self, output: CellOutput) -> None:
        """Show one piece."""
        self._loop = self._loop or asyncio.get_running_loop()
        if self._held is not None and output.rank != min(self._ranks, default=0):
            self._held.setdefault(output.rank, []).append(output)
            return
        self._put(output)

    def finish(self) -> None:
        """The cell has ended: nothing is held back any more."""
        self._finish_lines()
        held, self._held = self._held, None
        for _, outputs in sorted((held or {}).items()):
            self._merger = LineMerger(1)
            for output in outputs:
                self._put(output)
            self._finish_lines()
        if self._areas is not None:
            self._areas.finish()

    def _put(self, output: CellOutput) -> None:
        if output.kind in ("stdout", "stderr"):
            self._text(output.rank, output.kind, output.text)
            return
        content: dict[str, Any] = msgspec.json.decode(output.data)
        if output.kind == "execute_result" and set(content["data"]) == {"text/plain"}:
            self._text(output.rank, "stdout", content["data"]["text/plain"] + "\n")
            return
        if output.kind.startswith("comm_"):
            self._send(output.kind, content, {"rank": output.rank}, list(output.buffers))
            return
        self._emit(self._merger.ready(float("inf")))
        self._display(output, content)

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
        if self._kernel is None:
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
            # this cell's own number stays its own: a rank's value is shown beside those of the others
            kind = "display_data"
            content.pop("execution_count", None)
        content.setdefault("transient", {})
        content["metadata"] = {**content.get("metadata", {}), "dtrain": {"rank": output.rank}}
        if kind == "display_data" and self._areas is not None:
            kind = self._areas.place(output.rank, content)
        self._send_display(kind, content, {"rank": output.rank})

    def _send_display(self, kind: str, content: dict[str, Any], metadata: dict[str, Any]) -> None:
        if self._kernel is None:
            sys.stdout.write(content["data"].get("text/plain", "") + "\n")
        else:
            self._send(kind, content, metadata)

    def _send(
        self, kind: str, content: dict[str, Any], metadata: dict[str, Any], buffers: Any = None
    ) -> None:
        kernel: Any = self._kernel
        if kernel is None:
            return
        kernel.session.send(
            kernel.iopub_socket,
            kind,
            content,
            parent=self._parent,
            ident=kernel._topic(kind) if kind != "stream" else f"stream.{content['name']}".encode(),
            metadata=metadata,
            buffers=buffers,
        )


class Areas:
    """What ranks overwrite in a cell that several ranks share.

    `clear_output` on one rank must not take the others' output along. So each display of a rank gets an id,
    and what the rank displays after it cleared takes the place of what it had; its text after that goes
    into the common area, where progress bars are, too.

    Args:
        send: a display or an update, with its content and metadata.
    """

    def __init__(self, send: Any) -> None:
        self._send = send
        self._id = f"dtrain-{secrets.token_hex(6)}"
        self._shown: list[tuple[tuple[int, ...], str]] | None = None
        self._places: dict[int, list[str]] = {}
        self._next: dict[int, int] = {}
        self._texts: dict[int, str] = {}
        self._clear: set[int] = set()

    def takes_text(self, rank: int) -> bool:
        """This rank has cleared its output once: its text can be overwritten from then on."""
        return rank in self._texts

    def add_text(self, rank: int, text: str) -> None:
        """Text of such a rank."""
        self._clear_now(rank)
        self._texts[rank] += text

    def clear(self, rank: int) -> None:
        """The rank clears its output, at its next output: an empty moment in between would only flicker."""
        self._clear.add(rank)
        self._texts.setdefault(rank, "")

    def place(self, rank: int, content: dict[str, Any]) -> str:
        """Give a display its id; returns the kind of message that shows it."""
        self._clear_now(rank)
        if content["transient"].get("display_id"):
            return "display_data"
        places, number = self._places.setdefault(rank, []), self._next.get(rank, 0)
        self._next[rank] = number + 1
        if number < len(places):
            content["transient"]["display_id"] = places[number]
            return "update_display_data"
        places.append(f"{self._id}-{rank}-{number}")
        content["transient"]["display_id"] = places[number]
        return "display_data"

    def differs(self, bars: dict[int, dict[int, str]]) -> bool:
        """The area would look different."""
        return self._rows(bars) != (self._shown or [])

    def draw(self, bars: dict[int, dict[int, str]]) -> None:
        """Show progress bars and texts as they are now."""
        rows = self._rows(bars)
        if rows == (self._shown or []):
            return
        kind = "display_data" if self._shown is None else "update_display_data"
        self._shown = rows
        text = "\n".join(f"[{rank_names.compact(ranks)}] {line}" for ranks, line in rows)
        metadata = {"dtrain": {"area": [{"ranks": list(ranks), "text": line} for ranks, line in rows]}}
        content = {"data": {"text/plain": text}, "metadata": metadata, "transient": {"display_id": self._id}}
        self._send(kind, content, {})

    def finish(self) -> None:
        """The cell has ended: what was cleared and not shown again goes, and so do the bars."""
        for rank in list(self._clear):
            self._clear_now(rank)
        for rank in self._places:
            self._blank_rest(rank)
        self.draw({})

    def _rows(self, bars: dict[int, dict[int, str]]) -> list[tuple[tuple[int, ...], str]]:
        rows = [
            ((rank,), line)
            for rank, text in sorted(self._texts.items())
            for line in text.rstrip("\n").split("\n")
            if text
        ]
        return rows + progress_rows(bars)

    def _clear_now(self, rank: int) -> None:
        if rank not in self._clear:
            return
        self._clear.discard(rank)
        self._blank_rest(rank)
        self._texts[rank] = ""
        self._next[rank] = 0

    def _blank_rest(self, rank: int) -> None:
        """Displays of the round before that nothing has taken the place of."""
        places = self._places.get(rank, [])
        for place in places[self._next.get(rank, 0) :]:
            content = {"data": {"text/plain": ""}, "metadata": {}, "transient": {"display_id": place}}
            self._send("update_display_data", content, {})
