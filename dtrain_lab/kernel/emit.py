"""Re-emits what ranks print and display, as output of the cell that runs them.

Called in the portal's thread, while the kernel's main thread waits. Lines are labelled by rank; whatever
is there at once leaves as one message, so a burst of lines is not a burst of messages.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import msgspec

from dtrain_lab.core.cells import LineLabels
from dtrain_lab.core.wire.links import CellOutput

HOLD_S = 0.03
"""An unfinished line waits this long for its end, so that ranks don't cut each other's lines."""


class Emitter:
    """Shows the output of one cell.

    Args:
        shell: of this kernel.
    """

    def __init__(self, shell: Any) -> None:
        kernel: Any = getattr(shell, "kernel", None)
        self._kernel = kernel
        self._parent = kernel.get_parent("shell") if kernel is not None else None
        self._labels = LineLabels()
        self._texts: list[tuple[str, str]] = []
        self._scheduled = False
        self._timer: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def put(self, output: CellOutput) -> None:
        """Show one piece."""
        self._loop = self._loop or asyncio.get_running_loop()
        if output.kind in ("stdout", "stderr"):
            text = self._labels.feed(output.rank, output.kind, output.text)
            if text:
                self._texts.append((output.kind, text))
            if self._labels.waiting and self._timer is None:
                self._timer = self._loop.call_later(HOLD_S, self._hold_over)
            if not self._scheduled:
                self._scheduled = True
                self._loop.call_soon(self._flush)
            return
        self._finish_lines()
        self._display(output)

    def finish(self) -> None:
        """The cell has ended: nothing is held back any more."""
        self._finish_lines()

    def _hold_over(self) -> None:
        self._timer = None
        self._finish_lines()

    def _finish_lines(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._texts += self._labels.flush()
        self._flush()

    def _flush(self) -> None:
        self._scheduled = False
        texts, self._texts = self._texts, []
        joined: list[tuple[str, list[str]]] = []
        for name, text in texts:
            if joined and joined[-1][0] == name:
                joined[-1][1].append(text)
            elif text:
                joined.append((name, [text]))
        for name, parts in joined:
            self._stream(name, "".join(parts))

    def _stream(self, name: str, text: str) -> None:
        if self._kernel is None:
            (sys.stderr if name == "stderr" else sys.stdout).write(text)
        else:
            self._send("stream", {"name": name, "text": text}, {})

    def _display(self, output: CellOutput) -> None:
        content = msgspec.json.decode(output.data)
        if self._kernel is None:
            data = content.get("data", {})
            print(f"[{output.rank}] {data.get('text/plain', '')}")
            return
        kind: str = output.kind
        if kind == "execute_result":
            # this cell's own number stays its own: a rank's value is shown beside those of the others
            kind = "display_data"
            content.pop("execution_count", None)
            data = content["data"]
            if set(data) == {"text/plain"}:
                self._stream("stdout", f"[{output.rank}] {data['text/plain']}\n")
                return
        content.setdefault("transient", {})
        metadata = (
            {**content.get("metadata", {}), "dtrain": {"rank": output.rank}} if "data" in content else {}
        )
        if "data" in content:
            content["metadata"] = metadata
        self._send(kind, content, {"rank": output.rank})

    def _send(self, kind: str, content: dict[str, Any], metadata: dict[str, Any]) -> None:
        kernel: Any = self._kernel
        kernel.session.send(
            kernel.iopub_socket,
            kind,
            content,
            parent=self._parent,
            ident=kernel._topic(kind) if kind != "stream" else f"stream.{content['name']}".encode(),
            metadata=metadata,
        )
