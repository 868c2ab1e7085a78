"""Judges a world that hangs: which ranks wait in which collective, and which ranks never joined it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from dtrain_lab.metrics.verdicts import hang_verdicts, mismatch
from dtrain_lab.metrics.verdicts.device_waits import BACKWARD
from dtrain_lab.metrics.verdicts.hang_verdicts import Wait
from dtrain_lab.metrics.verdicts.positions import positions
from dtrain_lab.wire.links import RankSample
from dtrain_lab.wire.metrics.verdicts import Verdict
from dtrain_lab.wire.stacks import Where

STUCK_AFTER_S = 10.0
HOPELESS_AFTER_S = 5.0
"""Threshold if the missing ranks don't run the cell: another notebook may still send them one."""
SUSPECT_SHARE = 0.6
"""Share of the threshold after which the missing ranks are asked for their stacks."""
PROGRESS_S = 4.0
"""A rank whose monitor has written within this time counts as working."""
COMPUTING_SHARE = 0.5
"""Share of a core from which a missing rank counts as computing; one that sleeps uses next to none."""


def suspects(samples: Sequence[RankSample], size: int, threshold_s: float = STUCK_AFTER_S) -> tuple[int, ...]:
    """Ranks that others have waited for so long that they should be asked for their stacks.

    Args:
        samples: the latest sample of each rank.
        size: size of the world.
        threshold_s: time in a collective after which a world is judged, seconds.
    """
    if not any((s.in_operation_s or 0.0) >= SUSPECT_SHARE * threshold_s for s in samples if s.operation):
        return ()
    inside = {s.rank for s in samples if s.operation}
    return tuple(rank for rank in range(size) if rank not in inside)


def verdict(
    samples: Sequence[RankSample],
    busy: Sequence[int],
    in_cell: Sequence[int],
    size: int,
    places: Mapping[int, Where],
    threshold_s: float = STUCK_AFTER_S,
    activities: Mapping[int, str] | None = None,
    lines: Mapping[int, str] | None = None,
) -> Verdict | None:
    """Judge a world.

    Args:
        samples: the latest sample of each running rank.
        busy: ranks that run a cell.
        in_cell: ranks that run the cell or have ended it.
        size: size of the world.
        places: positions of ranks in the user's code, if known.
        threshold_s: time in a collective after which the world is judged, seconds.
        activities: activities of ranks by their stacks, if known.
        lines: source of the user's own line that ranks are in, if known; named instead of a guess.

    Returns:
        The verdict; None if the world moves or can't be judged.
    """
    found = _judged(samples, busy, in_cell, size, places, threshold_s, activities, lines or {})
    if found is None or found.standings:
        return found
    each = positions(found.ranks, found.peers, samples, places)
    return replace(found, standings=each)


def _judged(
    samples: Sequence[RankSample],
    busy: Sequence[int],
    in_cell: Sequence[int],
    size: int,
    places: Mapping[int, Where],
    threshold_s: float,
    activities: Mapping[int, str] | None,
    lines: Mapping[int, str],
) -> Verdict | None:
    inside = {s.rank for s in samples if s.operation}
    missing = tuple(rank for rank in range(size) if rank not in inside)
    hopeless = bool(missing) and all(rank not in busy and rank not in in_cell for rank in missing)
    within = min(threshold_s, HOPELESS_AFTER_S) if hopeless else threshold_s
    waiting = [s for s in samples if s.operation and (s.in_operation_s or 0.0) >= within]
    if not waiting:
        return None
    wait = Wait(samples, waiting, tuple(sorted(inside)), missing, places, lines)
    # if a rank runs the cell and its sample says idle, the sample is from the previous cell
    told = [s for s in samples if (s.rank in busy or s.rank in in_cell) and not (s.idle and s.rank in busy)]
    differs = mismatch.find({s.rank: s.calls for s in told})
    if differs is not None:
        return hang_verdicts.mismatched(wait, differs)
    if not missing and all(s.operation == BACKWARD for s in waiting):
        return None  # a long backward on every rank can't be distinguished from work
    if not missing:
        return hang_verdicts.no_progress(wait)
    apart = _apart(wait, busy, in_cell)
    if apart is not None:
        return apart
    absent = [s for s in samples if s.rank in missing]
    stopped = tuple(s.rank for s in absent if s.stopped)
    if stopped:
        return hang_verdicts.halted(wait, stopped)
    lately = min(PROGRESS_S, SUSPECT_SHARE * threshold_s)
    working = _working([s for s in absent if s.rank in busy], activities or {}, lately)
    if working is not None and len(working[1]) == len([r for r in missing if r in busy]):
        return hang_verdicts.behind(wait, *working)
    return hang_verdicts.stuck(wait, computing=all(_computes(s) for s in absent))


def _apart(wait: Wait, busy: Sequence[int], in_cell: Sequence[int]) -> Verdict | None:
    """The verdict if none of the missing ranks runs the cell, or if all of them have ended it."""
    missing = wait.missing
    if all(rank not in busy and rank not in in_cell for rank in missing):
        return hang_verdicts.not_in_cell(wait)
    if all(rank not in busy and rank in in_cell for rank in missing):
        fewer = len(wait.peers) < len(missing)
        return hang_verdicts.extra(wait) if fewer else hang_verdicts.left(wait)
    return None


def _computes(sample: RankSample) -> bool:
    """Whether a rank uses a core, or would if others left it one: a long computation, or an endless loop."""
    return (sample.cpu_utilization or 0.0) + (sample.starved or 0.0) >= COMPUTING_SHARE


def _working(
    missing: Sequence[RankSample], activities: Mapping[int, str], lately_s: float
) -> tuple[str, list[int]] | None:
    """The activity of the missing ranks, and which ranks are busy; None if no missing rank is."""
    found: dict[int, str] = {}
    for sample in missing:
        if sample.doing == "data" or activities.get(sample.rank) == "data":
            found[sample.rank] = "data"
        elif activities.get(sample.rank):
            found[sample.rank] = activities[sample.rank]
        elif sample.beat_s is not None and sample.beat_s < lately_s and (sample.step or sample.doing):
            found[sample.rank] = "works"
    return (next(iter(found.values())), sorted(found)) if found else None
