"""`dt.step(samples)`: marks the end of a step, for loops whose steps the monitor can't find."""

from __future__ import annotations

from dtrain_lab.training.rank_hooks import hooks


def step(samples: int = 0) -> None:
    """Mark the end of a training step. After the first call only marked steps count in this cell or job.

    Args:
        samples: samples of this rank in the step; 0 if unknown.
    """
    hooks.step(int(samples))
