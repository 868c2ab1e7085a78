"""Variables between this kernel and ranks: `%distributed push` and `%distributed pull`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dtrain_lab.api.cluster import Cluster
from dtrain_lab.errors import BadRequest
from dtrain_lab.text import rank_names
from dtrain_lab.text.units import size_text

LARGE = 256 << 20
"""Bytes; a larger push reports its progress."""


def push(target: Cluster, names: list[str], namespace: dict[str, Any]) -> None:
    """Assign variables of this kernel on all ranks.

    Args:
        target: The cluster.
        names: Names of the variables.
        namespace: The notebook's variables.

    Raises:
        BadRequest: A variable is not defined in this kernel.
    """
    missing = [name for name in names if name not in namespace]
    if missing:
        verb, them = ("is", "it") if len(missing) == 1 else ("are", "them")
        raise BadRequest(
            f"{', '.join(missing)} {verb} not defined here.", f"Define {them} in this notebook first."
        )
    size = target.push_watched({name: namespace[name] for name in names}, _progress("Copying"))
    if size:
        print(f"{', '.join(names)}: {size_text(size)} to {rank_names.count(target.size)}.")


def pull(target: Cluster, name: str, ranks: str, namespace: dict[str, Any]) -> None:
    """Assign a variable of ranks in this kernel: the value of a single rank, or a dict by rank.

    Args:
        target: The cluster.
        name: Name of the variable, with attributes: `model.weight` is assigned to `weight`.
        ranks: Set of ranks, such as "0,2-3"; empty for all, which gives a dict.
        namespace: The notebook's variables, which get the value.
    """
    values = target.pull(name, ranks or None)
    namespace[name.split(".")[-1]] = next(iter(values.values())) if ranks and len(values) == 1 else values


def _progress(verb: str) -> Callable[[int, int], None]:
    """Return a callback that prints the progress of a large push, one line per 10 %."""
    printed = 0

    def progress(done: int, total: int) -> None:
        nonlocal printed
        if total >= LARGE and done * 10 // total > printed:
            printed = done * 10 // total
            print(f"{verb}: {size_text(done)} of {size_text(total)}", flush=True)

    return progress
