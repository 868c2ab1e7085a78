"""The user's values of `dt.log`."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

from dtrain_lab.wire.links import ValuesLogged


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

    def logged(self, message: ValuesLogged) -> None:
        """A rank called `dt.log`; numbers that are not finite are kept as text."""
        finite = {n: v for n, v in message.values.items() if isinstance(v, int | float) and math.isfinite(v)}
        strange = {name: str(value) for name, value in message.values.items() if name not in finite}
        news = {**finite, **strange, "step": message.step}
        self.current = {**self.current, **news}
        self._by.update(dict.fromkeys(news, message.rank))
        names = message.values.keys()
        self._averaged = self._averaged | names if message.averaged else self._averaged - names

    def cell_began(self, ranks: Collection[int]) -> None:
        """Drop what these ranks logged: those values are of a cell that has ended."""
        self._by = {name: by for name, by in self._by.items() if by not in ranks}
        self.current = {name: value for name, value in self.current.items() if name in self._by}
