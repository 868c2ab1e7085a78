"""Rank sets as users write them ("0,2-4"), parsed and checked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import SupportsIndex, TypeAlias

from dtrain_lab.errors import BadRankSet
from dtrain_lab.text.rank_names import count, name

Asked: TypeAlias = SupportsIndex | str | Iterable[SupportsIndex] | None
"""Ranks as a caller passes them: 0, [0, 2] or "0,2-3"; None for all."""
MOST_DIGITS = 18
"""A longer number is not a rank, and Python refuses to parse one with thousands of digits."""
NO_SUCH_RANK = "no_such_rank"
"""Code of the error for a rank that the world doesn't have."""
HINT = 'Write ranks as "0", "0,2-3" or leave them out for all.'


def parse(text: str, size: int) -> tuple[int, ...]:
    """Parse a rank set.

    Args:
        text: "0" or "0,2-3"; empty or "all" means every rank.
        size: world size; ranks are 0 … size - 1.

    Returns:
        The ranks in ascending order.

    Raises:
        BadRankSet: unreadable, overlapping, or a rank outside the world.
    """
    body = text.strip()
    if body in ("", "all"):
        return tuple(range(size))
    ranks: set[int] = set()
    for part in body.split(","):
        for rank in _span(part.strip(), text):
            if rank in ranks:
                raise BadRankSet(f'Rank {rank} appears twice in "{body}".', HINT)
            if rank >= size:
                are = "is" if size == 1 else "are"
                raise BadRankSet(
                    f"There is no rank {rank}: there {are} {count(size)}, {name(range(size))}.",
                    HINT,
                    code=NO_SUCH_RANK,
                )
            ranks.add(rank)
    return tuple(sorted(ranks))


def asked(ranks: Asked, size: int) -> tuple[int, ...] | None:
    """Normalize ranks as a caller passes them.

    Args:
        ranks: 0, [0, 2], an array of whole numbers or "0,2-3"; None or "" for all.
        size: world size.

    Returns:
        The ranks in ascending order; None for all.

    Raises:
        BadRankSet: unreadable, overlapping, empty, or a rank outside the world.
    """
    if ranks is None:
        return None
    if isinstance(ranks, str):
        return parse(ranks, size) if ranks.strip() else None
    rank = _whole(ranks)
    if rank is not None:
        return check([rank], size)
    if not isinstance(ranks, Iterable) or isinstance(ranks, bytes):
        raise BadRankSet(f"{ranks!r} is no rank set.", HINT)
    return check(list(ranks), size)


def _whole(value: object) -> int | None:
    """Convert to int, also from a NumPy or tensor scalar; None for anything else, such as an array."""
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        return None
    try:
        return value.__index__()
    except TypeError:
        return None


def _span(part: str, text: str) -> range:
    first, dash, last = part.replace("–", "-").partition("-")
    if not first.isdecimal() or (dash and not last.isdecimal()):
        raise BadRankSet(f'"{text.strip()}" is not a rank set.', HINT)
    if max(len(first), len(last)) > MOST_DIGITS:
        raise BadRankSet(f'"{part[:MOST_DIGITS]}…" names more ranks than any cluster has.', HINT)
    low, high = int(first), int(last) if dash else int(first)
    if high < low:
        raise BadRankSet(f'"{part}" runs backwards.', HINT)
    if high - low > 1_000_000:
        raise BadRankSet(f'"{part}" names more ranks than any cluster has.', HINT)
    return range(low, high + 1)


def check(ranks: Sequence[SupportsIndex], size: int) -> tuple[int, ...]:
    """Validate ranks that a program passed as numbers.

    Args:
        ranks: whole numbers.
        size: world size.

    Returns:
        The ranks in ascending order.

    Raises:
        BadRankSet: no rank, a duplicate, a rank outside the world, or not a whole number.
    """
    if not ranks:
        raise BadRankSet("The rank set names no rank.", HINT)
    numbers = [_whole(rank) for rank in ranks]
    for rank, number in zip(ranks, numbers, strict=True):
        if number is None or number < 0:
            raise BadRankSet(f"{rank!r} is no rank.", HINT)
    return parse(",".join(map(str, numbers)), size)
