"""Pending requests of a connection: the futures of their answers, by number."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Collection
from typing import Any

import msgspec

from dtrain_lab.errors import DtrainError, from_dict
from dtrain_lab.wire import clients
from dtrain_lab.wire.codec import decode


class PendingRequests:
    """Requests that were sent to a head, and wait for its answer."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._pending: dict[int, tuple[Any, asyncio.Future[Any]]] = {}

    def number(self) -> int:
        """Return a number for a new request."""
        return next(self._numbers)

    def add(self, number: int, kind: Any, answer: asyncio.Future[Any]) -> None:
        """Register a request.

        Args:
            number: Number of the request.
            kind: Type of the answer's result; None if it has none.
            answer: Resolves to the result.
        """
        self._pending[number] = kind, answer

    def drop(self, number: int) -> bool:
        """Stop waiting for an answer; returns whether the request was pending."""
        return self._pending.pop(number, None) is not None

    def get(self, number: int | None) -> asyncio.Future[Any] | None:
        """Return the future of a request's answer; None if it is not pending."""
        return self._pending[number][1] if number is not None and number in self._pending else None

    def answered(self, answer: clients.Answer) -> None:
        """Resolve the future of the request that this answers, if it is still pending."""
        kind, future = self._pending.get(answer.id, (None, None))
        if future is None or future.done():
            return
        if answer.error is not None:
            future.set_exception(from_dict(answer.error))
        elif kind is None:
            future.set_result(None)
        else:
            try:
                result = msgspec.msgpack.decode(answer.result, type=kind)
            except decode.BROKEN as error:
                future.set_exception(decode.mismatch(answer.result, "The cluster's head", error))
            else:
                future.set_result(result)

    def refuse(self, number: int | None, error: DtrainError) -> bool:
        """Fail one request.

        Args:
            number: The request's number; None, which no request has, does nothing.
            error: Its error.

        Returns:
            Whether the request was pending.
        """
        future = self.get(number)
        if future is None or future.done():
            return False
        future.set_exception(error)
        return True

    def fail(
        self, error: Callable[[], DtrainError], apart_from: Collection[asyncio.Future[Any]] = ()
    ) -> None:
        """Fail all pending requests.

        Args:
            error: Makes the error of a request.
            apart_from: Futures that stay pending.
        """
        for _, future in [*self._pending.values()]:
            if future not in apart_from and not future.done():
                future.set_exception(error())
                future.exception()  # mark as retrieved: the caller may be gone already
