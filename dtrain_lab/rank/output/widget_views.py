"""Which widgets of a rank are displayed, which Output widget captures what it shows, and what that is."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from dtrain_lab.rank.output.captured import Captured, Output
from dtrain_lab.wire.codec.encode import encode_json
from dtrain_lab.wire.links import WIDGET_VIEW, CellOutput

DISPLAYS = frozenset({"display_data", "update_display_data", "execute_result"})
MARKED = DISPLAYS | {"clear_output", "error"}
"""Messages in which the journal is told which widget captures them."""
HELD = frozenset({"display_data", "execute_result", "clear_output", "error"})
"""Messages, besides text, that an Output widget shows; it shows no update of a display."""


class _Output:
    """An Output widget that has captured something."""

    def __init__(self) -> None:
        self.captured = Captured()
        self.cells: set[str] = set()
        """Cells with output that the journal takes for missing in the widget's state."""
        self.cell = ""
        """The cell of its last output."""
        self.is_behind = False
        """Whether its state lacks some of what was captured."""
        self.heard = 0.0
        """When a front end has stored outputs in its state, monotonic seconds."""
        self.state: list[Output] = []
        """The outputs in its state."""


class WidgetViews:
    """Follows a rank's messages. A page that restores a cell from the head's journal gets none of widgets.

    A page stores what an Output widget captures in the widget's state. One that was loaded while a cell runs
    captures nothing of that cell: then the rank stores it (`stores`).
    """

    def __init__(self) -> None:
        self._displayed: set[str] = set()
        self._capturing: list[str] = []
        self._outputs: dict[str, _Output] = {}
        self._running: str | None = None
        self._storing: str | None = None
        self.any = False
        """Whether an Output widget has ever captured anything."""
        self.behind: Callable[[str], None] = lambda _: None
        """Called, by any thread, with an Output widget whose state lacks what was captured."""

    def begin_cell(self, cell: str) -> None:
        """Note that a cell begins.

        Args:
            cell: The head's id of it.
        """
        self._running, self._storing = cell, None

    def end_cell(self, rank: int) -> list[CellOutput]:
        """Note that the running cell has ended, after all of its output.

        Args:
            rank: Number of this rank.

        Returns:
            Notices for the journal: from here on, a page finds all that was captured in the widgets' states.
        """
        cell, self._running, self._storing = self._running or "", None, None
        notices = []
        for widget, output in list(self._outputs.items()):
            if cell in output.cells:
                output.cells.discard(cell)
                notices.append(_notice(cell, rank, taken=widget))
        return notices

    @property
    def stores(self) -> bool:
        """Whether the rank stores what the running cell's output in widgets is, as no page does."""
        return self._storing is not None

    def store(self) -> None:
        """Store from here on what the running cell shows in Output widgets."""
        self._storing = self._running

    def unstored(self, widget: str) -> list[Output] | None:
        """Return all outputs of a widget whose state lacks some; None for others.

        Args:
            widget: An Output widget.
        """
        output = self._outputs.get(widget)
        if output is None or not output.is_behind:
            return None
        output.is_behind = False
        if output.captured.covered_by(output.state):  # a front end doesn't repeat an equal state
            return None
        output.is_behind = True
        return output.captured.outputs()

    def all_behind(self) -> list[str]:
        """Return the widgets whose state lacks some outputs."""
        return [widget for widget, output in list(self._outputs.items()) if output.is_behind]

    def since_stored(self, widget: str) -> float:
        """Return for how long no front end has stored anything in a widget, seconds.

        Args:
            widget: An Output widget.
        """
        output = self._outputs.get(widget)
        return time.monotonic() - output.heard if output is not None else float("inf")

    def cell_of(self, widget: str) -> str:
        """Return the cell of the last output of a widget.

        Args:
            widget: An Output widget.
        """
        output = self._outputs.get(widget)
        return output.cell if output is not None else ""

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
                    self.any = True
            elif _is_set(state):
                self._output(widget).captured.add("outputs", {"outputs": state["outputs"]})

    def notices(self, kind: str, content: dict[str, Any], cell: str, rank: int) -> list[CellOutput]:
        """Return what the journal is told about a widget, to be sent after the message.

        These are updates of displays: one for a displayed widget that is closed, and one for each cell with
        captured output that is in the widget's state (`taken`), where a reloaded page finds it.

        Args:
            kind: Type of a message.
            content: Its content.
            cell: The cell to which it belongs.
            rank: Number of this rank.
        """
        widget = content.get("comm_id", "")
        if kind == "comm_close":
            self._outputs.pop(widget, None)
            displayed = widget in self._displayed
            self._displayed.discard(widget)
            return [_notice(cell, rank, closed=widget)] if displayed else []
        output = self._outputs.get(widget)
        if output is None or kind != "comm_msg":
            return []
        method, state = content["data"].get("method"), content["data"].get("state", {})
        told = method == "echo_update" and "outputs" in state
        if not told and not (method == "update" and _is_set(state)):
            return []
        output.is_behind, output.state = False, state["outputs"]
        if told:
            output.heard = time.monotonic()
        if told and not output.captured.covered_by(output.state):
            output.is_behind = True
            self.behind(widget)
            return []
        cells, output.cells = output.cells, set()
        return [_notice(each, rank, taken=widget) for each in sorted(cells)]

    def marked(self, kind: str, content: dict[str, Any], cell: str) -> dict[str, Any]:
        """Return the content of a display, its removal or an exception, with the widget that captures it.

        Args:
            kind: Type of the message.
            content: Its content.
            cell: The cell to which it belongs.
        """
        if kind not in MARKED:
            return content
        inside = self._capture(cell, kind, content)
        if not inside:
            return content
        return {**content, "transient": {**(content.get("transient") or {}), **inside}}

    def text(self, cell: str, name: str, text: str) -> bytes:
        """Return the data of printed text: the Output widget that captures it, or nothing.

        Args:
            cell: The cell to which the text belongs.
            name: Its stream.
            text: The text.
        """
        inside = self._capture(cell, "stream", {"name": name, "text": text})
        return encode_json({"transient": inside}) if inside else b""

    def _capture(self, cell: str, kind: str, content: dict[str, Any]) -> dict[str, Any]:
        """Keep output that a widget captures; returns which widget that is, for the journal."""
        capturing = tuple(self._capturing)  # the main thread changes it
        if not capturing:
            return {}
        widget = capturing[-1]
        output = self._output(widget)
        stores = self._storing == cell
        if kind == "stream" or kind in HELD:
            output.captured.add(kind, content)
            output.cell = cell
            if not stores:
                output.cells.add(cell)
            if kind != "clear_output" or not content.get("wait"):
                output.is_behind = True
                self.behind(widget)
        return {"inside": widget, **({"stored": True} if stores else {})}

    def _output(self, widget: str) -> _Output:
        return self._outputs.setdefault(widget, _Output())


def _is_set(state: dict[str, Any]) -> bool:
    """Whether the user's code has set a widget's outputs; the answer to a page has the whole state."""
    return "outputs" in state and "_model_name" not in state


def _notice(cell: str, rank: int, **transient: str) -> CellOutput:
    notice = {"data": {"text/plain": ""}, "metadata": {}, "transient": transient}
    return CellOutput(cell=cell, rank=rank, kind="update_display_data", data=encode_json(notice))
