"""Base of the requests of clients."""

from __future__ import annotations

from typing import Any, ClassVar

from msgspec import Struct

from dtrain_lab.wire.codec.encode import encode as encode


class Body(Struct, frozen=True, tag_field="k", omit_defaults=True):
    """Base of the requests of clients: each direct subclass is one."""

    result: ClassVar[Any] = None
    """Type of the answer's result; None if there is none."""
    repeatable: ClassVar[bool] = False
    """Whether the head may get this request twice, with the effect of once; a lost connection repeats it."""
