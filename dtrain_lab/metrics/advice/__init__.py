"""Advice on faster training: one change, its gain and its cost. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from dtrain_lab.wire.links import RankSample
from dtrain_lab.wire.metrics.verdicts import Advice
from dtrain_lab.wire.metrics.world import Metrics

FROM_SHARE = 0.20
"""Share of a step that communication must take at least, its error subtracted, to be worth advice."""
LEAST_GAIN = 0.03


def advise(metrics: Metrics, samples: Sequence[RankSample]) -> tuple[Advice, ...]:
    """The change with the largest gain.

    Accumulating twice as many batches sends gradients half as often: a step of two batches takes 2·own +
    transfer instead of 2·(own + transfer), so it is 1 / (1 − t/2) times as fast, with t the share of
    transfer. Waiting for a slower rank is not saved: after two batches it takes twice as long as after one.

    Args:
        metrics: figures of the world.
        samples: the latest samples of its ranks.

    Returns:
        One piece of advice, its gain as throughput over today's; empty where what it adds is small or within
        its error.
    """
    share, error, step = metrics.comm_overhead, metrics.comm_overhead_error or 0.0, metrics.step_s
    if share is None or step is None or metrics.transfer_s is None or share - error < FROM_SHARE:
        return ()
    if metrics.comm_bound or not samples or not all(s.synced for s in samples):
        return ()  # only DDP is known to become faster when it sends less
    rest = 1 - min(1.0, metrics.transfer_s / step) / 2
    gain, gain_error = 1 / rest, error / 2 / rest**2
    if gain - 1 < LEAST_GAIN or gain - 1 <= gain_error:
        return ()
    batch = round(2 * metrics.samples_per_s * step) if metrics.samples_per_s and not metrics.unsure else None
    return (
        Advice(
            id="accumulate",
            change="Accumulate twice as many batches before gradients are averaged (model.no_sync())",
            gain=gain,
            gain_error=gain_error,
            cost=f"The batch becomes {batch:,}." if batch else "The batch becomes twice as large.",
            diff="",
            values={"batch": batch} if batch else {},
        ),
    )
