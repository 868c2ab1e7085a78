"""Names that code sees in a frame or a namespace, and those that only some ranks have. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from dtrain_lab.wire.links.values import VisibleNames

USUAL = frozenset(("In", "Out", "exit", "quit", "get_ipython", "open", "globals", "locals"))
"""Names of IPython, and those that pydevd adds where it evaluates."""
EXPRESSION = f"__import__('{__name__}', fromlist=['Visible']).Visible({{**globals(), **locals()}})"
"""Evaluated in a frame or a namespace: what is seen there."""


class Visible:
    """What is seen in a place.

    Args:
        namespace: name → value.
    """

    def __init__(self, namespace: Mapping[str, Any]) -> None:
        self._namespace = namespace

    def names(self) -> VisibleNames:
        """Return the module and the user's names, in the order in which they were defined."""
        names = [n for n in self._namespace if not n.startswith("_") and n not in USUAL]
        return VisibleNames(str(self._namespace.get("__name__", "")), tuple(names))


class Only(Struct, frozen=True):
    """Names that these ranks have, and others of the same module lack."""

    ranks: tuple[int, ...]
    names: tuple[str, ...]


def only_on_some(names_by_rank: Mapping[int, VisibleNames]) -> tuple[Only, ...]:
    """Find the names that only some ranks have.

    Ranks in different modules are not compared: their names have nothing to do with each other.

    Args:
        names_by_rank: rank → what `Visible.names` returned there.

    Returns:
        Names by the ranks that have them, in the order of these.
    """
    modules: dict[str, list[int]] = {}
    for rank in sorted(names_by_rank):
        modules.setdefault(names_by_rank[rank].module, []).append(rank)
    groups: dict[tuple[int, ...], list[str]] = {}
    for ranks in modules.values():
        having: dict[str, list[int]] = {}
        for rank in ranks:
            for name in names_by_rank[rank].names:
                having.setdefault(name, []).append(rank)
        for name, those in having.items():
            if len(those) < len(ranks):
                groups.setdefault(tuple(those), []).append(name)
    return tuple(Only(ranks, tuple(names)) for ranks, names in sorted(groups.items()))
