"""A job's log, as it is read: lines of ranks, and the progress bars that they draw now."""

from __future__ import annotations

from msgspec import Struct

from dtrain_lab.wire.jobs.job import JobError


class Log(Struct, frozen=True):
    """A line that a rank wrote; `error`: to stderr."""

    time: float
    rank: int
    text: str
    error: bool = False


class LogBars(Struct, frozen=True):
    """Progress bars of a rank, one below another: what it overwrites; `error`: on stderr, as tqdm's.

    Without `rows`, it has none any more.
    """

    time: float
    rank: int
    rows: tuple[str, ...]
    error: bool = False


class LogPiece(Struct, frozen=True):
    """A piece of a job's log. `offset`: where the next request continues; `end`: the log is complete.

    `start`: it begins with the log's first line. `bars`: the latest progress bars of each rank and stream for
    which the piece has any. `more`: the log may have more already.
    """

    lines: tuple[Log, ...]
    offset: str
    end: bool = False
    first_error: JobError | None = None
    start: bool = False
    bars: tuple[LogBars, ...] = ()
    more: bool = False


class LogMatches(Struct, frozen=True):
    """Numbers of the lines of a log that contain a text: `before` an offset, and `after` it."""

    before: int
    after: int
