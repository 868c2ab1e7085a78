"""Sweeps in a given state."""

from __future__ import annotations

from typing import Any

from dtrain_lab.sweeps.events import (
    Action,
    Event,
    HandingOver,
    Polled,
    Suggested,
)
from dtrain_lab.sweeps.transitions import step
from dtrain_lab.wire.jobs.job import JobSize
from dtrain_lab.wire.sweeps import (
    ObjectiveValue,
    SweepRecord,
    SweepRequest,
)


def sweep(total: int = 4, parallel: int = 2, **asked: Any) -> SweepRecord:
    asked = {"space": {"lr": "loguniform(1e-5, 1e-1)"}, "objective": "loss", **asked}
    return SweepRecord(
        "s1", "train", SweepRequest("train.ipynb", **asked), "/x/train.ipynb", JobSize(1, 1), total, parallel,
        seed=3, owner="me", host="here", system="boot", python="python", created_at=1.0,
    )  # fmt: skip


def told(*values: float, first: int = 0) -> tuple[ObjectiveValue, ...]:
    return tuple(ObjectiveValue(first + number, value) for number, value in enumerate(values))


def through(record: SweepRecord, *events: Event) -> tuple[SweepRecord, tuple[Action, ...]]:
    actions: tuple[Action, ...] = ()
    for event in events:
        record, actions = step(record, event)
    return record, actions


def begun(number: int, job: str) -> tuple[Event, ...]:
    return Suggested({"lr": 0.1 / (number + 1)}), HandingOver(number, job)


def ended(number: int, *values: float, state: Any = "succeeded", **more: Any) -> Polled:
    return Polled(number, state, 1.0, 2.0, reports=told(*values), **more)
