"""The same variable on several ranks: what differs first, and on which ranks. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct

from dtrain_lab.core import ranks as rank_names


class Leaf(Struct, frozen=True):
    """One part of a variable: a parameter of a model, an entry of a dict. `digest`: of its bytes, or a plain
    value's own text."""

    path: str
    kind: str
    dtype: str
    shape: tuple[int, ...]
    digest: str


class Difference(Struct, frozen=True):
    """A leaf that is not the same everywhere.

    `same`: ranks that agree, the most of them; `others`: groups of ranks that have something else.
    `leaves`: by group, the first being that of `same`; None where those ranks don't have it.
    """

    path: str
    same: tuple[int, ...]
    others: tuple[tuple[int, ...], ...]
    leaves: tuple[Leaf | None, ...]

    @property
    def comparable(self) -> bool:
        """All ranks have numbers of one shape here: how far they are apart can be said."""
        first = self.leaves[0]
        return first is not None and all(
            leaf is not None and leaf.shape == first.shape and leaf.kind in ("tensor", "array")
            for leaf in self.leaves
        )


class Comparison(Struct, frozen=True):
    """`first`: the first leaf that differs, in the variable's own order."""

    total: int
    differing: int
    first: Difference | None


def compare(by_rank: Mapping[int, Sequence[Leaf]]) -> Comparison:
    """Compare a variable.

    Args:
        by_rank: rank → its leaves, in the variable's own order.
    """
    found = {rank: {leaf.path: leaf for leaf in leaves} for rank, leaves in by_rank.items()}
    paths = list(dict.fromkeys(leaf.path for _, leaves in sorted(by_rank.items()) for leaf in leaves))
    differences = [d for path in paths if (d := _difference(path, found)) is not None]
    return Comparison(len(paths), len(differences), differences[0] if differences else None)


def _difference(path: str, found: Mapping[int, Mapping[str, Leaf]]) -> Difference | None:
    groups: dict[Leaf | None, list[int]] = {}
    for rank in sorted(found):
        groups.setdefault(found[rank].get(path), []).append(rank)
    if len(groups) == 1:
        return None
    sizes = Counter({leaf: len(ranks) for leaf, ranks in groups.items()})
    # most ranks first; among equals the group of the lowest rank
    ordered = sorted(groups, key=lambda leaf: (-sizes[leaf], groups[leaf][0]))
    return Difference(
        path,
        tuple(groups[ordered[0]]),
        tuple(tuple(groups[leaf]) for leaf in ordered[1:]),
        tuple(ordered),
    )


def sentence(name: str, ranks: Sequence[int], comparison: Comparison, apart: Sequence[str]) -> str:
    """The comparison in words.

    Args:
        name: of the variable.
        ranks: that were compared.
        comparison: of them.
        apart: for each group of others, how far it is from the rest, in words; empty where not known.
    """
    first = comparison.first
    if first is None:
        parts = "1 part" if comparison.total == 1 else f"{comparison.total} parts"
        return f"{name} is the same on {rank_names.name(ranks)} ({parts} compared)."
    what = name if not first.path else f"{name}: {first.path}"
    if comparison.total > 1:
        what += f" is the first of {comparison.differing} of {comparison.total} parts that differ"
    else:
        what += " differs"
    details = [
        f"{rank_names.name(group)} {_owns(group)} {_what(leaf, first.leaves[0])}{f', {far}' if far else ''}"
        for group, leaf, far in zip(first.others, first.leaves[1:], apart, strict=True)
    ]
    kind = describe(first.leaves[0])
    return f"{what}: {rank_names.name(first.same)} {_owns(first.same)} {kind}; {'; '.join(details)}."


def describe(leaf: Leaf | None) -> str:
    """What a leaf is: "float32[10, 64]", "3", "nothing"."""
    if leaf is None:
        return "nothing there"
    if leaf.kind == "value":
        return leaf.digest
    if leaf.kind == "object":
        return f"another {leaf.dtype}"
    return f"{leaf.dtype}{list(leaf.shape)}"


def _what(leaf: Leaf | None, reference: Leaf | None) -> str:
    alike = leaf is not None and reference is not None and describe(leaf) == describe(reference)
    return "other values" if alike else describe(leaf)


def _owns(ranks: Sequence[int]) -> str:
    return "has" if len(ranks) == 1 else "have"
