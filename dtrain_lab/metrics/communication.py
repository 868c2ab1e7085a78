"""Splits each rank's communication into transfer and waiting, with an error. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean

from msgspec import Struct
from msgspec.structs import replace

from dtrain_lab.metrics import cold_caches
from dtrain_lab.wire.links import RankSample

OVERHEAD_ERROR = 0.05
"""Error of exposure alone (X / W): 2 to 5 points off the measured truth if ranks have their own cores."""
OVERHEAD_ERROR_CROWDED = 0.17
"""The same if ranks share all cores of a machine: up to 17 points off."""
OVERHEAD_ERROR_BY_HAND = 0.06
"""Error without DDP: hand-written and functional collectives and FSDP2 were up to 6 points off."""
LEAST_ERROR = 0.01
"""Largest error of a probed share where the truth was known exactly."""
LEAST_ERROR_CROWDED = 0.1
"""The same if ranks compute on all cores of a machine: probes don't show how much communication slows down
the rest of a step (`cold_caches`)."""


class Split(Struct, frozen=True):
    """A rank's communication, split into transfer and waiting for slower ranks; seconds per step.

    `undisturbed` is the share of its computing time that remains without the slowdown after waits
    (`cold_caches`). `most` is the share of a step that waiting for data leaves: no more is communication.
    `data_s`: waiting for data as a diagnosis measured it; None where the rank's own estimate holds.
    `estimated`: the share of communication that a measured one replaces; None where nothing was measured.
    `own_code`: share of a step that the loop's own code takes as measured; None where it was not.
    """

    comm_overhead: float
    error: float
    transfer_s: float
    wait_s: float
    undisturbed: float = 1.0
    most: float = 1.0
    data_s: float | None = None
    estimated: float | None = None
    own_code: float | None = None


def split(samples: Sequence[RankSample], size: int, crowded: bool) -> dict[int, Split]:
    """Split every rank's communication.

    The rank that waits least is the slowest: its time in collectives is transfer, and the other ranks' extra
    time is waiting for it. transfer = min X, wait_r = X_r − min X, overhead_r = X_r / W_r. A rank that waits
    for data communicates nothing meanwhile, so X_r ≤ W_r − data_r.

    Args:
        samples: the latest samples of the known ranks.
        size: size of the world; a single rank has no communication.
        crowded: whether ranks share all cores of a machine.

    Returns:
        The split by rank.
    """
    measured = [s for s in samples if s.exposed_s is not None and s.step_s]
    if not measured:
        return {}
    if size == 1:
        return {measured[0].rank: Split(0.0, 0.0, 0.0, 0.0)}
    parts = [(s, *_communicated(s, crowded)) for s in measured]
    least = min(taken for _, taken, _ in parts)
    noise = starvation(measured)
    splits = {}
    for sample, taken, undisturbed in parts:
        share = taken / (sample.step_s or 1.0)
        splits[sample.rank] = Split(
            comm_overhead=share,
            error=widened(overhead_error(sample, crowded), noise, share),
            transfer_s=least,
            wait_s=taken - least,
            undisturbed=undisturbed,
            most=room_beside_data(sample.step_s, sample.data_s),
        )
    return splits


def room_beside_data(step_s: float | None, data_s: float | None) -> float:
    """Share of a step that waiting for data leaves to its other parts, 0 to 1.

    Args:
        step_s: Time of a step, seconds; None or 0 if unknown.
        data_s: Its part that waits for the data loader, seconds; None if unknown.
    """
    return min(1.0, max(0.0, 1.0 - (data_s or 0.0) / step_s)) if step_s else 1.0


def with_measured(splits: dict[int, Split], share: float, error: float) -> dict[int, Split]:
    """Scale estimated splits, so that their mean equals a measured share.

    Args:
        splits: estimated splits by rank.
        share: measured share of communication.
        error: error of that share.
    """
    mean = fmean(x.comm_overhead for x in splits.values()) if splits else 0.0
    if not mean:
        return splits
    return {rank: _scaled(x, share / mean, error) for rank, x in splits.items()}


def _scaled(of: Split, factor: float, error: float) -> Split:
    # a rank's communication, and with it its parts, takes no more than the rest of its step
    factor = min(factor, of.most / of.comm_overhead) if of.comm_overhead else factor
    return replace(
        of,
        comm_overhead=of.comm_overhead * factor,
        error=error,
        estimated=of.comm_overhead,
        transfer_s=of.transfer_s * factor,
        wait_s=of.wait_s * factor,
    )


def _communicated(sample: RankSample, crowded: bool) -> tuple[float, float]:
    """Cost of communication in seconds per step, the slowdown after waits included, and `Split.undisturbed`.

    It takes no more than waiting for data leaves of the step.
    """
    step, exposed = sample.step_s or 0.0, sample.exposed_s or 0.0
    most = step * room_beside_data(step, sample.data_s)
    if not crowded or sample.exposed_error_s is None:
        return min(exposed, most), 1.0
    own_s = step - (sample.data_s or 0.0) - exposed
    undisturbed = cold_caches.undisturbed_share(exposed, own_s, sample.on_processor)
    return min(exposed + max(0.0, own_s) * (1 - undisturbed), most), undisturbed


def starvation(samples: Sequence[RankSample]) -> float:
    """Mean share of time for which ranks waited for a core; 0 if unknown.

    Args:
        samples: the latest sample of each rank.
    """
    shares = [s.starved for s in samples if s.starved is not None]
    return fmean(shares) if shares else 0.0


def widened(error: float, noise: float, share: float) -> float:
    """Error of a share of the step on a machine whose ranks wait for cores.

    It is unknown in which part of a step a rank waited for a core, so any of that time may count as
    communication, or hide it. Both errors are independent: their squares add up.

    Args:
        error: error of the method, as a share of the step.
        noise: share of the time for which ranks waited for a core.
        share: the share of the step itself. No error leads below 0 and above 1.
    """
    return min(math.hypot(error, noise), max(share, 1.0 - share))


def overhead_error(sample: RankSample, crowded: bool) -> float:
    """Error of a rank's share of communication, as a share of the step.

    With probes it is two of their standard errors; otherwise the method's error where the truth was measured.

    Args:
        sample: the latest sample of the rank.
        crowded: whether ranks share all cores of a machine.
    """
    if not sample.exposed_s:
        return 0.0
    if sample.exposed_error_s is not None and sample.step_s:
        least = LEAST_ERROR_CROWDED if crowded else LEAST_ERROR
        return max(least, 2 * sample.exposed_error_s / sample.step_s)
    if not sample.synced:
        return OVERHEAD_ERROR_BY_HAND
    return OVERHEAD_ERROR_CROWDED if crowded else OVERHEAD_ERROR
