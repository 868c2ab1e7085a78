"""Request dispatch: decodes clients' requests, calls their handlers, sends answers and errors."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

import msgspec

from dtrain_lab.errors import Conflict, DtrainError, Unreachable, WireMismatch
from dtrain_lab.machine import supervision
from dtrain_lab.wire import VERSION, clients
from dtrain_lab.wire.codec import chunks, decode

log = logging.getLogger("dtrain_lab.head")
Handlers = Mapping[type, Callable[[bytes, Any], Awaitable[Any]]]
"""Request type → handler; called with the client and the request."""
Ordered = Mapping[type, Callable[[bytes, Any], None]]
"""Types handled in the order of arrival, without a task; the end of the cell is their answer."""
pack = msgspec.msgpack.Encoder().encode


class Requests:
    """Answers requests, each in its own task.

    Args:
        handlers: Request type → handler.
        ordered: Request type → handler that runs at once, in the order of arrival.
        send: Sends a frame to a client.
    """

    def __init__(self, handlers: Handlers, ordered: Ordered, send: Callable[[bytes, bytes], None]) -> None:
        self._handlers = handlers
        self._ordered = ordered
        self._send = send

    def received(self, client: bytes, frame: bytes) -> None:
        """Decode a client's frame, and answer its request.

        Args:
            client: Socket identity of the client.
            frame: The encoded request.
        """
        try:
            request = clients.decode_to_head(frame)
        except WireMismatch as error:
            number = decode.asked(frame)[0]
            if number is None:
                raise  # without a request number, no client waits for an answer
            log.warning("a question was not understood: %s (%s)", error.message, error.details.get("why"))
            self._answer(client, number, error)
            return
        order = request.body
        take = self._ordered.get(type(order))
        if take is not None:
            refused = self._guarded(request, partial(take, client, order))
            # the cell's end is the answer, if a client follows the cell
            if refused is not None or (isinstance(order, clients.Run) and order.detached):
                self._answer(client, request.id, refused)
            return
        failed = partial(self._answer_failed, client, request)
        supervision.here().once("head.answer", self._serve(client, request), failed)

    async def _serve(self, client: bytes, request: clients.Request) -> None:
        try:
            check_version(request.version)
            handler = self._handlers.get(type(request.body))
            if handler is None:
                raise Conflict(
                    "A job's head only observes: it serves metrics, stacks and debuggers.",
                    "Ask for the job itself.",
                )
            result = await handler(client, request.body)
        except DtrainError as error:
            self._answer(client, request.id, error)
        else:
            self._answer(client, request.id, result)

    def _answer_failed(self, client: bytes, request: clients.Request, error: Exception) -> None:
        """Answer with an internal error, so that the client does not wait forever."""
        self._answer(client, request.id, _internal(error))

    def _guarded(self, request: clients.Request, take: Callable[[], None]) -> DtrainError | None:
        try:
            check_version(request.version)
            take()
        except DtrainError as error:
            return error
        except Exception as error:  # noqa: BLE001 # a bug of ours is answered: the client would wait forever
            supervision.here().fault("head.answer", error)
            return _internal(error)
        return None

    def _answer(self, client: bytes, number: int, result: Any) -> None:
        if isinstance(result, DtrainError):
            answer = clients.Answer(number, error={**result.as_dict(), "kind": type(result).default_code})
        else:
            answer = clients.Answer(number, result=pack(result))
        frame = clients.encode(answer)
        try:
            chunks.check(frame)
        except WireMismatch as error:  # an answer may have the output of a whole session
            self._answer(client, number, error)
            return
        self._send(client, frame)


def _internal(error: Exception) -> Unreachable:
    """The error that a client gets for a bug of ours."""
    return Unreachable(
        f"The head could not answer: {supervision.say(error)}.",
        "Please report it, with the file that this writes: dtrain-lab doctor --bundle report.tar.gz",
        code="internal",
    )


def check_version(version: int) -> None:
    """Check a client's wire version; it may differ from the head's by one.

    Raises:
        WireMismatch: The versions differ by more than one.
    """
    if abs(version - VERSION) > 1:
        raise WireMismatch(
            f"This process uses protocol version {version}, but the cluster uses {VERSION}.",
            "Install the same version of dtrain-lab in both environments.",
        )
