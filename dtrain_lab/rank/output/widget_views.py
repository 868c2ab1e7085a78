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
        self._captured: dict[str, set[str]] = {}
        """Output widget → cells with output in it that no front end has stored in the widget's state yet."""

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

    def notices(self, kind: str, content: dict[str, Any], cell: str, rank: int) -> list[CellOutput]:
        """Return what the journal is told about a widget, to be sent after the message.

        These are updates of displays: one for a displayed widget that is closed, and one for each cell with
        captured output that a front end has stored in the widget's state (`taken`), where a reloaded page
        finds it.

        Args:
            kind: Type of a message.
            content: Its content.
            cell: The cell to which it belongs.
            rank: Number of this rank.
        """
        widget = content.get("comm_id", "")
        if kind == "comm_close":
            self._captured.pop(widget, None)
            displayed = widget in self._displayed
            self._displayed.discard(widget)
            return [_notice(cell, rank, closed=widget)] if displayed else []
        if kind != "comm_msg" or content["data"].get("method") != "echo_update":
            return []
        taken = "outputs" in content["data"].get("state", {})
        cells = self._captured.pop(widget, set()) if taken else set()
        return [_notice(each, rank, taken=widget) for each in sorted(cells)]

    def marked(self, kind: str, content: dict[str, Any], cell: str) -> dict[str, Any]:
        """Return the content of a display, or of its removal, with the Output widget that captures it.

        Args:
            kind: Type of the message.
            content: Its content.
            cell: The cell to which it belongs.
        """
        if kind not in DISPLAYS and kind != "clear_output":
            return content
        inside = self.capturing(cell)
        if inside is None:
            return content
        return {**content, "transient": {**(content.get("transient") or {}), "inside": inside}}

    def capturing(self, cell: str) -> str | None:
        """Return the Output widget that captures a rank's output now, if any.

        Args:
            cell: The cell to which the output belongs.
        """
        capturing = tuple(self._capturing)  # the main thread changes it
        if not capturing:
            return None
        self._captured.setdefault(capturing[-1], set()).add(cell)
        return capturing[-1]

    def text(self, cell: str) -> bytes:
        """Return the data of printed text: the Output widget that captures it, or nothing.

        Args:
            cell: The cell to which the text belongs.
        """
        inside = self.capturing(cell)
        return encode_json({"transient": {"inside": inside}}) if inside is not None else b""


def _notice(cell: str, rank: int, **transient: str) -> CellOutput:
    notice = {"data": {"text/plain": ""}, "metadata": {}, "transient": transient}
    return CellOutput(cell=cell, rank=rank, kind="update_display_data", data=encode_json(notice))
