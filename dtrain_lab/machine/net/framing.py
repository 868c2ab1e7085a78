"""Messages of a stream, each with its length in front of it."""

from __future__ import annotations

import struct
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator


HEADER = struct.Struct("!I")
"""Length in bytes, in front of each message."""


def framed(message: bytes) -> bytes:
    """Put a message's length in front of it."""
    return HEADER.pack(len(message)) + message


async def messages(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """Read messages until the other end is gone."""
    with suppress(EOFError, ConnectionError):
        while True:
            (length,) = HEADER.unpack(await reader.readexactly(HEADER.size))
            yield await reader.readexactly(length)
