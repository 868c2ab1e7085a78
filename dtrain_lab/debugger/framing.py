"""Framing of the debug adapter protocol: a header with the length in bytes, an empty line, JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import suppress

from dtrain_lab.debugger.state import Dap
from dtrain_lab.errors import BadRequest

END = b"\r\n\r\n"
MOST_HEADER = 8192
"""Maximum bytes without the end of a header: beyond that, the other side does not speak the protocol."""
MOST_BODY = 64 << 20
"""Maximum bytes of a message: a header that announces more is malformed, and its end would never come."""
HEADER = re.compile(rb"Content-Length\s*:\s*(\d+)\s*\r\n(?:[\w-]+:[^\r\n]*\r\n)*\r\n", re.IGNORECASE)


def encode(message: Dap) -> bytes:
    """Pack a message with its header."""
    data = json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n" % len(data) + data


class Decoder:
    """Unpacks messages from a stream of bytes that may be split anywhere.

    Args:
        skipped: Called with bytes that are not a message; decoding continues at the next header. Without it
        they raise an error.
    """

    def __init__(self, skipped: Callable[[bytes], None] | None = None) -> None:
        self._buffer = b""
        self._skipped = skipped
        self._speaks = False
        """Whether a message was found: before that, invalid headers are not from an editor."""

    @property
    def rest(self) -> bytes:
        """Bytes of a message that is not complete yet."""
        return self._buffer

    def feed(self, data: bytes) -> list[Dap]:
        """Add received bytes, and return the messages that are complete now.

        Raises:
            BadRequest: the bytes are not a message of the protocol, and no next message can be found.
        """
        self._buffer += data
        messages: list[Dap] = []
        while True:
            head, mark, rest = self._buffer.partition(END)
            if not mark:
                if len(head) > MOST_HEADER:
                    raise _foreign(head)
                return messages
            length = _length(head)
            if length is None or length > MOST_BODY:
                self._to_next_header(len(head) + len(mark))
                continue
            if len(rest) < length:
                return messages
            message = _object(rest[:length])
            if message is None:
                length = self._end_of_bad_body(rest, length)
                message = _object(rest[:length])  # its length was too large, but it is complete
            self._speaks = True
            if message is None:
                self._skip(rest[:length], rest[length:])
                continue
            self._buffer = rest[length:]
            messages.append(message)

    def _to_next_header(self, end: int) -> None:
        """Skip bytes before the next header, left by a length that was too small or by a missing header."""
        next_ = HEADER.search(self._buffer[:end])
        if next_ is not None and next_.start() > 0 and int(next_[1]) <= MOST_BODY:
            end = next_.start()
        elif not self._speaks:
            raise _foreign(self._buffer[: end - len(END)])
        self._skip(self._buffer[:end], self._buffer[end:])

    @staticmethod
    def _end_of_bad_body(rest: bytes, length: int) -> int:
        """Find the end of a bad body: after a complete object, before the next header, or by its length."""
        text = rest[:length].decode("utf-8", "replace")
        with suppress(ValueError, RecursionError):
            _, end = json.JSONDecoder().raw_decode(text)
            return len(text[:end].encode())
        next_ = HEADER.search(rest[: length + MOST_HEADER])
        return next_.start() if next_ is not None and next_.start() < length else length

    def _skip(self, data: bytes, rest: bytes) -> None:
        if self._skipped is None:
            raise _foreign(data)
        self._buffer = rest
        self._skipped(data)


def _object(data: bytes) -> Dap | None:
    try:
        message = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None


def _length(head: bytes) -> int | None:
    """Return the length in a header; None if it is not a header."""
    length = None
    for line in head.split(b"\r\n"):
        name, colon, value = line.partition(b":")
        if not colon or not re.fullmatch(rb"\s*[\w-]+\s*", name):
            return None
        if name.strip().lower() == b"content-length":
            length = int(value) if value.strip().isdigit() else None
    return length


def _foreign(data: bytes) -> BadRequest:
    return BadRequest(
        f"This is not a message of the debug adapter protocol: {data[:40]!r}.",
        "--stdio is for editors; in a terminal, leave it out.",
    )
