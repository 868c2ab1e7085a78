"""Messages of a head to a client: which part of the connection each of them is for."""

from __future__ import annotations

import logging
from collections.abc import Callable

from dtrain_lab.errors import WireMismatch
from dtrain_lab.machine import supervision
from dtrain_lab.services.connection.cells import Cells
from dtrain_lab.services.connection.pending_requests import PendingRequests
from dtrain_lab.services.connection.presence import Presence
from dtrain_lab.services.connection.watchers import Watchers
from dtrain_lab.wire import clients
from dtrain_lab.wire.codec import decode
from dtrain_lab.wire.links import CellOutput

log = logging.getLogger("dtrain_lab.client")


class Inbox:
    """Takes the messages of one head. Lives in the loop of its connection.

    Args:
        presence: Gets every message, as a sign that the head lives.
        pending: Gets the answers to requests.
        cells: Gets output, and ends of cells.
        watchers: Get the states of the cluster.
        debugged: Called with the number of a rank and a message of its debugger.
    """

    def __init__(
        self,
        presence: Presence,
        pending: PendingRequests,
        cells: Cells,
        watchers: Watchers,
        debugged: Callable[[int, bytes], None],
    ) -> None:
        self._presence = presence
        self._pending = pending
        self._cells = cells
        self._watchers = watchers
        self._debugged = debugged

    def arrived(self, frames: list[bytes]) -> None:
        """Take encoded messages; an error in one is logged, so that later ones are still handled."""
        for frame in frames:
            try:
                self.take(self._presence.received(clients.decode_to_client(frame)))
            except WireMismatch as error:
                if not self._pending.refuse(decode.asked(frame)[0], error):
                    log.warning("dropped %s bytes: %s (%s)", len(frame), error, error.details.get("why"))
            except Exception as error:  # noqa: BLE001 # one message must not cost those that come after it
                supervision.here().fault("client.message", error)

    def take(self, message: clients.ToClient) -> None:
        """Take one message."""
        match message:
            case CellOutput():
                self._cells.show(message)
            case clients.OutputMissing():
                self._cells.missing(message)
            case clients.CellEnded(result):
                self._cells.ended(result)
            case clients.Changed(cluster):
                self._watchers.notify(cluster)
            case clients.DebugEvent(rank, data):
                self._debugged(rank, data)
            case clients.Answer():
                self._pending.answered(message)
