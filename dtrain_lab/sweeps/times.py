"""How long a trial's jobs, and a sweep's trials, have run; time in which nothing ran does not count."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from dtrain_lab.wire.sweeps import TrialRecord

Span = tuple[float, float]
"""Begin and end, in seconds since 1970."""
RUNS = ("running", "resumed")
"""States of a trial whose job has started."""


def ran_s(trial: TrialRecord, now: float) -> float | None:
    """Return how long a trial's jobs have run, in seconds; None before the first has started.

    Args:
        trial: The trial.
        now: The time, in seconds since 1970, for a job that has not ended.
    """
    return _covered(_spans(trial, now))


def sweep_ran_s(trials: Iterable[TrialRecord], now: float) -> float | None:
    """Return for how long at least one trial has run, in seconds; None before the first has started.

    Args:
        trials: All trials of the sweep.
        now: The time, in seconds since 1970, for jobs that have not ended.
    """
    return _covered(chain.from_iterable(_spans(trial, now) for trial in trials))


def _spans(trial: TrialRecord, now: float) -> Iterator[Span]:
    for run in trial.runs:
        yield run.started_at, now if run.ended_at is None else run.ended_at
    if trial.runs or trial.started_at is None:
        return
    if trial.ended_at is not None:  # an earlier version wrote it
        yield trial.started_at, trial.ended_at
    elif trial.state in RUNS:
        yield trial.started_at, now


def _covered(spans: Iterable[Span]) -> float | None:
    """Return the length of all spans together, counting once what they share; None without any."""
    total, until = None, float("-inf")
    for begin, end in sorted(spans):
        total = (total or 0.0) + max(0.0, end - max(begin, until))
        until = max(until, end)
    return total
