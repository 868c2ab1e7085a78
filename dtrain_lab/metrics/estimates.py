"""Computes metrics of a rank from its step records, and of a world from its ranks' samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean, median
from typing import Any

from msgspec.structs import replace

from dtrain_lab.metrics import over_ranks, ring
from dtrain_lab.metrics.communication import Split, split
from dtrain_lab.metrics.other_waits import part_s
from dtrain_lab.metrics.own_time import own_s, parts_within
from dtrain_lab.metrics.probes import PROBES, longer_backward, probes
from dtrain_lab.metrics.ring import StepRecord
from dtrain_lab.wire.cluster import Rank
from dtrain_lab.wire.links import RankMetrics, RankSample
from dtrain_lab.wire.metrics.world import Metrics

WINDOW_S = 5.0
"""Metrics are computed from the steps of this window, up to the last one, and from at least `FEWEST` of them.

The second step of a cell counts alone: its first one is left out."""
FEWEST = 2
STALE_S = 10.0
"""Time without a step after which rates are no longer shown."""
PAUSE = 20
"""A step that takes this multiple of a usual one contains a pause, such as an idle notebook."""


def rank_metrics(records: Sequence[StepRecord], now: int, in_cell: int | None = None) -> RankMetrics:
    """Metrics of a rank.

    Args:
        records: its last steps, oldest first.
        now: time on the records' clock, ns.
        in_cell: how many of the last records are of the current cell; by default all. Earlier records are
            used for their probes only. The cell's first step isn't used for rates once there is another one:
            it warms up, and lacks what the loop does between two steps.

    Returns:
        The metrics; all None without two steps, or without a step in the last 10 s.
    """
    if not records or now - records[-1].ended > STALE_S * 1e9:
        return RankMetrics()
    whole, recent = _recent_steps(records, in_cell)
    if not recent:
        return RankMetrics()
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
    alone = [r.wall - r.exposed - r.tail for r in plain]
    return RankMetrics(
        steps_per_s=steps / wall,
        samples_per_s=samples / wall if samples else None,
        tokens_per_s=tokens / wall if tokens else None,
        step_s=step,
        data_s=fmean(r.data for r in recent) / 1e9,
        compute_s=max(0.0, fmean(r.forward + r.backward for r in plain) / 1e9 - overlapped),
        optimizer_s=fmean(r.optimizer for r in plain) / 1e9,
        exposed_s=exposed,
        exposed_error_s=error,
        synced=bool(synced),
        on_processor=_on_processor(plain, exposed),
        averaging_s=_averaging(whole),
        gradient_bytes=round(fmean(r.gradients for r in recent)) or None,
        batches=round(median(r.batches for r in recent)),
        batch=round(median(r.samples / max(1, r.batches) for r in recent)) or None,
        typical_own_s=max(0.0, median(alone) / 1e9 - (overlapped - seen * averaged)),
    )


def _recent_steps(
    records: Sequence[StepRecord], in_cell: int | None
) -> tuple[list[StepRecord], list[StepRecord]]:
    """Choose the steps that metrics are computed from.

    Args:
        records: a rank's last steps, oldest first.
        in_cell: how many of them are of the current cell, as for `rank_metrics`.

    Returns:
        Whole steps without a pause, for probes, and the recent ones of the cell, for rates; the latter are
        empty if there are too few.
    """
    own = list(records[-in_cell:] if in_cell else records if in_cell is None else ())
    if not own:
        return [], []
    before = records[: len(records) - len(own)]
    first = own[0] if in_cell == len(own) > 1 else None
    own = [r for r in own if not r.flags & (ring.PARTIAL | ring.PAUSED)]
    usual = median([r.wall for r in own if r is not first] or [0])
    own = [r for r in own if r.wall <= PAUSE * usual]
    whole = [*before, *own]
    own = [r for r in own if r is not first]
    # up to the last step, not up to now: while a cell validates or saves after its loop, ever fewer would be
    # left, in the end two in which ranks wait for each other: a spike at the end of the chart
    recent = [r for r in own if own[-1].ended - r.ended <= WINDOW_S * 1e9]
    if len(recent) < FEWEST:
        recent = own[-FEWEST:]
    enough = len(recent) >= (FEWEST if first is None else 1)
    return whole, recent if enough else []


def without_communication(metrics: RankMetrics) -> RankMetrics:
    """Return metrics if only steps and samples are known."""
    return RankMetrics(
        steps_per_s=metrics.steps_per_s,
        samples_per_s=metrics.samples_per_s,
        step_s=metrics.step_s,
        batch=metrics.batch,
    )


def _averaging(records: Sequence[StepRecord]) -> float | None:
    """Time of averaging by itself, from the last probed steps, seconds."""
    probed = [r.probe for r in records if r.flags & ring.PROBED and r.probe][-PROBES:]
    return median(probed) / 1e9 if probed else None


def _on_processor(records: Sequence[StepRecord], exposed: float) -> float:
    computing = fmean(r.wall - r.data for r in records) / 1e9 - exposed
    ran = fmean(r.processor for r in records) / 1e9
    return min(1.0, max(0.0, ran / computing)) if computing > 0 else 0.0


def _share(records: Sequence[StepRecord], overlapped: float, *, alike: bool) -> float:
    """Communication's share of a usual step.

    Where all steps are averaged, the usual step is the median step, and a median of sums is larger than the
    sum of medians: a rank that computes longer makes its peers wait, so steps are late more often than any of
    their parts. So communication is the time of a step beyond its other parts. Data is left out, because an
    uneven loader has nothing to do with peers.

    Args:
        records: records of steps.
        overlapped: time that communication adds to backward, seconds per step.
        alike: whether gradients are averaged in all of the steps.
    """
    if not alike:
        return (fmean(r.exposed for r in records) / 1e9 + overlapped) / (fmean(r.wall for r in records) / 1e9)
    without_data = median(r.wall - r.data for r in records)
    rest = median(r.wall - r.data - r.backward - r.exposed for r in records)
    backward = median(r.backward for r in records)
    return ((without_data - rest - backward) / 1e9 + overlapped) / (median(r.wall for r in records) / 1e9)


def _usual_tail(records: Sequence[StepRecord]) -> float:
    """Communication that the hooks see in a usual backward, seconds.

    A difference of medians, not the median tail: with uneven tails that one would count twice.
    """
    with_, without = median(r.backward for r in records), median(r.backward - r.tail for r in records)
    return (with_ - without) / 1e9


def world_metrics(samples: Sequence[RankSample], size: int, crowded: bool) -> Metrics:
    """Metrics of the world.

    Args:
        samples: the latest sample of each rank.
        size: size of the world.
        crowded: whether ranks share all cores of a machine.
    """
    splits = split(samples, size, crowded)
    known = [s for s in samples if s.step_s]
    if not known:
        return Metrics()
    of_ranks = {s.rank: _of_rank(s, splits.get(s.rank)) for s in known}
    loop: dict[str, Any] = over_ranks.loop(list(of_ranks.values()))
    loop["compute_s"] = _exact(loop)
    sent = over_ranks.value(Metrics, "gradient_bytes", (s.gradient_bytes or None for s in known))
    own = {rank: of_ranks[rank]["own_s"] or 0.0 for rank in splits}
    # guessed steps don't count batches
    sizes = [s.batch for s in known if s.batch is not None and not s.unsure]
    passes = {s.batches for s in known}
    whole = len(sizes) == len(known) == size
    epochs = [s.epoch for s in known if s.epoch is not None]
    return Metrics(
        **loop,
        unsure=any(s.unsure for s in known),
        epoch=min(epochs, key=lambda e: (e.number, e.done)) if epochs else None,
        gradient_bytes=None if sent is None else round(sent),
        rank_batch=sizes[0] if whole and len(set(sizes)) == 1 else None,
        global_batch=sum(sizes) if whole else None,
        accumulated=passes.pop() if len(passes) == 1 else 1,
        comm_bound=next((s.bound for s in known if s.bound), ""),
        slowest_rank=max(own, key=lambda rank: own[rank]) if len(own) > 1 else None,
        skew_s=max(own.values()) - min(own.values()) if len(own) > 1 else None,
    )


def _exact(loop: Mapping[str, float | None]) -> float | None:
    """Time of forward and backward, no more than the other parts leave of a step.

    Backward alone is a difference of two measurements, the least exact of the parts.
    """
    step, share, compute = (loop[name] for name in ("step_s", "comm_overhead", "compute_s"))
    if step is None or share is None or compute is None:
        return compute
    return min(compute, max(0.0, step * (1 - share) - (loop["data_s"] or 0.0) - (loop["optimizer_s"] or 0.0)))


def _of_rank(sample: RankSample, split: Split | None) -> dict[str, float | None]:
    """A rank's metrics of its steps, by name.

    Args:
        sample: its latest sample.
        split: the split of its communication; None if unknown.
    """
    step, compute, optimizer = sample.step_s, sample.compute_s, sample.optimizer_s
    share = split.comm_overhead if split is not None else None
    undisturbed = (
        split.undisturbed if split is not None else 1.0
    )  # the slowdown after waits counts as communication
    return {
        "samples_per_s": sample.samples_per_s,
        "tokens_per_s": sample.tokens_per_s,
        "step_s": step,
        "data_s": sample.data_s,
        "compute_s": None if compute is None else compute * undisturbed,
        "optimizer_s": None if optimizer is None else optimizer * undisturbed,
        **(_beside_measured(sample, split, undisturbed) if split is not None else {}),
        "transfer_s": split.transfer_s if split is not None else None,
        "wait_s": split.wait_s if split is not None else None,
        "comm_overhead": share,
        "comm_overhead_error": split.error if split is not None else None,
        "own_s": own_s(step, (share or 0.0) * (step or 0.0)),
    }


def _beside_measured(sample: RankSample, split: Split, undisturbed: float) -> dict[str, float | None]:
    """A rank's parts of a step beside those that were measured: computation has what they leave."""
    if split.data_s is None and split.estimated is None and split.own_code is None:
        return {}
    step, data = sample.step_s or 0.0, sample.data_s or 0.0
    before = split.comm_overhead if split.estimated is None else split.estimated
    parts = parts_within(
        step * (1 - split.comm_overhead) - (data if split.data_s is None else split.data_s),
        step * (1 - before) - data,
        None if sample.compute_s is None else sample.compute_s * undisturbed,
        None if sample.optimizer_s is None else sample.optimizer_s * undisturbed,
        None if split.own_code is None else split.own_code * step,
    )
    return parts if split.data_s is None else {**parts, "data_s": split.data_s}


def with_metrics(rank: Rank, sample: RankSample, split: Split | None, asleep: float | None = None) -> Rank:
    """Add the metrics of a rank's latest sample to the rank.

    Args:
        rank: the rank's identity, node and state.
        sample: its latest sample.
        split: the split of its communication; None if unknown.
        asleep: share of a step in which it is asleep, if a verdict says so.
    """
    of_steps: dict[str, Any] = _of_rank(sample, split)
    return replace(
        rank,
        **of_steps,
        unsure=sample.unsure,
        step=sample.step,
        steps_per_s=sample.steps_per_s,
        asleep_s=part_s(asleep, sample.step_s, of_steps["data_s"], split.comm_overhead if split else None),
        comm_bound=sample.bound,
        cpu_utilization=sample.cpu_utilization,
        memory_bytes=sample.memory_bytes,
        device_memory_bytes=sample.device_memory_bytes,
        device_memory_total_bytes=sample.device_memory_total_bytes,
        device_utilization=sample.device_utilization,
    )
