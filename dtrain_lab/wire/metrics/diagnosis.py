"""`diagnose`: what each rank measured, and the shares of communication and data loading in a step."""

from __future__ import annotations

from msgspec import Struct

from dtrain_lab.wire.metrics.thresholds import VAGUE_SHARE, WORTH_A_CHANGE


class StepTimings(Struct, frozen=True):
    """Step times that one rank measured, in seconds per step, one value per cycle.

    `with_sync` and `without_sync` are steps that repeat the same batch with and without averaging, `real` are
    steps with the loader. `loop_s` is the step time of the user's own loop; None after too few steps.
    `beside_s` is the part of that in which the loop is in neither model, optimizer nor loader: no more of it
    can be its own code; None if it is not known. `data_s` is the part of it that the loop waited for its
    loader; None if it is not known, or there is no loader.
    `called_s` is the part of `beside_s` in collectives that the loop calls itself; None if it is not known.
    `skipped` gives, by name of a check, the reason why it was left out. `error`: why nothing was measured,
    `code` its code where it has one. Of a change that was tried, all are seconds per batch: `with_sync`
    without it, `changed` with it; `steps` is the number of batches that were timed with it.
    """

    with_sync: tuple[float, ...] = ()
    without_sync: tuple[float, ...] = ()
    real: tuple[float, ...] = ()
    loop_s: float | None = None
    skipped: dict[str, str] = {}
    error: str = ""
    changed: tuple[float, ...] = ()
    steps: int = 0
    code: str = ""
    beside_s: float | None = None
    data_s: float | None = None
    called_s: float | None = None


class Change(Struct, frozen=True):
    """Advice that is tried: its id, the number of batches or workers that it names, and the way it is made.

    `way`: "loop" where the training loop itself is changed, "optimize" by `dt.optimize`; empty if there is
    one way only.
    """

    id: str
    number: int = 0
    way: str = ""


class Tried(Struct, frozen=True):
    """Measured gain of advice, from steps that were run with it and undone.

    `gain`: measured throughput relative to that without the change, give or take `gain_error`. `predicted`
    and `predicted_error` are those of the advice. `steps`: batches that were timed with the change. `way`:
    how it was made, as in `Change`. `other_ranks`: how many ranks it was measured with, if the world has
    another number of them now; None if it has the same.
    """

    id: str
    gain: float
    gain_error: float
    predicted: float
    predicted_error: float
    steps: int
    text: str
    way: str = ""
    other_ranks: int | None = None


class Check(Struct, frozen=True):
    """The measured cost of one part of a step.

    `share`: share of a step of the unmodified loop, 0 to 1, so that the shares of two checks can be compared.
    `error`: its uncertainty. `with_s`, `without_s`: seconds of a step with and without the part. For
    communication both repeat one batch, so neither contains time spent waiting for data. `in_loop`: it was
    measured while the loop itself ran, as steps could not be repeated with this part.
    """

    share: float
    error: float
    with_s: float
    without_s: float
    text: str
    in_loop: bool = False

    @property
    def vague(self) -> bool:
        """Whether the share is too uncertain for a number: `text` has none then."""
        return vague(self.share, self.error)


def vague(share: float, error: float) -> bool:
    """Whether a share is so uncertain that it may as well be too small to matter.

    Args:
        share: Share of a step, 0 to 1.
        error: Its error, in the same unit.
    """
    return error >= VAGUE_SHARE and share - error < WORTH_A_CHANGE


class Diagnosis(Struct, frozen=True):
    """Both checks and the conclusion. `source`: "replayed" steps, or "live" for a running loop.

    `own`: share of a step that the loop's own code takes, if that is the conclusion; else 0. `own_code`: that
    share also if it is not; 0 if it is too short to tell. `own_error`: its error. `slow_rank`: the rank for
    which the others wait in the loop; None without one. Repeated steps leave out what its own code does, so
    their communication is without that waiting, but for `waiting`: its share of a step, as the monitor has
    measured it. `called`: share of a step in collectives that the loop calls itself, likewise. Both are parts
    of `communication`.
    """

    text: str
    source: str
    communication: Check | None
    data: Check | None
    notes: tuple[str, ...] = ()
    own: float = 0.0
    slow_rank: int | None = None
    own_code: float = 0.0
    own_error: float = 0.0
    called: float = 0.0
    waiting: float = 0.0
