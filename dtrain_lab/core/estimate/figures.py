"""Figures of a rank from its step records, and of a world from its ranks."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, median
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from dtrain_lab.core.cluster import Metrics, Rank
from dtrain_lab.core.estimate import cold, ring
from dtrain_lab.core.estimate.ring import StepRecord
from dtrain_lab.core.wire.links import RankSample

WINDOW_S = 5.0
"""Figures are of the last steps that fit into this, at least `FEWEST`."""
FEWEST = 2
STALE_S = 10.0
"""After this without a step, a rate is no longer shown."""
PAUSE = 20
"""A step that took so many times the usual one contains a pause: a cell that waited, an idle notebook."""

OVERHEAD_ERROR = 0.05
"""Exposure alone (X / W) was 2 to 5 points off the measured truth where ranks had cores to themselves …"""
OVERHEAD_ERROR_CROWDED = 0.17
"""… and up to 17 where ranks shared all cores of a machine."""
OVERHEAD_ERROR_BY_HAND = 0.06
"""Without DDP: hand-written and functional collectives and FSDP2 were up to 6 points off."""
LEAST_ERROR = 0.01
"""What a probed share was off the truth at most, where that was known exactly …"""
LEAST_ERROR_CROWDED = 0.1
"""… and where ranks compute on all cores of a machine: how much slower communication makes the rest of a step
no probe sees (`cold`)."""
PROBES = 24
"""The last ones count."""
NEIGHBOURS = 32
"""Steps before and after a probe that it is compared with: enough that the noise left is that of probes."""
LEAST_AROUND = 4
DRIFT = 0.15
"""Of a backward's time. Medians of a second's steps differ by less where nothing has changed."""
MAD = 1.4826
"""Median absolute deviation → standard deviation of a normal distribution."""


class RankFigures(Struct, frozen=True):
    """What a rank did in the window. Seconds a step; None where too few steps ran.

    `exposed_s`: it stood for communication. `error_s`: how far that may be off; None where nothing measured
    it. `on_processor`: the share of the rest, but for data, in which the training thread ran.
    `typical_own_s`: own time of the median step.
    """

    steps_per_s: float | None = None
    samples_per_s: float | None = None
    tokens_per_s: float | None = None
    step_s: float | None = None
    data_s: float | None = None
    compute_s: float | None = None
    optimizer_s: float | None = None
    exposed_s: float | None = None
    error_s: float | None = None
    synced: bool = False
    on_processor: float = 0.0
    typical_own_s: float | None = None


def rank_figures(records: Sequence[StepRecord], now: int) -> RankFigures:
    """Figures of a rank.

    Args:
        records: its last steps, oldest first.
        now: nanoseconds of the clock that the records use.
    """
    if not records or now - records[-1].ended > STALE_S * 1e9:
        return RankFigures()
    usual = median(r.wall for r in records)
    whole = [r for r in records if r.wall <= PAUSE * usual]
    recent = [r for r in whole if now - r.ended <= WINDOW_S * 1e9]
    if len(recent) < FEWEST:
        recent = whole[-FEWEST:]
    if len(recent) < FEWEST:
        return RankFigures()
    wall = sum(r.wall for r in recent) / 1e9
    steps = len(recent)
    samples = sum(r.samples for r in recent)
    tokens = sum(r.tokens for r in recent)
    plain = [r for r in recent if not r.flags & ring.PROBED] or recent
    synced = [r for r in plain if r.flags & ring.SYNCED]
    seen = _usual_tail(synced) if synced else 0.0
    found = probes(whole)
    longer, error = longer_backward(found, synced)
    averaged = len(synced) / len(plain)
    overlapped = (seen if longer is None else longer) * averaged
    step = wall / steps
    exposed = step * min(1.0, max(0.0, _share(plain, overlapped, alike=averaged == 1.0)))
    own = [r.wall - r.exposed - r.tail for r in plain]
    return RankFigures(
        steps_per_s=steps / wall,
        samples_per_s=samples / wall if samples else None,
        tokens_per_s=tokens / wall if tokens else None,
        step_s=step,
        data_s=fmean(r.data for r in recent) / 1e9,
        compute_s=max(0.0, fmean(r.forward + r.backward for r in plain) / 1e9 - overlapped),
        optimizer_s=fmean(r.optimizer for r in plain) / 1e9,
        exposed_s=exposed,
        error_s=error,
        synced=bool(synced),
        on_processor=_on_processor(plain, exposed),
        typical_own_s=max(0.0, median(own) / 1e9 - (overlapped - seen * averaged)),
    )


def _on_processor(records: Sequence[StepRecord], exposed: float) -> float:
    computing = fmean(r.wall - r.data for r in records) / 1e9 - exposed
    ran = fmean(r.processor for r in records) / 1e9
    return min(1.0, max(0.0, ran / computing)) if computing > 0 else 0.0


def _share(records: Sequence[StepRecord], overlapped: float, *, alike: bool) -> float:
    """Communication's share of a usual step.

    Where all steps are averaged, the usual step is the median one, and a median of sums is more than the sum
    of medians: a rank that computes longer makes its peers wait, so steps are late more often than any part
    of them. What a step takes beyond its parts without communication is communication, then. Data is left
    out of it: how uneven a loader is has nothing to do with peers.

    Args:
        records: of steps.
        overlapped: what backward takes longer because of communication, seconds a step.
        alike: all of the steps are averaged.
    """
    if not alike:
        return (fmean(r.exposed for r in records) / 1e9 + overlapped) / (fmean(r.wall for r in records) / 1e9)
    without_data = median(r.wall - r.data for r in records)
    rest = median(r.wall - r.data - r.backward - r.exposed for r in records)
    backward = median(r.backward for r in records)
    return ((without_data - rest - backward) / 1e9 + overlapped) / (median(r.wall for r in records) / 1e9)


def _usual_tail(records: Sequence[StepRecord]) -> float:
    """What the hooks see of communication in a usual backward, seconds.

    The median of sums is not the sum of medians: where tails are uneven, theirs would count twice.
    """
    with_, without = median(r.backward for r in records), median(r.backward - r.tail for r in records)
    return (with_ - without) / 1e9


class Probe(NamedTuple):
    """A probed step, and the medians of the usual synced ones around it; nanoseconds."""

    alone: float
    """Its backward, which nothing was sent in."""
    backward: float
    forward: float


def probes(records: Sequence[StepRecord]) -> list[Probe]:
    """The last probes.

    Args:
        records: of one rank, oldest first; without those that contain a pause.
    """
    found = []
    for index, probe in enumerate(records):
        if not probe.flags & ring.PROBED or not probe.backward:
            continue
        around = [
            r
            for r in records[max(0, index - NEIGHBOURS) : index + NEIGHBOURS + 1]
            if r.flags & ring.SYNCED and not r.flags & ring.PROBED
        ]
        if len(around) >= LEAST_AROUND:
            backward, forward = median(r.backward for r in around), median(r.forward for r in around)
            found.append(Probe(probe.backward, backward, forward))
    return found[-PROBES:]


def longer_backward(
    found: Sequence[Probe], synced: Sequence[StepRecord]
) -> tuple[float | None, float | None]:
    """What communication adds to a backward, from probes.

    A probed step averages gradients after its backward, which computed alone. In the steps around it backward
    took longer: tail + δ = backward − backward alone, the median of the last probes. What a step's other
    parts take is left out, whose noise would double that of the figure (`docs/metrics.md`).

    Probes are rare. Where backward is not any more what it was around them, by more than `DRIFT`, the last
    steps' own is taken, less what it would take alone now: the probes', slowed down as forward was, which
    sends nothing. So a network that gets slower is seen at once, and is not taken for slow computation, nor a
    processor that does for communication.

    Args:
        found: the last probes.
        synced: the last synced steps, not probed.

    Returns:
        That time and its standard error, seconds. None without a probe; the error with fewer than two.
    """
    if not found:
        return None, None
    middle = median(probe.backward - probe.alone for probe in found)
    spread = MAD * median(abs(probe.backward - probe.alone - middle) for probe in found)
    error = spread / 1e9 / len(found) ** 0.5 if len(found) > 1 else None
    if len(synced) >= LEAST_AROUND:
        now, then = median(r.backward for r in synced), median(probe.backward for probe in found)
        if abs(now - then) > DRIFT * then:
            forward = median(r.forward for r in synced)
            slowed = [p.alone * (forward / p.forward if p.forward else 1.0) for p in found]
            middle = max(0.0, now - median(slowed))
    return middle / 1e9, error


class Split(Struct, frozen=True):
    """A rank's step: communication apart into transfer and waiting for slower ranks; seconds.

    `warm`: the share of its computation that is its own; the rest is what waiting makes it slower.
    """

    comm_overhead: float
    error: float
    transfer_s: float
    wait_s: float
    warm: float = 1.0


def split(samples: Sequence[RankSample], size: int, crowded: bool) -> dict[int, Split]:
    """Split every rank's communication.

    The rank that waits least is the slowest: what it stands in collectives is transfer, what others stand
    longer is waiting for it. transfer = min X, wait_r = X_r − min X, overhead_r = X_r / W_r.

    Args:
        samples: of the ranks that are known.
        size: of the world; one rank communicates with nobody.
        crowded: ranks share all cores of a machine.
    """
    known = [s for s in samples if s.exposed_s is not None and s.step_s]
    if not known:
        return {}
    if size == 1:
        return {known[0].rank: Split(0.0, 0.0, 0.0, 0.0)}
    parts = [(s, *_communicated(s, crowded)) for s in known]
    least = min(taken for _, taken, _ in parts)
    return {
        s.rank: Split(
            comm_overhead=min(1.0, taken / (s.step_s or 1.0)),
            error=overhead_error(s, crowded),
            transfer_s=least,
            wait_s=taken - least,
            warm=warm,
        )
        for s, taken, warm in parts
    }


def _communicated(sample: RankSample, crowded: bool) -> tuple[float, float]:
    """What communication costs a step, seconds; and `Split.warm`."""
    exposed = sample.exposed_s or 0.0
    if not crowded or sample.exposed_error_s is None:
        return exposed, 1.0
    own = (sample.step_s or 0.0) - (sample.data_s or 0.0) - exposed
    warm = cold.warm(exposed, own, sample.on_processor)
    return exposed + max(0.0, own) * (1 - warm), warm


def overhead_error(sample: RankSample, crowded: bool) -> float:
    """How far a rank's share of communication may be off, as a share of the step.

    With probes, two of their standard errors; else what the method was off where the truth was measured.
    """
    if not sample.exposed_s:
        return 0.0
    if sample.exposed_error_s is not None and sample.step_s:
        least = LEAST_ERROR_CROWDED if crowded else LEAST_ERROR
        return max(least, 2 * sample.exposed_error_s / sample.step_s)
    if not sample.synced:
        return OVERHEAD_ERROR_BY_HAND
    return OVERHEAD_ERROR_CROWDED if crowded else OVERHEAD_ERROR


def world_metrics(samples: Sequence[RankSample], size: int, crowded: bool) -> Metrics:
    """Figures of the world from the latest sample of each rank."""
    splits = split(samples, size, crowded)
    known = [s for s in samples if s.step_s]
    if not known:
        return Metrics()
    rates = [s.samples_per_s for s in known if s.samples_per_s is not None]
    tokens = [s.tokens_per_s for s in known if s.tokens_per_s is not None]
    own = {s.rank: (s.step_s or 0.0) - (s.exposed_s or 0.0) for s in known}
    slowest = max(own, key=lambda rank: own[rank]) if len(own) > 1 else None
    epochs = [s.epoch for s in known if s.epoch is not None]
    return Metrics(
        samples_per_s=sum(rates) if rates else None,
        tokens_per_s=sum(tokens) if tokens else None,
        unsure=any(s.unsure for s in known),
        epoch=min(epochs, key=lambda e: (e.number, e.done)) if epochs else None,
        step_s=median(s.step_s or 0.0 for s in known),
        data_s=median(s.data_s or 0.0 for s in known),
        compute_s=_middle([_of(s.compute_s, splits.get(s.rank)) for s in known]),
        optimizer_s=_middle([_of(s.optimizer_s, splits.get(s.rank)) for s in known]),
        transfer_s=median(x.transfer_s for x in splits.values()) if splits else None,
        wait_s=median(x.wait_s for x in splits.values()) if splits else None,
        comm_overhead=fmean(x.comm_overhead for x in splits.values()) if splits else None,
        comm_overhead_error=max(x.error for x in splits.values()) if splits else None,
        comm_bound=next((s.bound for s in known if s.bound), ""),
        slowest_rank=slowest,
        skew_s=max(own.values()) - min(own.values()) if len(own) > 1 else None,
    )


def _of(taken: float | None, split: Split | None) -> float | None:
    return taken * split.warm if taken is not None and split is not None else taken


def _middle(values: Sequence[float | None]) -> float | None:
    known = [v for v in values if v is not None]
    return median(known) if known else None


def with_figures(rank: Rank, sample: RankSample, split: Split | None) -> Rank:
    """A rank with the figures of its latest sample.

    Args:
        rank: who, where, in which state.
        sample: of it.
        split: of its communication, where that is known.
    """
    return replace(
        rank,
        unsure=sample.unsure,
        step=sample.step,
        steps_per_s=sample.steps_per_s,
        samples_per_s=sample.samples_per_s,
        tokens_per_s=sample.tokens_per_s,
        step_s=sample.step_s,
        data_s=sample.data_s,
        compute_s=_of(sample.compute_s, split),
        optimizer_s=_of(sample.optimizer_s, split),
        transfer_s=split.transfer_s if split else None,
        wait_s=split.wait_s if split else None,
        comm_overhead=split.comm_overhead if split else None,
        comm_overhead_error=split.error if split else None,
        comm_bound=sample.bound,
        cpu_utilization=sample.cpu_utilization,
        memory_bytes=sample.memory_bytes,
        device_memory_bytes=sample.device_memory_bytes,
        device_memory_total_bytes=sample.device_memory_total_bytes,
        device_utilization=sample.device_utilization,
    )
