"""Events and actions of a sweep's state machine. Times are in seconds since 1970."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from dtrain_lab.wire.jobs.job import StoppedBy
from dtrain_lab.wire.kinds import JobState
from dtrain_lab.wire.summary import Summary
from dtrain_lab.wire.sweeps import ObjectiveValue, Wish

# ---- events: what the driver can learn


class Tick(Struct, frozen=True):
    """Time has passed."""

    at: float


class ActionRequested(Struct, frozen=True):
    """A client wants the sweep to run or to stop. `number`: of the request; grows by one each time."""

    wish: Wish
    number: int
    at: float


class Suggested(Struct, frozen=True):
    """The sampler has chosen parameters; None if there are none left."""

    parameters: dict[str, Any] | None


class HandingOver(Struct, frozen=True):
    """A trial's job is about to be submitted with this id."""

    number: int
    job: str


class Refused(Struct, frozen=True):
    """A trial's job was refused. `again`: whether the same request may be accepted later."""

    number: int
    code: str
    message: str
    hint: str
    again: bool
    at: float


class Polled(Struct, frozen=True):
    """A trial's job was polled.

    `error`: why it failed or waits. `killed`: its code did not cause the failure. `reports`: all values of
    the objective that it has reported, in order of time. `names`: other values that it has reported.
    """

    number: int
    state: JobState
    started_at: float | None = None
    ended_at: float | None = None
    checkpoint_step: int | None = None
    begins_again: bool = False
    error: Summary | None = None
    killed: bool = False
    reports: tuple[ObjectiveValue, ...] = ()
    names: tuple[str, ...] = ()


class Missing(Struct, frozen=True):
    """A trial has no job."""

    number: int
    at: float


class Judged(Struct, frozen=True):
    """A trial has reached a rung. `behind`: whether it is not among the best there."""

    number: int
    behind: bool


Event = Tick | ActionRequested | Suggested | HandingOver | Refused | Polled | Missing | Judged

# ---- actions: what the driver has to do; each is answered by an event


class Suggest(Struct, frozen=True):
    """Choose the parameters of the next trial. Answer: `Suggested`."""


class Submit(Struct, frozen=True):
    """Submit a trial's job. Answers: `HandingOver` before the submission; `Refused`."""

    number: int


class Continue(Struct, frozen=True):
    """Resume a trial's last job. Answers: `HandingOver` before the submission; `Refused`."""

    number: int
    job: str


class End(Struct, frozen=True):
    """Cancel a trial's job. `why`: what its job's summary says. Answer: `Polled`, later."""

    number: int
    job: str
    why: StoppedBy


class Judge(Struct, frozen=True):
    """Compare a trial that has reached a rung with the others. Answer: `Judged`."""

    number: int


Action = Suggest | Submit | Continue | End | Judge
