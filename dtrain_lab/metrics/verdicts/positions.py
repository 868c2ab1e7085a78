"""Groups the ranks of a world that hangs by their operation and line of code. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from math import prod

from msgspec.structs import replace

from dtrain_lab.text import rank_names
from dtrain_lab.text.lists import listed
from dtrain_lab.wire.links import RankSample
from dtrain_lab.wire.metrics.collective import CollectiveCall
from dtrain_lab.wire.metrics.verdicts import HangPosition
from dtrain_lab.wire.stacks import Where

ITEM_BYTES = {
    "float32": 4,
    "float16": 2,
    "bfloat16": 2,
    "float64": 8,
    "int64": 8,
    "int32": 4,
    "int16": 2,
    "int8": 1,
    "uint8": 1,
    "bool": 1,
    "complex64": 8,
    "complex128": 16,
}


def positions(
    blamed: Collection[int],
    peers: Collection[int],
    samples: Iterable[RankSample],
    places: Mapping[int, Where],
    called: Mapping[int, CollectiveCall] | None = None,
) -> tuple[HangPosition, ...]:
    """Group ranks by operation and position.

    Args:
        blamed: ranks at fault.
        peers: ranks that wait.
        samples: the latest sample of each rank.
        places: positions of ranks in the user's code, if known.
        called: where ranks disagree, the call of each rank.

    Returns:
        Groups of ranks at fault first, then larger groups before smaller ones.
    """
    by_rank = {s.rank: s for s in samples}
    groups: dict[HangPosition, list[int]] = {}
    for rank in sorted({*blamed, *peers}):
        sample, call = by_rank.get(rank), (called or {}).get(rank)
        operation, sequence, size = _operation(sample, call)
        left = call is not None and sample is not None and not sample.operation
        key = HangPosition((), rank in blamed, operation, sequence, size, places.get(rank), left)
        groups.setdefault(key, []).append(rank)
    ordered = sorted(groups.items(), key=lambda item: (not item[0].blamed, -len(item[1]), item[1]))
    return tuple(replace(key, ranks=tuple(ranks)) for key, ranks in ordered)


def by_operation(samples: Iterable[RankSample]) -> dict[str, tuple[int, ...]]:
    """Ranks by the collective that they wait in, the collective with most ranks first."""
    groups: dict[str, list[int]] = {}
    for sample in samples:
        if sample.operation:
            groups.setdefault(sample.operation, []).append(sample.rank)
    ordered = sorted(groups.items(), key=lambda item: (-len(item[1]), item[1]))
    return {operation: tuple(sorted(ranks)) for operation, ranks in ordered}


def waits(samples: Iterable[RankSample]) -> str:
    """Say which ranks wait where, as `Ranks 0–1 wait in all_reduce and rank 2 waits in broadcast`."""
    parts = [
        f"{rank_names.name(ranks)} {'waits' if len(ranks) == 1 else 'wait'} in {operation}"
        for operation, ranks in by_operation(samples).items()
    ]
    text = listed(parts)
    return text[:1].upper() + text[1:]


def size_of(call: CollectiveCall) -> int | None:
    """Size of a call's tensor in bytes; None without a tensor or with an unknown dtype."""
    item = ITEM_BYTES.get(call.dtype)
    return item * prod(call.shape) if item is not None else None


def _operation(
    sample: RankSample | None, call: CollectiveCall | None
) -> tuple[str | None, int | None, int | None]:
    """Name, number and bytes of the collective that a rank is in, or disagrees on."""
    if call is not None:
        return call.operation, call.number, size_of(call)
    if sample is None or not sample.operation:
        return None, None, None
    last = sample.calls[-1] if sample.calls else None
    same = last is not None and last.operation == sample.operation
    # backward is not a collective itself: its number is that of the collective before it
    number = None if sample.operation == "backward" else sample.sequence
    return sample.operation, number, size_of(last) if last is not None and same else None
