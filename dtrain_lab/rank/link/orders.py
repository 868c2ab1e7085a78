"""The head's orders, carried out in the order in which they were sent, whichever thread reads them."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable

from dtrain_lab.errors import WireMismatch
from dtrain_lab.wire import links

events = logging.getLogger("dtrain_lab.rank")


class Orders:
    """Orders that arrive.

    The main thread only starts cells. It passes other orders to the IOPub thread, together with the cells
    behind them, until the IOPub thread has carried out all of them. Only one thread reads at a time.

    Args:
        obey: Carries out an order, on the IOPub thread.
        begin: Starts a cell on the main thread, after the work that `obey` has scheduled on its loop before.
        iopub: Loop of the IOPub thread.
    """

    def __init__(
        self,
        obey: Callable[[links.Message], None],
        begin: Callable[[links.Execute], None],
        iopub: asyncio.AbstractEventLoop,
    ) -> None:
        self._obey = obey
        self._begin = begin
        self._iopub = iopub
        self._handed: deque[links.Message] = deque()
        """Orders that the main thread has read and the IOPub thread has not carried out yet."""

    def read_by_iopub(self, frames: list[bytes]) -> None:
        """Carry out orders that the IOPub thread has read."""
        self._obey_handed()  # these were sent earlier
        for frame in frames:
            order = _decoded(frame)
            if order is not None:
                self._try(order)

    def read_by_main(self, frames: list[bytes]) -> None:
        """Take orders that the main thread has read."""
        for frame in frames:
            order = _decoded(frame)
            if isinstance(order, links.Execute) and not self._handed:
                self._begin(order)
            elif order is not None:
                self._handed.append(order)
                self._iopub.call_soon_threadsafe(self._obey_handed)

    def _obey_handed(self) -> None:
        while self._handed:
            self._try(self._handed[0])
            self._handed.popleft()  # removed last, so that orders that arrive meanwhile queue behind it

    def _try(self, order: links.Message) -> None:
        try:
            self._obey(order)
        except Exception:  # noqa: BLE001 # a failed order must not stop the ones after it
            events.exception("an order of the head failed")


def _decoded(frame: bytes) -> links.Message | None:
    """Decode an order; None if that fails."""
    try:
        order: links.Message = links.decode_to_rank(frame)
    except WireMismatch as error:
        events.warning("dropped %s bytes: %s", len(frame), error.message)
        return None
    return order
