"""Requests to a head without an answer yet: repeated or failed when a lost connection is back."""

from __future__ import annotations

from dtrain_lab.errors import Unreachable
from dtrain_lab.services.connection.presence import Client
from dtrain_lab.wire import clients

REPEATABLE = (
    clients.Info,
    clients.Clock,
    clients.Watch,
    clients.AcquireLease,
    clients.ListCells,
    clients.Diagnose,
    clients.TryAdvice,
)
"""Requests that change nothing when they are sent twice."""


class Unanswered:
    """Requests that were sent to a head and have no answer yet.

    Args:
        connection: The connection that sends them.
    """

    def __init__(self, connection: Client) -> None:
        self._connection = connection
        self._sent: dict[int, clients.Request] = {}

    def add(self, request: clients.Request) -> None:
        """Remember a request that was sent."""
        self._sent = {n: c for n, c in self._sent.items() if self._connection.waits_for(n) is not None}
        self._sent[request.id] = request

    def body(self, number: int) -> clients.AnyBody | None:
        """Return the request with a number; None if it is not remembered."""
        request = self._sent.get(number)
        return request.body if request is not None else None

    def ask_again(self) -> None:
        """Repeat requests whose answer was lost if that changes nothing; fail the others."""
        asked, self._sent = self._sent, {}
        for request in asked.values():
            future = self._connection.waits_for(request.id)
            if future is None or future.done():
                continue
            if isinstance(request.body, REPEATABLE):
                self._connection.send(request)
            elif not isinstance(request.body, clients.Run | clients.Follow):
                text = f"The connection to {self._connection.record.name} broke before it answered."
                future.set_exception(
                    Unreachable(text, "The request may have gone through: check the state of the cluster.")
                )
