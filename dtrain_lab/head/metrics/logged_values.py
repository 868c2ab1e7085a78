"""The user's values of `dt.log`."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any


class LoggedValues:
    """The latest value of each name, until another cell begins on the rank that logged it."""

    def __init__(self) -> None:
        self.current: dict[str, Any] = {}
        """Name → value, and the step of the latest; replaced, never changed."""
        self._by: dict[str, int] = {}
        """Name → the rank that logged it last."""
        self._averaged: set[str] = set()
        """Names whose latest value is a mean over ranks."""

    @property
    def averaged(self) -> tuple[str, ...]:
        """Names of the current values that are means over ranks, in their order."""
        return tuple(name for name in self.current if name in self._averaged)

    def logged(self, rank: int, step: int, values: Mapping[str, float | str], *, averaged: bool) -> None:
        """A rank called `dt.log`; numbers that are not finite are kept as text.

        Args:
            rank: The rank.
            step: Training step.
            values: Name → value.
            averaged: Whether they are means over ranks.
        """
        finite = {n: v for n, v in values.items() if isinstance(v, int | float) and math.isfinite(v)}
        strange = {name: str(value) for name, value in values.items() if name not in finite}
        news = {**finite, **strange, "step": step}
        self.current = {**self.current, **news}
        self._by.update(dict.fromkeys(news, rank))
        self._averaged = self._averaged | values.keys() if averaged else self._averaged - values.keys()

    def cell_began(self, ranks: Collection[int]) -> None:
        """Drop what these ranks logged: those values are of a cell that has ended."""
        self._by = {name: by for name, by in self._by.items() if by not in ranks}
        self.current = {name: value for name, value in self.current.items() if name in self._by}
