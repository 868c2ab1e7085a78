"""Framing of the debug adapter protocol: a header with the length in bytes, an empty line, JSON."""

from __future__ import annotations

import json

from dtrain_lab.debugger.state import Dap
from dtrain_lab.errors import BadRequest

END = b"\r\n\r\n"
MOST_HEADER = 8192
"""Bytes without an end of a header, after which the other side does not speak the protocol."""


def encode(message: Dap) -> bytes:
    """Pack a message with its header."""
    data = json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n" % len(data) + data


class Decoder:
    """Unpacks messages from a stream of bytes, however these are cut."""

    def __init__(self) -> None:
        self._buffer = b""

    def feed(self, data: bytes) -> list[Dap]:
        """Add received bytes, and return the messages that are complete now.

        Raises:
            BadRequest: the bytes are no message of the protocol.
        """
        self._buffer += data
        found: list[Dap] = []
        while True:
            head, mark, rest = self._buffer.partition(END)
            if not mark:
                if len(head) > MOST_HEADER:
                    raise _foreign(head)
                return found
            length = _length(head)
            if len(rest) < length:
                return found
            self._buffer = rest[length:]
            try:
                message = json.loads(rest[:length])
            except ValueError as error:
                raise _foreign(rest[:length]) from error
            if not isinstance(message, dict):
                raise _foreign(rest[:length])
            found.append(message)


def _length(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length" and value.strip().isdigit():
            return int(value)
    raise _foreign(head)


def _foreign(data: bytes) -> BadRequest:
    return BadRequest(
        f"This is no message of the debug adapter protocol: {data[:40]!r}.",
        "An editor speaks to this command; in a terminal, leave --stdio out.",
    )
