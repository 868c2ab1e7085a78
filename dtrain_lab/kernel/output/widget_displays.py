"""Displays of widgets: one that its rank has closed is cleared, in the saved notebook, too."""

from __future__ import annotations

import secrets
from typing import Any
from weakref import WeakKeyDictionary

import msgspec

from dtrain_lab.wire.links import WIDGET_VIEW, CellOutput

_known: WeakKeyDictionary[Any, WidgetDisplays] = WeakKeyDictionary()


class WidgetDisplays:
    """The displays of a kernel that show widgets of ranks.

    A front end hides a widget that is closed, but saves its display. A reloaded page would ask for a model
    that nobody knows any more.
    """

    def __init__(self) -> None:
        self._models: dict[str, str] = {}
        """Display id → the widget that is shown there."""

    def note(self, content: dict[str, Any]) -> None:
        """Note what a display shows.

        Args:
            content: Content of a display, or of an update. A widget's display gets an id if it has none.
        """
        view: dict[str, str] = content["data"].get(WIDGET_VIEW, {})
        transient = content["transient"]
        if view and not transient.get("display_id"):
            transient["display_id"] = f"dtrain-{secrets.token_hex(6)}"
        place = transient.get("display_id")
        if view:
            self._models[place] = view["model_id"]
        elif place is not None:
            self._models.pop(place, None)

    def cleared_by(self, content: dict[str, Any]) -> list[dict[str, Any]] | None:
        """Return the updates that clear the displays of a closed widget.

        Args:
            content: Content of an update.

        Returns:
            Contents of updates; None if it is not the notice that a rank has closed a widget.
        """
        closed = content.get("transient", {}).get("closed")
        if closed is None:
            return None
        places = [place for place, model in self._models.items() if model == closed]
        for place in places:
            del self._models[place]
        return [{**content, "transient": {"display_id": place}} for place in places]


def for_journal(output: CellOutput) -> bool:
    """Return whether a piece of output is only for the journal: that a page has stored captured output.

    Args:
        output: The piece.
    """
    if output.kind != "update_display_data" or b'"taken"' not in output.data:
        return False
    return "taken" in msgspec.json.decode(output.data).get("transient", {})


def of(kernel: Any) -> WidgetDisplays:
    """Return the displays of a kernel: a widget may be closed by another cell than the one that shows it."""
    displays = _known.get(kernel) if kernel is not None else WidgetDisplays()
    if displays is None:
        displays = _known[kernel] = WidgetDisplays()
    return displays
