"""Output widgets on ranks: `with out:` on one rank must capture only that rank's output.

A front end captures all output with a given parent message from the moment that the widget sets the message's
id until it clears it. A cell on several ranks has a single parent message, so the id is set and cleared
around each piece of the widget's own rank.
"""

from __future__ import annotations

from typing import Any

import msgspec

from dtrain_lab.wire.links import CellOutput

SHOWN = ("stdout", "stderr", "display_data", "update_display_data", "execute_result", "clear_output", "error")
Sent = tuple[str, dict[str, Any]]


class OutputWidgets:
    """Tracks which Output widgets capture the output of which rank.

    Args:
        parent: Parent message of the output.
        alone: Whether a single rank runs the cell.
    """

    def __init__(self, parent: dict[str, Any] | None, *, alone: bool) -> None:
        self._parent = parent["header"]["msg_id"] if parent and parent.get("header") else ""
        self.alone = alone
        self._widgets: dict[int, list[str]] = {}

    def see(self, rank: int, content: dict[str, Any]) -> bool:
        """Handle a widget's message, and replace its message id by the notebook's, which ranks don't know.

        Args:
            rank: The widget's rank.
            content: Content of its `comm_msg`, changed in place.

        Returns:
            Whether the message starts or ends the capture of a rank's output.
        """
        data = content.get("data", {})
        state = data.get("state", {}) if data.get("method") == "update" else {}
        if "msg_id" not in state or "outputs" in state:
            return False
        comm, widgets = content["comm_id"], self._widgets.setdefault(rank, [])
        if state["msg_id"]:
            widgets.append(comm)
            state["msg_id"] = self._parent
        elif comm in widgets:
            widgets.remove(comm)
        return True

    def holds(self, output: CellOutput) -> bool:
        """Return whether a piece of output is captured by a widget."""
        return bool(self._widgets.get(output.rank)) and output.kind in SHOWN

    def around(self, output: CellOutput) -> list[Sent]:
        """Return a captured piece of output with the messages that make a front end capture it."""
        piece = _piece(output)
        if self.alone:
            return [piece]
        comm = self._widgets[output.rank][-1]
        return [_names(comm, self._parent), piece, _names(comm, "")]


def _names(comm: str, message: str) -> Sent:
    data = {"method": "update", "state": {"msg_id": message}, "buffer_paths": []}
    return "comm_msg", {"comm_id": comm, "data": data}


def _piece(output: CellOutput) -> Sent:
    if output.kind in ("stdout", "stderr"):
        return "stream", {"name": output.kind, "text": output.text}
    content: dict[str, Any] = msgspec.json.decode(output.data)
    if output.kind == "execute_result":
        content.pop("execution_count", None)
        return "display_data", {**content, "transient": content.get("transient", {})}
    if output.kind == "error":
        content.pop("transient", None)  # it is the journal's: a front end would store it in the widget
    return output.kind, content
