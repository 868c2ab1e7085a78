"""Completion and inspection in `%%distributed` cells, for names that exist on ranks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from dtrain_lab.cells import cell_options
from dtrain_lab.errors import DtrainError
from dtrain_lab.kernel.session import MagicsSession
from dtrain_lab.wire import clients

MAGIC = "%%distributed"


class RankNames:
    """Completes and inspects names on a rank first, then in this kernel.

    Args:
        kernel: The notebook's kernel.
        session: State of the magics, which knows the cluster.
    """

    def __init__(self, kernel: Any, session: MagicsSession) -> None:
        self._session = session
        self._complete: Callable[..., Any] = kernel.do_complete
        self._inspect: Callable[..., Any] = kernel.do_inspect
        kernel.do_complete = self.complete
        kernel.do_inspect = self.inspect

    def complete(self, code: str, cursor_pos: int) -> Any:
        """Replace the kernel's `do_complete`, which is used if no rank has an answer.

        Args:
            code: The cell's whole text, with its magic.
            cursor_pos: Position of the cursor in it, in characters.

        Returns:
            Content of a `complete_reply`; an awaitable of it where the kernel's own method is asynchronous.
        """
        reply = self._ask(code, cursor_pos, inspect=False, detail=0)
        if reply is None or not reply[0].get("matches"):
            return self._complete(code, cursor_pos)
        content, shift = reply
        metadata = content.get("metadata", {})
        for match in metadata.get("_jupyter_types_experimental", ()):
            match["start"] += shift
            match["end"] += shift
        return {
            **content,
            "cursor_start": content["cursor_start"] + shift,
            "cursor_end": content["cursor_end"] + shift,
        }

    def inspect(self, code: str, cursor_pos: int, detail_level: int = 0, omit_sections: Any = ()) -> Any:
        """Replace the kernel's `do_inspect`, which is used if no rank has an answer.

        Args:
            code: The cell's whole text, with its magic.
            cursor_pos: Position of the cursor in it, in characters.
            detail_level: 0 for the documentation, 1 for the source code, too.
            omit_sections: Passed to the kernel's own method only.

        Returns:
            Content of an `inspect_reply`; an awaitable of it where the kernel's own method is asynchronous.
        """
        reply = self._ask(code, cursor_pos, inspect=True, detail=detail_level)
        if reply is None or not reply[0].get("found"):
            return self._inspect(code, cursor_pos, detail_level, omit_sections)
        return reply[0]

    def _ask(
        self, code: str, cursor: int, *, inspect: bool, detail: int
    ) -> tuple[dict[str, Any], int] | None:
        """Return a rank's answer, and the offset to add to its cursor positions."""
        line, end, body = code.partition("\n")
        shift = len(line) + len(end)
        target = self._session.current
        if not line.startswith(MAGIC) or cursor < shift or target is None:
            return None
        try:
            options = cell_options.parse(cell_options.cell_parser(), line.removeprefix(MAGIC))
            ranks = self._session.call(target.rank_set(options.ranks or None))
            order = clients.Complete(body, cursor - shift, ranks, inspect, detail)
            data = self._session.call(target.ask(order))
        # an incomplete line, or a cluster that is ending: use the kernel's own names
        except (DtrainError, cell_options.HelpAsked):
            return None
        return (msgspec.json.decode(data), shift) if data else None
