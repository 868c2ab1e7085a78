"""Base of the requests of clients."""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct

from dtrain_lab.wire.codec.encode import encode as encode


class Body(Struct, frozen=True, tag_field="k", omit_defaults=True):
    """Base of the requests of clients."""

    repeatable: ClassVar[bool] = False
    """Whether the head may get this request twice, with the effect of once; a lost connection repeats it."""
