"""Base of all messages of the link."""

from __future__ import annotations

from msgspec import Struct

from dtrain_lab.wire.codec.encode import encode as encode


class Message(Struct, frozen=True, tag_field="k", omit_defaults=True):
    """Base of all messages of the link."""
