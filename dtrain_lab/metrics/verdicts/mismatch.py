"""Finds the collective in which ranks disagree: same number, but different operation, shape or root. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from dtrain_lab.text import rank_names
from dtrain_lab.text.lists import listed
from dtrain_lab.wire.metrics.collective import CollectiveCall


class Mismatch(Struct, frozen=True):
    """The first collective that ranks disagree on.

    `peers` is the largest set of ranks that agree; `ranks` are all others, presumably at fault. `each` is the
    call of each rank.
    """

    ranks: tuple[int, ...]
    peers: tuple[int, ...]
    called: CollectiveCall
    expected: CollectiveCall
    text: str
    hint: str
    each: dict[int, CollectiveCall] = {}


def find(calls: Mapping[int, Sequence[CollectiveCall]]) -> Mismatch | None:
    """Compare the last collectives of ranks.

    Args:
        calls: last collectives of each rank, oldest first.

    Returns:
        The first mismatch; None if all collectives that can be compared agree.
    """
    numbers: dict[tuple[int, int], dict[int, CollectiveCall]] = {}
    for rank, mine in calls.items():
        for call in mine:
            numbers.setdefault((call.group, call.number), {})[rank] = call
    for _, by_rank in sorted(numbers.items(), key=lambda item: item[0][1]):
        kinds: dict[CollectiveCall, list[int]] = {}
        for rank, call in by_rank.items():
            kinds.setdefault(call, []).append(rank)
        if len(kinds) > 1:
            return _mismatch(kinds)
    return None


def others(found: Mismatch) -> dict[str, tuple[int, ...]]:
    """Return the ranks at fault by what they called, the lowest rank first: they may differ."""
    kinds: dict[str, tuple[int, ...]] = {}
    for rank in found.ranks:
        call = describe(found.each[rank])
        kinds[call] = (*kinds.get(call, ()), rank)
    return kinds


def describe(call: CollectiveCall) -> str:
    """Describe a call, as `all_reduce float32[1000]` or `broadcast float32[8, 8] from rank 0`."""
    shape = f"[{', '.join(map(str, call.shape))}]" if call.dtype else ""
    root = ""
    if call.root >= 0:
        root = f" {'to' if call.operation in ('reduce', 'gather') else 'from'} rank {call.root}"
    return f"{call.operation}{f' {call.dtype}{shape}' if call.dtype else ''}{root}"


def _mismatch(kinds: Mapping[CollectiveCall, Sequence[int]]) -> Mismatch:
    # on a tie the side with the lowest rank is right, because most code is written from rank 0's view
    expected, peers = max(kinds.items(), key=lambda item: (len(item[1]), -min(item[1])))
    # by rank, and not by which call is known first: a verdict and the cell's result say the same
    others = sorted(
        ((c, ranks) for c, ranks in kinds.items() if c != expected), key=lambda item: min(item[1])
    )
    called = others[0][0]
    named = len({call.operation for call in kinds}) == len(kinds)

    def as_called(call: CollectiveCall) -> str:
        return call.operation if named else describe(call)

    who = listed([f"{rank_names.name(sorted(ranks))} called {as_called(call)}" for call, ranks in others])
    most = rank_names.name(peers) if len(peers) == 1 else rank_names.count(len(peers))
    text = f"{who[0].upper()}{who[1:]} where {most} called {as_called(expected)}."
    if named:
        hint = "Often a branch on the rank, or on data, that has a collective in it."
    else:
        hint = "Often a last batch that is smaller, or a model that differs between ranks."
    against = listed([describe(call) for call, _ in others])
    counted = f"Collective no. {called.number} of this cell"  # counted in each group, as in the rows of ranks
    return Mismatch(
        tuple(sorted(rank for _, ranks in others for rank in ranks)),
        tuple(sorted(peers)),
        called,
        expected,
        text,
        f"{counted}: {against} against {describe(expected)}. {hint}",
        {rank: call for call, ranks in kinds.items() for rank in ranks},
    )
