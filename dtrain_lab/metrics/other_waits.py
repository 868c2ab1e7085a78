"""The part of a step that, by a verdict, waits for something else: its share; what it is taken from. Pure."""

from __future__ import annotations

from dtrain_lab.wire.metrics.definitions import LoopMetrics
from dtrain_lab.wire.metrics.world import Metrics


def part_s(
    share: float | None, step_s: float | None, data_s: float | None, comm_overhead: float | None
) -> float | None:
    """Return the seconds of a step asleep, at most what data and communication leave of it; None if unknown.

    Args:
        share: Share of the step asleep.
        step_s: The step, seconds.
        data_s: Its part that waits for the data loader, seconds.
        comm_overhead: Communication's share of it.
    """
    if not share or not step_s or share < 0:
        return None
    return min(share * step_s, max(0.0, step_s * (1 - (comm_overhead or 0.0)) - (data_s or 0.0)))


def part_share(metrics: LoopMetrics) -> float | None:
    """Return the share of a rank's or the world's step that is asleep by a verdict; None without one."""
    return metrics.asleep_s / metrics.step_s if metrics.asleep_s and metrics.step_s else None


def awake(metrics: Metrics) -> float | None:
    """Return the seconds of forward and backward without what is spent asleep in them; None if unknown.

    A sleep is taken out of the rest of a step, between its parts, as far as that is long enough.

    Args:
        metrics: of the world.
    """
    compute, asleep = metrics.compute_s, metrics.asleep_s
    if compute is None or not asleep or not metrics.step_s:
        return compute
    parts = (metrics.data_s, compute, metrics.optimizer_s, metrics.transfer_s, metrics.wait_s)
    rest = max(0.0, metrics.step_s - sum(part or 0.0 for part in parts))
    return max(0.0, compute - max(0.0, asleep - rest))
