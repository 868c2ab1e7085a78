"""Names that code sees in a frame or a namespace, and those that only some ranks have. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

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

    def to_json(self) -> str:
        """Return the module and the user's names as JSON, in the order in which they were defined."""
        names = [n for n in self._namespace if not n.startswith("_") and n not in USUAL]
        return json.dumps({"module": str(self._namespace.get("__name__", "")), "names": names})


class Only(Struct, frozen=True):
    """Names that these ranks have, and others of the same module lack."""

    ranks: tuple[int, ...]
    names: tuple[str, ...]


def only_on_some(found: Mapping[int, Mapping[str, Any]]) -> tuple[Only, ...]:
    """Find the names that only some ranks have.

    Ranks in different modules are not compared: their names have nothing to do with each other.

    Args:
        found: rank → what `Visible.to_json` returned there.

    Returns:
        Names by the ranks that have them, in the order of these.
    """
    modules: dict[str, list[int]] = {}
    for rank in sorted(found):
        modules.setdefault(found[rank]["module"], []).append(rank)
    groups: dict[tuple[int, ...], list[str]] = {}
    for ranks in modules.values():
        having: dict[str, list[int]] = {}
        for rank in ranks:
            for name in found[rank]["names"]:
                having.setdefault(name, []).append(rank)
        for name, those in having.items():
            if len(those) < len(ranks):
                groups.setdefault(tuple(those), []).append(name)
    return tuple(Only(ranks, tuple(names)) for ranks, names in sorted(groups.items()))
