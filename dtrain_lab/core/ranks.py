"""Rank sets: "0,2-4" as a person writes them, and ranks as a sentence names them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dtrain_lab.errors import BadRankSet

HINT = 'Write ranks as "0", "0,2-3" or leave them out for all.'


def parse(text: str, size: int) -> tuple[int, ...]:
    """Read a rank set.

    Args:
        text: "0", "0,2-3"; empty or "all" means every rank.
        size: world size; ranks are 0 … size - 1.

    Returns:
        The ranks in ascending order.

    Raises:
        BadRankSet: unreadable, overlapping, or a rank outside the world.
    """
    body = text.strip()
    if body in ("", "all"):
        return tuple(range(size))
    seen: set[int] = set()
    for part in body.split(","):
        for rank in _span(part.strip(), text):
            if rank in seen:
                raise BadRankSet(f'Rank {rank} stands twice in "{body}".', HINT)
            if rank >= size:
                raise BadRankSet(
                    f"There is no rank {rank}: the world has {count(size)}, {name(range(size))}.",
                    HINT,
                )
            seen.add(rank)
    return tuple(sorted(seen))


def _span(part: str, text: str) -> range:
    first, dash, last = part.partition("-")
    if not first.isdecimal() or (dash and not last.isdecimal()):
        raise BadRankSet(f'"{text.strip()}" is not a rank set.', HINT)
    low, high = int(first), int(last) if dash else int(first)
    if high < low:
        raise BadRankSet(f'"{part}" runs backwards.', HINT)
    if high - low > 1_000_000:
        raise BadRankSet(f'"{part}" names more ranks than any world has.', HINT)
    return range(low, high + 1)


def compact(ranks: Iterable[int]) -> str:
    """Ranks as short as can be: [0, 2, 3, 4] is "0,2-4"."""
    spans: list[list[int]] = []
    for rank in sorted(set(ranks)):
        if spans and rank == spans[-1][1] + 1:
            spans[-1][1] = rank
        else:
            spans.append([rank, rank])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in spans)


def name(ranks: Iterable[int]) -> str:
    """Ranks as a sentence names them: "rank 2", "ranks 0, 2 and 3", "ranks 0-6"."""
    numbers = sorted(set(ranks))
    if len(numbers) == 1:
        return f"rank {numbers[0]}"
    spans = compact(numbers).split(",")
    if len(spans) == 1:
        return f"ranks {spans[0]}"
    return f"ranks {', '.join(spans[:-1])} and {spans[-1]}"


def sentence_name(ranks: Iterable[int]) -> str:
    """`name`, as it opens a sentence."""
    text = name(ranks)
    return text[0].upper() + text[1:]


def count(number: int) -> str:
    """ "1 rank", "8 ranks"."""
    return f"{number} rank" if number == 1 else f"{number} ranks"


def check(ranks: Sequence[int], size: int) -> tuple[int, ...]:
    """Ranks that a program gave, as `parse` would give them.

    Raises:
        BadRankSet: no rank, a rank that stands twice, or one outside the world.
    """
    if not ranks:
        raise BadRankSet("The rank set names no rank.", HINT)
    return parse(",".join(str(rank) for rank in ranks), size)
