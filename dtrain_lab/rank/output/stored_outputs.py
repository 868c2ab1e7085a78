"""Stores in Output widgets what they have captured, where no page does.

JupyterLab captures the output of a cell only in the page that has run it. A page that was loaded while the
cell runs shows what is in a widget's state, so the rank puts it there, with the message that a page would
send.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from dtrain_lab.rank.output.captured import Output
from dtrain_lab.rank.output.widget_views import WidgetViews
from dtrain_lab.wire.codec.encode import encode_json
from dtrain_lab.wire.links import Comm

PAGE_S = 2.0
"""A page that captures a cell's output stores it within this time, seconds."""
STORE_S = 0.25
"""The rank stores at most once per this interval, seconds."""
RATE = 100_000
"""Characters per second that it stores at most: each time all that a widget shows is sent to pages."""


class StoredOutputs:
    """Stores captured output while no page does.

    Args:
        loop: Loop of the IOPub thread.
        views: What the widgets have captured.
        comms: This kernel's comms by id.
        send: Sends a widget a message as a front end's; called on the IOPub thread.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        views: WidgetViews,
        comms: dict[str, Any],
        send: Callable[[Comm, Callable[[], None]], None],
    ) -> None:
        self._loop = loop
        self._views = views
        self._comms = comms
        self._send = send
        self._due: set[str] = set()
        """Widgets that are looked at soon."""
        self._pause = STORE_S
        views.behind = self._behind

    def asked(self, widget: str) -> None:
        """Store all that a widget has captured, as a page that was loaded asks for its state.

        Args:
            widget: The widget; also one that captures nothing.
        """
        self._views.store()
        self._store(widget)

    def end_cell(self) -> None:
        """Store what is not stored yet, as the running cell ends; on the main thread."""
        if self._views.stores:
            for widget in self._views.all_behind():
                self._store(widget)

    def _store(self, widget: str) -> None:
        outputs, comm = self._views.unstored(widget), self._comms.get(widget)
        if outputs is not None and comm is not None:
            comm.handle_msg({"header": {}, "content": _content(widget, outputs), "buffers": []})

    def _behind(self, widget: str) -> None:
        """Look at a widget soon; called by any thread, and by signal handlers."""
        if widget not in self._due:
            self._due.add(widget)
            self._loop.call_soon_threadsafe(self._later, widget)

    def _later(self, widget: str) -> None:
        self._loop.call_later(self._pause if self._views.stores else PAGE_S, self._look, widget)

    def _look(self, widget: str) -> None:
        self._due.discard(widget)
        outputs = self._views.unstored(widget)
        if outputs is None or widget not in self._comms:
            return
        if not self._views.stores and self._views.since_stored(widget) < PAGE_S:
            self._behind(widget)  # a page stores it
            return
        self._views.store()
        content = encode_json(_content(widget, outputs))
        self._pause = max(STORE_S, len(content) / RATE)
        self._send(Comm(self._views.cell_of(widget), "comm_msg", content), lambda: None)


def _content(widget: str, outputs: list[Output]) -> dict[str, Any]:
    return {
        "comm_id": widget,
        "data": {"method": "update", "state": {"outputs": outputs}, "buffer_paths": []},
    }
