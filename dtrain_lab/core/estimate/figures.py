"""Figures of a rank from its step records, and of a world from its ranks."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from msgspec import Struct
from msgspec.structs import replace

from dtrain_lab.core.cluster import Metrics, Rank
from dtrain_lab.core.estimate.ring import StepRecord
from dtrain_lab.core.wire.links import RankSample

WINDOW_S = 5.0
"""Figures are of the last steps that fit into this, at least `FEWEST`."""
FEWEST = 2
STALE_S = 10.0
"""After this without a step, a rate is no longer shown."""

OVERHEAD_ERROR = 0.05
"""Exposure alone (X / W) was 2 to 5 points off the measured truth where ranks had cores to themselves."""
OVERHEAD_ERROR_CROWDED = 0.17
"""… and up to 17 where ranks shared all cores of a machine."""


class RankFigures(Struct, frozen=True):
    """What a rank did in the window. Seconds; None where too few steps ran."""

    steps_per_s: float | None = None
    samples_per_s: float | None = None
    step_s: float | None = None
    data_s: float | None = None
    exposed_s: float | None = None


def rank_figures(records: Sequence[StepRecord], now: int) -> RankFigures:
    """Figures of a rank.

    Args:
        records: its last steps, oldest first.
        now: nanoseconds of the clock that the records use.
    """
    if not records or now - records[-1].ended > STALE_S * 1e9:
        return RankFigures()
    # the first step of a stretch contains the pause before it: a cell that waited, an idle notebook
    usual = median(r.wall for r in records)
    recent = [r for r in records if now - r.ended <= WINDOW_S * 1e9 and r.wall <= 20 * usual]
    if len(recent) < FEWEST:
        recent = [r for r in records if r.wall <= 20 * usual][-FEWEST:]
    if len(recent) < FEWEST:
        return RankFigures()
    wall = sum(r.wall for r in recent) / 1e9
    steps = len(recent)
    samples = sum(r.samples for r in recent)
    return RankFigures(
        steps_per_s=steps / wall,
        samples_per_s=samples / wall if samples else None,
        step_s=wall / steps,
        data_s=sum(r.data for r in recent) / 1e9 / steps,
        exposed_s=min(1.0, sum(r.exposed + r.tail for r in recent) / 1e9 / wall) * wall / steps,
    )


class Split(Struct, frozen=True):
    """A rank's step: communication apart into transfer and waiting for slower ranks; seconds."""

    comm_overhead: float
    transfer_s: float
    wait_s: float


def split(samples: Sequence[RankSample], size: int) -> dict[int, Split]:
    """Split every rank's communication.

    The rank that waits least is the slowest: what it stands in collectives is transfer, what others stand
    longer is waiting for it. transfer = min X, wait_r = X_r − min X, overhead_r = X_r / W_r.

    Args:
        samples: of the ranks that are known.
        size: of the world; one rank communicates with nobody.
    """
    known = [s for s in samples if s.exposed_s is not None and s.step_s]
    if not known:
        return {}
    if size == 1:
        return {known[0].rank: Split(0.0, 0.0, 0.0)}
    least = min(s.exposed_s or 0.0 for s in known)
    return {
        s.rank: Split(
            comm_overhead=min(1.0, (s.exposed_s or 0.0) / (s.step_s or 1.0)),
            transfer_s=least,
            wait_s=(s.exposed_s or 0.0) - least,
        )
        for s in known
    }


def overhead_error(size: int, crowded: bool) -> float:
    """How far a share of communication may be off, as a share of the step; one rank has none."""
    if size == 1:
        return 0.0
    return OVERHEAD_ERROR_CROWDED if crowded else OVERHEAD_ERROR


def world_metrics(samples: Sequence[RankSample], size: int, crowded: bool) -> Metrics:
    """Figures of the world from the latest sample of each rank."""
    splits = split(samples, size)
    known = [s for s in samples if s.step_s]
    if not known:
        return Metrics()
    rates = [s.samples_per_s for s in known if s.samples_per_s is not None]
    own = {s.rank: (s.step_s or 0.0) - (s.exposed_s or 0.0) for s in known}
    slowest = max(own, key=lambda rank: own[rank]) if len(own) > 1 else None
    return Metrics(
        samples_per_s=sum(rates) if rates else None,
        step_s=median(s.step_s or 0.0 for s in known),
        comm_overhead=sum(x.comm_overhead for x in splits.values()) / len(splits) if splits else None,
        comm_overhead_error=overhead_error(size, crowded) if splits else None,
        slowest_rank=slowest,
        skew_s=max(own.values()) - min(own.values()) if len(own) > 1 else None,
    )


def with_figures(rank: Rank, sample: RankSample, split: Split | None, error: float) -> Rank:
    """A rank with the figures of its latest sample.

    Args:
        rank: who, where, in which state.
        sample: of it.
        split: of its communication, where that is known.
        error: how far the share of communication may be off, as a share of the step.
    """
    return replace(
        rank,
        unsure=sample.unsure,
        step=sample.step,
        steps_per_s=sample.steps_per_s,
        samples_per_s=sample.samples_per_s,
        step_s=sample.step_s,
        data_s=sample.data_s,
        transfer_s=split.transfer_s if split else None,
        wait_s=split.wait_s if split else None,
        comm_overhead=split.comm_overhead if split else None,
        comm_overhead_error=error if split else None,
        cpu_utilization=sample.cpu_utilization,
        memory_bytes=sample.memory_bytes,
        device_memory_bytes=sample.device_memory_bytes,
        device_memory_total_bytes=sample.device_memory_total_bytes,
        device_utilization=sample.device_utilization,
    )
