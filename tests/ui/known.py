"""Faults of the screens that are known and not mended yet. Each stands here by name, with its reason.

A fault that is not here fails the test; one that is here and is not found any more fails it, too.
"""

from __future__ import annotations

from typing import NamedTuple


class Known(NamedTuple):
    """A fault. `states`: a pattern; `check`: of `geometry.py`, or axe's rule; `where`: as they say it."""

    states: str
    check: str
    where: str
    why: str


KNOWN: tuple[Known, ...] = ()
KNOWN_ACCESS: tuple[Known, ...] = ()
