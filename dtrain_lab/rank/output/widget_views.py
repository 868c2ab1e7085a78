"""Which widgets of a rank are displayed, and which Output widget captures what it shows."""

from __future__ import annotations

from typing import Any

from dtrain_lab.wire.codec.encode import encode_json
from dtrain_lab.wire.links import WIDGET_VIEW, CellOutput

DISPLAYS = frozenset({"display_data", "update_display_data", "execute_result"})


class WidgetViews:
    """Follows a rank's messages. A page that restores a cell from the head's journal gets none of widgets."""

    def __init__(self) -> None:
        self._displayed: set[str] = set()
        self._capturing: list[str] = []

    def note(self, kind: str, content: dict[str, Any]) -> None:
        """Note what a message displays, or that an Output widget begins or ends to capture.

        Args:
            kind: Type of the message.
            content: Its content.
        """
        if kind in DISPLAYS:
            view = content["data"].get(WIDGET_VIEW)
            if view:
                self._displayed.add(view["model_id"])
        elif kind == "comm_msg":
            state = content["data"].get("state", {}) if content["data"].get("method") == "update" else {}
            widget = content["comm_id"]
            if "msg_id" in state and "outputs" not in state:
                self._capturing = [other for other in self._capturing if other != widget]
                if state["msg_id"]:
                    self._capturing.append(widget)

    def closing(self, kind: str, content: dict[str, Any], cell: str, rank: int) -> CellOutput | None:
        """Return the notice that a displayed widget is closed: an update that clears its display.

        Args:
            kind: Type of a message.
            content: Its content.
            cell: The cell to which it belongs.
            rank: Number of this rank.

        Returns:
            The notice, to be sent after the message; None for other messages.
        """
        if kind != "comm_close" or content["comm_id"] not in self._displayed:
            return None
        widget = content["comm_id"]
        self._displayed.discard(widget)
        notice = {"data": {"text/plain": ""}, "metadata": {}, "transient": {"closed": widget}}
        return CellOutput(cell=cell, rank=rank, kind="update_display_data", data=encode_json(notice))

    def marked(self, kind: str, content: dict[str, Any]) -> dict[str, Any]:
        """Return the content of a display, or of its removal, with the Output widget that captures it.

        Args:
            kind: Type of the message.
            content: Its content.
        """
        if not self._capturing or (kind not in DISPLAYS and kind != "clear_output"):
            return content
        transient = content.get("transient") or {}
        return {**content, "transient": {**transient, "inside": self._capturing[-1]}}
