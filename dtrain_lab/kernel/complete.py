"""Completion and inspection in a `%%distributed` cell: names that live on ranks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from dtrain_lab.core.wire import doors
from dtrain_lab.errors import DtrainError
from dtrain_lab.kernel import options
from dtrain_lab.kernel.session import Session

MAGIC = "%%distributed"


class RankNames:
    """Asks a rank before this kernel's own names.

    Args:
        kernel: of this notebook.
        session: knows the cluster.
    """

    def __init__(self, kernel: Any, session: Session) -> None:
        self._session = session
        self._complete: Callable[..., Any] = kernel.do_complete
        self._inspect: Callable[..., Any] = kernel.do_inspect
        kernel.do_complete = self.complete
        kernel.do_inspect = self.inspect

    def complete(self, code: str, cursor_pos: int) -> Any:
        """In place of the kernel's own, which answers what no rank knows."""
        found = self._ask(code, cursor_pos, inspect=False, detail=0)
        if found is None or not found[0].get("matches"):
            return self._complete(code, cursor_pos)
        content, shift = found
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
        """In place of the kernel's own."""
        found = self._ask(code, cursor_pos, inspect=True, detail=detail_level)
        if found is None or not found[0].get("found"):
            return self._inspect(code, cursor_pos, detail_level, omit_sections)
        return found[0]

    def _ask(
        self, code: str, cursor: int, *, inspect: bool, detail: int
    ) -> tuple[dict[str, Any], int] | None:
        """A rank's answer, and by how much its places are to be moved."""
        line, end, body = code.partition("\n")
        shift = len(line) + len(end)
        target = self._session.current
        if not line.startswith(MAGIC) or cursor < shift or target is None:
            return None
        try:
            asked = options.parse(options.cell_parser(), line.removeprefix(MAGIC))
            ranks = self._session.call(target.rank_set(asked.ranks or None))
            order = doors.Complete(body, cursor - shift, ranks, inspect, detail)
            data = self._session.call(target.ask(order))
        except DtrainError:  # a half-typed line, or a cluster that is ending: the kernel's own names then
            return None
        return (msgspec.json.decode(data), shift) if data else None
