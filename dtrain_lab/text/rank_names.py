"""Ranks as text: for commands ("0,2-4") and for people ("ranks 0, 2–4")."""

from __future__ import annotations

from collections.abc import Iterable


def compact(ranks: Iterable[int]) -> str:
    """Format ranks as commands take them: [0, 2, 3, 4] is "0,2-4"."""
    spans: list[list[int]] = []
    for rank in sorted(set(ranks)):
        if spans and rank == spans[-1][1] + 1:
            spans[-1][1] = rank
        else:
            spans.append([rank, rank])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in spans)


def name(ranks: Iterable[int]) -> str:
    """Format ranks for people, as `formatRanks` of the page does: "rank 2", "ranks 0, 2–4"."""
    spans = compact(ranks).replace(",", ", ").replace("-", "–")
    return f"rank {spans}" if spans.isdecimal() else f"ranks {spans}"


def sentence_name(ranks: Iterable[int]) -> str:
    """Format ranks for the start of a sentence: as `name`, capitalized."""
    text = name(ranks)
    return text[0].upper() + text[1:]


def count(number: int) -> str:
    """Format a number of ranks: "1 rank", "8 ranks", "1,024 ranks"."""
    return f"{number:,} rank" if number == 1 else f"{number:,} ranks"
