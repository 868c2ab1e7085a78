"""Own time of a rank: its step without communication; and what the loop's own code takes of that. Pure."""

from __future__ import annotations

from dtrain_lab.wire.metrics.world import Metrics


def own_s(step_s: float | None, communicated_s: float | None) -> float | None:
    """Return the own time of a step in seconds; None without steps.

    Args:
        step_s: the step, seconds.
        communicated_s: its part that is communication, seconds; None if it is not known, and not taken off.
    """
    return None if step_s is None else step_s - (communicated_s or 0.0)


def own_code_share(metrics: Metrics, asleep: float = 0.0) -> float:
    """Return the share of a step that is none of the parts which the monitor knows, 0 to 1.

    Args:
        metrics: metrics of the loop.
        asleep: share of a step in which ranks wait for something that is not seen: it is no code's.

    Returns:
        1 − (data + forward and backward + optimizer + communication) − asleep; 0 if the parts are not known.
    """
    step, compute = metrics.step_s, metrics.compute_s
    if not step or compute is None:
        return 0.0
    known = compute + (metrics.data_s or 0.0) + (metrics.optimizer_s or 0.0)
    return max(0.0, 1 - known / step - (metrics.comm_overhead or 0.0) - asleep)
