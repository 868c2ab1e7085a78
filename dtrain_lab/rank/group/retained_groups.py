"""Keeps a reference to each process group beyond its destruction, until it has long been idle.

torch's destructor of a gloo group joins its threads with the GIL held where a DDP model was the last to
refer to it, and a thread that still frees the last collective's Python objects waits for the GIL. So code
that trains in a function and destroys its group at the end, as every DDP tutorial does, would sometimes hang
(seen with torch 2.13).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dtrain_lab.rank.torch import groups

DESTROYED = 16
"""Destroyed groups that are kept; older ones go."""


class RetainedGroups:
    """The process groups of this rank, and those that it destroyed last."""

    def __init__(self) -> None:
        self._made: list[Any] = []

    def watch(self) -> None:
        """Keep each group that is made from now on."""
        groups.on_new_group(self._around)

    def _around(self, make: Callable[[], Any]) -> None:
        group = make()
        if group is not None:
            self.add(group)

    def add(self, group: Any) -> None:
        """Keep a group that was just made."""
        self._made.append(group)
        destroyed = [g for g in self._made if not groups.is_live(g) and g is not group]
        for old in destroyed[:-DESTROYED]:
            self._made.remove(old)
