"""Pending requests of a connection, by number: their answers, and their fate when a connection was lost."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from dtrain_lab.errors import DtrainError, from_dict
from dtrain_lab.wire import clients
from dtrain_lab.wire.codec import decode


class Pending(NamedTuple):
    """A request, and the future of its answer."""

    request: clients.Request
    answer: asyncio.Future[Any]


class PendingRequests:
    """Requests that were sent to a head, and wait for its answer."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._pending: dict[int, Pending] = {}

    def add(self, body: clients.AnyBody, answer: asyncio.Future[Any]) -> clients.Request:
        """Register a request.

        Args:
            body: What is requested.
            answer: Resolves to the result.

        Returns:
            The request, with a new number.
        """
        request = clients.Request(next(self._numbers), body)
        self._pending[request.id] = Pending(request, answer)
        return request

    async def ask(
        self, body: clients.AnyBody, send: Callable[[clients.Request], None], within_s: float | None
    ) -> Any:
        """Send a request, and return its answer.

        Args:
            body: What is requested.
            send: Sends the request.
            within_s: Timeout in seconds; None for no limit.

        Raises:
            DtrainError: The head refused the request, or has ended.
            TimeoutError: It did not answer in time.
        """
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        request = self.add(body, answer)
        try:
            send(request)
            async with asyncio.timeout(within_s):
                return await answer
        finally:
            self.drop(request.id)

    def drop(self, number: int) -> bool:
        """Stop waiting for an answer; returns whether the request was pending."""
        return self._pending.pop(number, None) is not None

    def get(self, number: int | None) -> asyncio.Future[Any] | None:
        """Return the future of a request's answer; None if it is not pending."""
        pending = self._pending.get(number) if number is not None else None
        return pending.answer if pending is not None else None

    def body(self, number: int) -> clients.AnyBody | None:
        """Return what a request asks for; None if it is not pending."""
        pending = self._pending.get(number)
        return pending.request.body if pending is not None else None

    def answered(self, answer: clients.Answer) -> None:
        """Resolve the future of the request that this answers, if it is still pending."""
        pending = self._pending.get(answer.id)
        if pending is None or pending.answer.done():
            return
        future, kind = pending.answer, pending.request.body.result
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

    def resend_or_fail(
        self, send: Callable[[clients.Request], None], error: Callable[[], DtrainError]
    ) -> None:
        """Decide on all pending requests after a lost connection is back; their answers may have been lost.

        Those that change nothing when the head gets them twice are sent again, the others fail. Cells stay
        pending: the caller follows them.

        Args:
            send: Sends a request to the head.
            error: Makes the error of a request that fails.
        """
        for request, answer in [*self._pending.values()]:
            if answer.done() or isinstance(request.body, clients.Run | clients.Follow):
                continue
            if request.body.repeatable:
                send(request)
            else:
                _fail(answer, error())

    def fail(self, error: Callable[[], DtrainError]) -> None:
        """Fail all pending requests with the error that `error` makes."""
        for _, answer in [*self._pending.values()]:
            if not answer.done():
                _fail(answer, error())


def _fail(answer: asyncio.Future[Any], error: DtrainError) -> None:
    answer.set_exception(error)
    answer.exception()  # mark as retrieved: the caller may be gone already
