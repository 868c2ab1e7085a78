"""Puts measured communication and waiting for data in the place of estimates, in a loop's metrics. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Any

from msgspec.structs import replace

from dtrain_lab.metrics import communication
from dtrain_lab.metrics.communication import Split, room_beside_data
from dtrain_lab.metrics.diagnosis_text import is_unsteady
from dtrain_lab.metrics.own_time import parts_within
from dtrain_lab.wire.links import RankSample
from dtrain_lab.wire.metrics.diagnosis import Check, Diagnosis
from dtrain_lab.wire.metrics.world import Last, Metrics


def scaled(part_s: float | None, estimate: float | None, check: Check) -> float | None:
    """Transfer's or waiting's part of measured communication; None if it is unknown.

    A diagnosis measures communication as a whole, so its parts keep the ratio that was estimated. Without
    an estimate, it is unknown how much of it is waiting for a slow rank.

    Args:
        part_s: estimated seconds of the part.
        estimate: estimated share of communication.
        check: the measurement that replaces it.
    """
    return part_s * check.share / estimate if part_s is not None and estimate else None


def measured_data(diagnosis: Diagnosis | None) -> Check | None:
    """Return the measured waiting for data that replaces the estimate; None if there is none.

    An unsteady measurement does not replace it, nor one of steps that leave out the waiting for a slow rank.

    Args:
        diagnosis: the loop's diagnosis; None if it was not diagnosed.
    """
    data = diagnosis.data if diagnosis is not None and diagnosis.slow_rank is None else None
    if data is None or data.in_loop:  # the monitor has taken that time itself
        return None
    return None if is_unsteady(data.share, data.error) else data


def of_running(diagnosis: Diagnosis) -> Diagnosis:
    """Return what of a diagnosis holds for steps that run: how long they wait for a slow rank is seen.

    Args:
        diagnosis: the loop's diagnosis.
    """
    return replace(diagnosis, waiting=0.0) if diagnosis.waiting else diagnosis


def with_measured(metrics: Metrics, diagnosis: Diagnosis) -> Metrics:
    """Replace estimated communication and waiting for data in metrics by the measured ones.

    They are kept where ranks wait for a slow one and it is not known how long: the estimate has that waiting,
    the measurement leaves it out. Where waiting for data was not measured, steps that now wait longer for it
    leave less of a step to communication.

    Args:
        metrics: metrics of the diagnosed loop.
        diagnosis: its diagnosis from replayed steps.
    """
    shares = _with_shares(metrics, diagnosis)
    data = measured_data(diagnosis)
    error = data.error if data is not None and "data_s" in shares else None
    measured = metrics.measured or "comm_overhead" in shares
    return replace(metrics, **shares, data_error=error, measured=measured)


def last_of(metrics: Metrics) -> Last:
    """Return the metrics that are kept of a loop after its end."""
    return Last(**{field: getattr(metrics, field) for field in Last.__struct_fields__})


def last_with_measured(last: Last | None, diagnosis: Diagnosis | None) -> Last | None:
    """Replace shares in the last metrics of a loop by those measured afterwards, as `with_measured` does.

    Args:
        last: metrics of the loop's last steps; None before any.
        diagnosis: its diagnosis; None if nothing was measured.
    """
    if diagnosis is None or last is None:
        return last
    return replace(last, **_with_shares(last, diagnosis))


def splits_with_measured(
    splits: dict[int, Split], samples: Sequence[RankSample], diagnosis: Diagnosis | None
) -> dict[int, Split]:
    """Scale the ranks' estimated parts, so that their means equal the measured shares.

    Args:
        splits: estimated splits by rank.
        samples: the latest samples of the ranks.
        diagnosis: the loop's diagnosis; None if it was not diagnosed.
    """
    if diagnosis is not None and diagnosis.own_code and diagnosis.slow_rank is None:
        splits = _with_own_code(splits, samples, diagnosis.own_code)
    data = measured_data(diagnosis)
    if data is not None:
        splits = _with_data(splits, samples, data.share)
    check = _communication(diagnosis)
    return splits if check is None else communication.with_measured(splits, check.share, check.error)


def _with_data(splits: dict[int, Split], samples: Sequence[RankSample], share: float) -> dict[int, Split]:
    waits = {s.rank: s.data_s / s.step_s for s in samples if s.step_s and s.data_s is not None}
    steps = {s.rank: s.step_s or 0.0 for s in samples}
    if not waits or not (mean := fmean(waits.values())):
        return splits
    shares = {rank: min(1.0, wait * share / mean) for rank, wait in waits.items()}
    return {
        rank: replace(split, data_s=shares[rank] * steps[rank], most=1 - shares[rank])
        if rank in shares
        else split
        for rank, split in splits.items()
    }


def _communication(diagnosis: Diagnosis | None) -> Check | None:
    """Measured communication that replaces the estimate; None if there is none."""
    if diagnosis is None or (diagnosis.slow_rank is not None and not diagnosis.waiting):
        return None
    return diagnosis.communication


def _with_shares(of: Metrics | Last, diagnosis: Diagnosis) -> dict[str, Any]:
    """The fields of a step's metrics that measured shares replace."""
    step = of.step_s
    if not step:
        return {}
    fields: dict[str, Any] = {}
    data_s, share = of.data_s, of.comm_overhead or 0.0
    before_s = step * (1 - share) - (data_s or 0.0)
    data = measured_data(diagnosis)
    if data is not None and data_s is not None:
        fields["data_s"] = data_s = data.share * step
    check = _communication(diagnosis)
    if check is not None:
        check = replace(check, share=min(check.share, room_beside_data(step, data_s)))
        share = check.share
        fields |= {
            "comm_overhead": check.share,
            "comm_overhead_error": check.error,
            "comm_bound": "",
            "transfer_s": scaled(of.transfer_s, of.comm_overhead, check),
            "wait_s": scaled(of.wait_s, of.comm_overhead, check),
        }
        if diagnosis.waiting:
            wait = min(diagnosis.waiting, share)
            fields |= {"transfer_s": (share - wait) * step, "wait_s": wait * step}
    if fields:
        room_s = step * (1 - share) - (data_s or 0.0)
        own_s = diagnosis.own_code * step if diagnosis.own_code else None
        fields |= parts_within(room_s, before_s, of.compute_s, of.optimizer_s, own_s)
    return fields


def _with_own_code(splits: dict[int, Split], samples: Sequence[RankSample], share: float) -> dict[int, Split]:
    """Scale what is none of the ranks' known parts, so that its mean equals the share of own code."""
    rests = {s.rank: _rest(s, splits[s.rank]) for s in samples if s.step_s and s.rank in splits}
    if not rests or not (mean := fmean(rests.values())):
        return splits
    return {
        rank: replace(split, own_code=rests[rank] * share / mean) if rank in rests else split
        for rank, split in splits.items()
    }


def _rest(sample: RankSample, split: Split) -> float:
    """Share of a rank's step that is none of its parts as they were estimated."""
    computed = ((sample.compute_s or 0.0) + (sample.optimizer_s or 0.0)) * split.undisturbed
    known = (sample.data_s or 0.0) + computed
    return max(0.0, 1 - split.comm_overhead - known / (sample.step_s or 1.0))
