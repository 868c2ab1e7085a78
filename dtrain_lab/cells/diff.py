"""Comparison of one variable across ranks: the first part that differs, and on which ranks. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from dtrain_lab.text import rank_names
from dtrain_lab.text.lists import listed
from dtrain_lab.wire.links.values import Leaf

STATISTICS = ("running_mean", "running_var", "num_batches_tracked")
"""Buffers that BatchNorm computes from each rank's own batches."""
STATISTICS_SYNC = (
    "Each rank updates its own: DDP sends rank 0's to all ranks before each forward pass, so they differ by "
    "the last batch; without DDP they drift apart."
)
NAMED = 5
"""Names that a sentence lists."""
UNSEEN = "?"
"""`Leaf.outside` of an object whose `__repr__` failed, or took too long."""


class Difference(Struct, frozen=True):
    """A leaf that differs between ranks.

    `same` is the largest group of ranks that agree; `others` are the groups with a different leaf.
    `leaves` holds the leaf of each group, that of `same` first; None if the group lacks the leaf.
    """

    path: str
    same: tuple[int, ...]
    others: tuple[tuple[int, ...], ...]
    leaves: tuple[Leaf | None, ...]

    @property
    def comparable(self) -> bool:
        """Whether all ranks have arrays of the same shape, so that a numeric distance is defined."""
        first = self.leaves[0]
        return first is not None and all(
            leaf is not None and leaf.shape == first.shape and leaf.kind in ("tensor", "array")
            for leaf in self.leaves
        )


class Comparison(Struct, frozen=True):
    """The result of a comparison, counted in leaves.

    `first` is the first leaf that differs, in the variable's own order, running statistics of BatchNorm last;
    None if all agree. `paths`: all that differ, in that order. `opaque`: paths and types of objects that look
    the same from outside, and whose content can't be compared: each process pickles a Figure differently.
    """

    total: int
    differing: int
    first: Difference | None
    paths: tuple[str, ...] = ()
    opaque: tuple[tuple[str, str], ...] = ()


def compare(by_rank: Mapping[int, Sequence[Leaf]]) -> Comparison:
    """Compare a variable across ranks.

    Args:
        by_rank: rank → its leaves, in the variable's own order.

    Returns:
        How many leaves there are and how many differ, with the first difference.
    """
    by_path = {rank: {leaf.path: leaf for leaf in leaves} for rank, leaves in by_rank.items()}
    paths = list(dict.fromkeys(leaf.path for _, leaves in sorted(by_rank.items()) for leaf in leaves))
    differences, opaque = [], []
    for path in paths:
        leaves = {rank: mine.get(path) for rank, mine in sorted(by_path.items())}
        if (kind := _opaque(list(leaves.values()))) is not None:
            opaque.append((path, kind))
        elif (difference := _difference(path, leaves)) is not None:
            differences.append(difference)
    differences.sort(key=lambda difference: is_statistic(difference.path))
    return Comparison(
        len(paths),
        len(differences),
        differences[0] if differences else None,
        tuple(difference.path for difference in differences),
        tuple(opaque),
    )


def undecided(by_rank: Mapping[int, Sequence[Leaf]]) -> list[str]:
    """Paths of objects of one type that may be equal though their pickles are not: `outside` decides.

    Args:
        by_rank: as of `compare`.
    """
    by_path = [{leaf.path: leaf for leaf in leaves} for leaves in by_rank.values()]
    paths = set.intersection(*(set(mine) for mine in by_path)) if len(by_path) > 1 else set()
    return [
        path
        for path in (leaf.path for leaf in by_path[0].values())
        if path in paths
        and {mine[path].kind for mine in by_path} == {"object"}
        and len({mine[path].dtype for mine in by_path}) == 1
        and ("" in (digests := {mine[path].digest for mine in by_path}) or len(digests) > 1)
    ]


def with_appearance(leaves: Sequence[Leaf], appearances: Mapping[str, str]) -> list[Leaf]:
    """Return the leaves of a rank with what its objects print.

    Args:
        leaves: the leaves.
        appearances: path → `Leaf.outside`.
    """
    return [
        replace(leaf, outside=appearances[leaf.path]) if leaf.path in appearances else leaf for leaf in leaves
    ]


def is_statistic(path: str) -> bool:
    """Whether a leaf is a running statistic of BatchNorm."""
    return path.rpartition(".")[2] in STATISTICS


def _opaque(leaves: Sequence[Leaf | None]) -> str | None:
    """The type of objects that can't be compared for equality; None for all others.

    An object whose type prints nothing of its own is told by its pickle, if there is one.
    """
    kinds = {leaf.dtype if leaf is not None and leaf.kind == "object" else None for leaf in leaves}
    objects = [leaf for leaf in leaves if leaf is not None]
    kind = kinds.pop()
    if kind is None or kinds or len(leaves) < 2:
        return None
    digests, appearances = {leaf.digest for leaf in objects}, {leaf.outside for leaf in objects}
    if UNSEEN in appearances:
        return kind if len(digests) > 1 or "" in digests else None
    if len(appearances) > 1:
        return None
    if digests == {""}:
        return kind
    return kind if len(digests) > 1 and ("" in digests or objects[0].outside) else None


def _difference(path: str, by_rank: Mapping[int, Leaf | None]) -> Difference | None:
    groups: dict[Leaf | None, list[int]] = {}
    for rank, leaf in by_rank.items():
        if leaf is not None and leaf.digest:  # equal content is equal, even if it prints a time or an id
            leaf = replace(leaf, outside="")
        groups.setdefault(leaf, []).append(rank)
    if len(groups) == 1:
        return None
    sizes = Counter({leaf: len(ranks) for leaf, ranks in groups.items()})
    # largest group first; between equal sizes, the group with the lowest rank
    ordered = sorted(groups, key=lambda leaf: (-sizes[leaf], groups[leaf][0]))
    return Difference(
        path,
        tuple(groups[ordered[0]]),
        tuple(tuple(groups[leaf]) for leaf in ordered[1:]),
        tuple(ordered),
    )


def sentence(name: str, ranks: Sequence[int], comparison: Comparison, apart: Sequence[str]) -> str:
    """Describe a comparison in one sentence.

    Args:
        name: name of the variable.
        ranks: the ranks that were compared.
        comparison: its result.
        apart: for each group in `comparison.first.others`, its distance from `same` in words; empty
            if unknown.
    """
    first, opaque = comparison.first, comparison.opaque
    if first is None and len(opaque) == comparison.total > 0:
        kinds = listed(sorted({kind for _, kind in opaque}))
        return (
            f"{name} can't be compared: it looks the same on {rank_names.name(ranks)}, but the content of "
            f"{kinds} objects can't be compared between processes."
        )
    if first is None:
        count = comparison.total - len(opaque)
        parts = "1 part" if count == 1 else f"{count} parts"
        text = f"{name} is the same on {rank_names.name(ranks)} ({parts} compared)."
        return " ".join([text, *_not_compared(opaque)])
    subject = name if not first.path else f"{name}: {first.path}"
    if comparison.total > 1:
        subject += f" is the first of {comparison.differing} of {comparison.total} parts that differ"
    else:
        subject += " differs"
    details = [
        f"{rank_names.name(group)} {_owns(group)} {_what(leaf, first.leaves[0])}{f', {far}' if far else ''}"
        for group, leaf, far in zip(first.others, first.leaves[1:], apart, strict=True)
    ]
    kind = describe(first.leaves[0])
    text = f"{subject}: {rank_names.name(first.same)} {_owns(first.same)} {kind}; {'; '.join(details)}."
    return " ".join([text, *_others(comparison.paths), *_not_compared(opaque)])


def _not_compared(opaque: Sequence[tuple[str, str]]) -> list[str]:
    """A sentence about the parts that can't be compared; nothing without any."""
    parts = [f"{path} ({kind})" for path, kind in opaque]
    return [f"Not compared, as processes pickle it differently: {_listed(parts)}."] if parts else []


def _others(paths: Sequence[str]) -> list[str]:
    """Return sentences about all the leaves that differ but the first, and about those that normally do."""
    parameters = [path for path in paths if not is_statistic(path)]
    sentences = [f"Also different: {_listed(parameters[1:])}."] if parameters[1:] else []
    if count := len(paths) - len(parameters):
        subject = "All of them" if not parameters else f"The other {count}" if count > 1 else "The other one"
        are = "is a running statistic" if count == 1 else "are running statistics"
        subject = "It" if count == 1 and not parameters else subject
        sentences.append(f"{subject} {are} of BatchNorm. {STATISTICS_SYNC}")
    return sentences


def _listed(paths: Sequence[str]) -> str:
    more = len(paths) - NAMED
    return ", ".join(paths[:NAMED]) + (f" and {more} more" if more > 0 else "")


def describe(leaf: Leaf | None) -> str:
    """Describe a leaf: "float32[10, 64]", "3", "nothing there"."""
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
