"""Displays that are drawn again and again: progress bars of several ranks."""

from __future__ import annotations

import secrets
from functools import cached_property
from typing import Any

from dtrain_lab.cells.merge import progress_rows
from dtrain_lab.text import rank_names

AREA_S = 0.1
"""Minimum interval between two updates of the area of progress bars."""


class LiveDisplays:
    """Overwritable output in a cell of several ranks.

    `clear_output` on one rank must not clear the other ranks' output. So each display of a rank gets an id,
    and displays after the rank's `clear_output` update the earlier ones in order. The rank's text after its
    first `clear_output` is shown in the common area with the progress bars.

    Args:
        send: Sends a display or an update: kind, content, metadata.
    """

    def __init__(self, send: Any) -> None:
        self._send = send
        self._shown: list[tuple[tuple[int, ...], str]] | None = None
        self._places: dict[int, list[str]] = {}
        self._next: dict[int, int] = {}
        self._texts: dict[int, str] = {}
        self._clear: set[int] = set()

    @cached_property
    def _id(self) -> str:
        """Display id of the area; made on first use, as most cells draw none."""
        return f"dtrain-{secrets.token_hex(6)}"

    def takes_text(self, rank: int) -> bool:
        """Return whether a rank's text goes to the area: after its first `clear_output`."""
        return rank in self._texts

    def add_text(self, rank: int, text: str) -> None:
        """Add text of a rank to the area."""
        self._clear_now(rank)
        self._texts[rank] += text

    def clear(self, rank: int) -> None:
        """Clear a rank's output at its next output; clearing at once would flicker."""
        self._clear.add(rank)
        self._texts.setdefault(rank, "")

    def place(self, rank: int, content: dict[str, Any]) -> str:
        """Assign a display id to a display.

        Args:
            rank: The rank that displays it.
            content: Content of the message, whose `transient` gets the id; one that has an id keeps it.

        Returns:
            Type of the message to send: "display_data", or "update_display_data" in a place that exists.
        """
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
        """Return whether the area has to be drawn again."""
        return self._rows(bars) != (self._shown or [])

    def draw(self, bars: dict[int, dict[int, str]]) -> None:
        """Draw the area with current progress bars and texts."""
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
        """Remove cleared output and progress bars at the end of the cell."""
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
        """Blank displays from before the last `clear_output` that were not replaced."""
        places = self._places.get(rank, [])
        for place in places[self._next.get(rank, 0) :]:
            content = {"data": {"text/plain": ""}, "metadata": {}, "transient": {"display_id": place}}
            self._send("update_display_data", content, {})
