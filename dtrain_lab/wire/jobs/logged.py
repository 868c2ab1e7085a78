"""Values that a job logs with `dt.log`, as its folder has them."""

from __future__ import annotations

from msgspec import Struct


class ValuesLine(Struct, frozen=True, omit_defaults=True):
    """A line of `values.jsonl`: one call of `dt.log`. Values that are not finite are texts, as "nan".

    `at`: seconds since 1970. `averaged`: they are means over ranks; else they are rank 0's.
    """

    step: int
    values: dict[str, float | str]
    at: float = 0.0
    averaged: bool = False
