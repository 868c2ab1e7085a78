"""A sentence that can be translated."""

from __future__ import annotations

from typing import Any

from msgspec import Struct


class Summary(Struct, frozen=True):
    """The state in one sentence: `text` in English, `code` and `values` for translation."""

    code: str
    values: dict[str, Any]
    text: str
