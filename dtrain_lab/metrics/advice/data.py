"""Advice on waiting for data. Pure."""

from __future__ import annotations

from math import hypot

from dtrain_lab.metrics.advice.measured import Measured, gain_error
from dtrain_lab.metrics.diagnosis_text import by_loader, late_share, slow_leads
from dtrain_lab.text.units import counted, known_share
from dtrain_lab.wire.metrics.diagnosis import vague
from dtrain_lab.wire.metrics.thresholds import WORTH_A_CHANGE
from dtrain_lab.wire.metrics.verdicts import Advice

FROM_SHARE = WORTH_A_CHANGE
"""Share of a step that waiting for data must take to be worth advice."""
INPUT_BOUND = 0.25
"""Share of a step from which training is called input-bound, as in `verdicts.straggler`."""
WORKERS = (1, 2, 4, 8, 16)
SLACK = 0.9
"""Share of a step in which the workers should have a batch ready."""
ERROR = 0.02
"""Minimum error of the share of waiting for data; a diagnosis may give a larger one."""
WAITS = 0.5
"""Share of processor time below which reading is assumed to wait for something else, such as a disk."""
WAITING_PER_CORE = 4
"""Workers that one core can serve if their reading waits like that; otherwise one."""
SPREAD = 0.3
"""Error of the gain of workers, as a share: they take time to start, and to hand over each batch."""


def workers(of: Measured) -> Advice | None:
    """Read ahead with more worker processes.

    Without workers, the reading time F of a batch is the wait for data. If training waits for a loader with
    w workers, a batch arrives every F / w, which is then a step, so F = w steps. With n workers, a step takes
    the longer of its other parts and F / n. Reading costs the same processor time as before: if all cores are
    busy, no worker can read ahead. No more workers are advised than the cores have time for.
    """
    share = _share(of)
    if share is None or of.workers is None or of.step_s is None:
        return None
    step, rest = of.step_s, of.step_s * (1 - share)
    reading = of.workers * step if of.workers else step * share
    more = [n for n in WORKERS if of.workers < n <= _most(of)]
    if not more:
        return None
    count = next((n for n in more if reading / n <= SLACK * rest), more[-1])
    gain = step / max(rest, reading / count, step * min(1.0, of.utilization or 0.0))
    return Advice(
        id="workers",
        change=f"Read batches ahead with {counted(count, 'worker process', 'worker processes')} per rank"
        + (f" instead of {of.workers}" if of.workers else ""),
        gain=gain,
        gain_error=hypot(
            gain_error(gain, _error(of)), (SPREAD if of.utilization is not None else 0.5) * (gain - 1)
        ),
        cost="Each process needs memory for 2 batches, and a core while it computes, but not while it waits "
        "for a disk or a network.",
        diff="",
        values={
            "variant": count,
            "workers": count,
            "before": of.workers,
            "code": f"loader = DataLoader(dataset, ..., num_workers={count}, persistent_workers=True)\n",
        },
    )


def _most(of: Measured) -> float:
    """Number of workers for which the cores of a rank have time; at least one."""
    if of.cores is None:
        return WORKERS[-1]
    waits = of.utilization is not None and of.utilization < WAITS
    return max(1.0, of.cores * (WAITING_PER_CORE if waits else 1))


def slow_loader(of: Measured) -> Advice | None:
    """Say which rank's data loader all others wait for, if that takes the time: theirs are not slow."""
    slow = of.slow
    if slow is None or of.step_s is None or not by_loader(slow):
        return None
    transfer = (of.share or 0.0) if of.transfer_s is None else of.transfer_s / of.step_s
    over = slow.values["over_s"]
    late = late_share(slow, of.step_s)
    share = late * slow.values.get("data_s", over) / over
    if share < FROM_SHARE or not slow_leads(slow, of.step_s, transfer, (of.data_s or 0.0) / of.step_s):
        return None
    rank, alone = slow.ranks[0], len(slow.peers) == 1
    waits = f"rank {slow.peers[0]} waits" if alone else "the others wait"
    return Advice(
        id="slow_loader",
        change=f"Make the data loader of rank {rank} faster: {waits} for it, {100 * late:.0f} % of a step",
        gain=1.0,
        gain_error=0.0,
        cost="In each step all ranks wait for the slowest loader, so more ranks will not help. The other "
        "loaders read ahead meanwhile and may be hardly faster: if all do the same work, all need more "
        "workers. Otherwise, look for what this one does and the others do not, such as reading from a "
        "slower disk, or larger files.",
        diff="",
        values={"rank": rank, "share": late, **({"peer": slow.peers[0]} if alone else {})},
    )


def more_ranks(of: Measured) -> Advice | None:
    """Advise against more ranks if training is input-bound: they would wait, too."""
    share = _share(of)
    if share is None or share < INPUT_BOUND or slow_loader(of) is not None:
        return None
    return Advice(
        id="more_ranks",
        change="More ranks will not help: training is input-bound",
        gain=1.0,
        gain_error=_error(of),
        cost=f"Each rank waits for data {known_share(share, of.data_error)} of a step. "
        "Make reading faster first.",
        diff="",
        values={"share": share, **({"error": of.data_error} if of.data_error else {})},
    )


def _share(of: Measured) -> float | None:
    """Share of a step that waits for data; None if it is unknown, too uncertain, or not worth advice."""
    if of.step_s is None or of.data_s is None:
        return None
    share = min(0.99, of.data_s / of.step_s)
    unsteady = share <= of.data_error or vague(share, of.data_error)  # as a diagnosis says it
    return share if share - ERROR >= FROM_SHARE and not unsteady else None


def _error(of: Measured) -> float:
    return max(ERROR, of.data_error)
