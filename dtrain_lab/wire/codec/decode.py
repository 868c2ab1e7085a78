"""Decoding of messages from other processes, which may have another version or not be ours at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from dtrain_lab.errors import WireMismatch
from dtrain_lab.wire import VERSION

BROKEN = (msgspec.MsgspecError, ValueError, OverflowError, RecursionError, MemoryError)
HINT = "Install the same version of dtrain-lab in both environments, then restart the cluster."
SHOWN = 160


class Envelope(msgspec.Struct, frozen=True):
    """The fields of a request in every version: enough to answer one that can't be decoded."""

    id: int
    version: int | None = None


_envelope = msgspec.msgpack.Decoder(Envelope).decode


def decoder(kind: Any, who: str) -> Callable[[bytes], Any]:
    """Make a msgpack decoder whose only exception is `WireMismatch`.

    Args:
        kind: the type, or union of types, to decode.
        who: description of the sender, as the subject of the error message.
    """
    decode = msgspec.msgpack.Decoder(kind).decode

    def guarded(data: bytes) -> Any:
        try:
            return decode(data)
        except BROKEN as error:
            raise mismatch(data, who, error) from error

    return guarded


def mismatch(data: bytes, who: str, error: BaseException) -> WireMismatch:
    """Describe a message that could not be decoded.

    Args:
        data: the message.
        who: description of the sender.
        error: the decoder's exception.

    Returns:
        The error to raise; it names both versions if they differ.
    """
    version = asked(data)[1]
    if version is not None and version != VERSION:
        text = f"{who} uses protocol version {version}, but this process uses {VERSION}."
    else:
        text = f"{who} sent a message that this version does not understand."
    why = " ".join(str(error).split())[:SHOWN]
    return WireMismatch(text, HINT, details={"bytes": len(data), "why": why})


def asked(data: bytes) -> tuple[int | None, int | None]:
    """Return the id and version of a request that could not be decoded; None for what it lacks."""
    try:
        envelope = _envelope(data)
    except BROKEN:
        return None, None
    return envelope.id, envelope.version
