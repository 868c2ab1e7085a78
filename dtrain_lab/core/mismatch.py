"""Ranks that call different collectives under one number: they never meet. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from dtrain_lab.core import ranks as rank_names
from dtrain_lab.core.estimate.ring import Call


class Mismatch(Struct, frozen=True):
    """The first collective that ranks disagree on. `ranks`: the fewest that agree, at fault as far as one can
    tell; `peers`: the most."""

    ranks: tuple[int, ...]
    peers: tuple[int, ...]
    called: Call
    expected: Call
    text: str
    hint: str


def find(calls: Mapping[int, Sequence[Call]]) -> Mismatch | None:
    """Compare the last collectives of ranks.

    Args:
        calls: rank → its last ones, oldest first.

    Returns:
        The first one that differs; None where all that can be compared agree.
    """
    numbers: dict[tuple[int, int], dict[int, Call]] = {}
    for rank, mine in calls.items():
        for call in mine:
            numbers.setdefault((call.group, call.number), {})[rank] = call
    for _, by_rank in sorted(numbers.items(), key=lambda item: item[0][1]):
        kinds: dict[Call, list[int]] = {}
        for rank, call in by_rank.items():
            kinds.setdefault(call, []).append(rank)
        if len(kinds) > 1:
            return _mismatch(kinds)
    return None


def describe(call: Call) -> str:
    """`all_reduce float32[1000]`, `broadcast float32[8, 8] from rank 0`."""
    shape = f"[{', '.join(map(str, call.shape))}]" if call.dtype else ""
    root = ""
    if call.root >= 0:
        root = f" {'to' if call.operation in ('reduce', 'gather') else 'from'} rank {call.root}"
    return f"{call.operation}{f' {call.dtype}{shape}' if call.dtype else ''}{root}"


def _mismatch(kinds: Mapping[Call, Sequence[int]]) -> Mismatch:
    # with as many on either side, those without rank 0 are named first: most code is written from its view
    ordered = sorted(kinds.items(), key=lambda item: (len(item[1]), 0 in item[1]))
    called, ranks = ordered[0]
    expected, peers = ordered[-1]
    who, others = rank_names.sentence_name(tuple(sorted(ranks))), rank_names.count(len(peers))
    if called.operation != expected.operation:
        text = f"{who} called {called.operation} where {others} called {expected.operation}."
        hint = "Often a branch on the rank, or on data, that has a collective in it."
    else:
        text = f"{who} called {describe(called)} where {others} called {describe(expected)}."
        hint = "Often a last batch that is smaller, or a model that differs between ranks."
    if len(kinds) > 2:
        hint = f"{len(kinds)} different calls in all. {hint}"
    return Mismatch(
        tuple(sorted(ranks)), tuple(sorted(peers)), called, expected, text,
        f"Collective no. {called.number}: {describe(called)} against {describe(expected)}. {hint}",
    )  # fmt: skip
