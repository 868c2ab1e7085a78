"""Finds ranks whose GPU waits in a collective while their thread does not, by counting collectives. Pure.

With NCCL a collective returns at once, and the thread stops at a later line that needs its result, such as
`loss.item()`. It waits for a rank that has called fewer collectives of that group in the same cell.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Sequence

from msgspec.structs import replace

from dtrain_lab.metrics.ring import CALLS_KEPT
from dtrain_lab.wire.links import RankSample
from dtrain_lab.wire.metrics.collective import CollectiveCall

SUSPICIOUS_S = 0.5
"""Seconds in a collective after which a rank reports the collectives that it called last, for comparison."""
QUIET_S = 1.0
"""Seconds without activity after which it reports them, too: others, or its own GPU, may wait for it."""
BACKWARD = "backward"
"""Operation of a rank that is in backward, where DDP's own collectives can't be seen from Python."""
WORLD = zlib.crc32(b"0")
"""Checksum of the default group's name, as torch gives it."""
ALL_CALL = frozenset(
    {
        "all_reduce",
        "all_gather",
        "all_gather_into_tensor",
        "all_gather_single",
        "all_gather_coalesced",
        "all_reduce_coalesced",
        "all_to_all",
        "all_to_all_single",
        "barrier",
        "reduce_scatter",
        "reduce_scatter_tensor",
        "reduce_scatter_single",
    }
)
"""Collectives that end on no rank before all ranks have called them."""
FROM_ROOT = frozenset({"broadcast", "scatter"})
TO_ROOT = frozenset({"reduce", "gather"})


def reports_calls(in_operation_s: float | None, beat_s: float | None) -> bool:
    """Whether a rank's samples have its last collectives.

    Args:
        in_operation_s: time that it has been in a collective, seconds; None outside.
        beat_s: time since the monitor last saw any activity of it, seconds; None if there was none.
    """
    return (in_operation_s or 0.0) > SUSPICIOUS_S or (beat_s or 0.0) > QUIET_S


def inferred(
    samples: Sequence[RankSample], busy: Collection[int], in_cell: Collection[int], size: int
) -> list[RankSample]:
    """Complete samples by the collectives in which GPUs wait.

    Args:
        samples: the latest sample of each rank, of a world whose collectives between GPUs are NCCL's.
        busy: ranks that run the cell.
        in_cell: ranks that run the cell or have ended it.
        size: size of the world.

    Returns:
        The samples; one whose rank waits has the collective as its operation, from when the rank fell quiet.
    """
    busy, in_cell = frozenset(busy), frozenset(in_cell)  # looked up for each of a thousand ranks
    comparable = {s.rank: s for s in samples if s.rank in busy or s.rank in in_cell}
    # a rank that runs the cell, and was idle when the sample was taken, has begun only since
    current = [s for s in comparable.values() if not (s.idle and s.rank in busy)]
    if not any((s.beat_s or 0.0) > QUIET_S for s in current):  # all ranks move
        return list(samples)
    counts = {s.rank: _last(s.calls) for s in current if reports_calls(s.in_operation_s, s.beat_s)}

    def lacks(rank: int, call: CollectiveCall) -> bool:
        if rank not in busy and rank not in in_cell:
            return call.group == WORLD
        if rank not in counts:
            return False  # it works, and does not report what it has called; or its process has ended
        last = counts[rank].get(call.group)
        if last is None:  # where other calls have followed, it may be one of those that are no longer kept
            return call.group == WORLD and comparable[rank].calls_noted < CALLS_KEPT
        return last.number < call.number

    def wait(sample: RankSample) -> RankSample:
        quiet = sample.rank in counts and (sample.beat_s or 0.0) > QUIET_S
        if sample.operation or sample.rank not in busy or not quiet:
            return sample
        for call in counts[sample.rank].values():
            if any(lacks(rank, call) for rank in _awaited(call, sample.rank, size)):
                return _waiting(sample, call.operation, call.number)
        others = [comparable[rank].averaged for rank in counts if rank != sample.rank]
        if sample.averaged > min(others, default=sample.averaged):
            return _waiting(sample, BACKWARD, None)
        return sample

    return [wait(sample) for sample in samples]


def _last(calls: Sequence[CollectiveCall]) -> dict[int, CollectiveCall]:
    """The last call of each group, by the group's checksum."""
    return {call.group: call for call in calls}


def _awaited(call: CollectiveCall, rank: int, size: int) -> Collection[int]:
    """Ranks without which a call does not end on this rank."""
    others = [other for other in range(size) if other != rank]
    if call.operation in ALL_CALL or (call.operation in TO_ROOT and call.root == rank):
        return others
    return [call.root] if call.operation in FROM_ROOT and call.root in others else ()


def _waiting(sample: RankSample, operation: str, number: int | None) -> RankSample:
    return replace(
        sample, operation=operation, sequence=number, in_operation_s=sample.beat_s, doing=operation
    )
