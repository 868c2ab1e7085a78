"""What the rank of this process does when users call `dt.log`, `dt.step`, `dt.guard` and others.

Users call module functions, which get no rank as an argument. So the rank sets `hooks` once, for the life of
the process; outside a rank, and without a monitor, the hooks do nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

Log = Callable[[int, dict[str, float], float, bool], None]
"""Gets a step, its values, seconds since 1970, and whether they are means over ranks or rank 0's."""


def _nothing(*_: object) -> None:
    return


def _unknown() -> int:
    return 0


@dataclass
class RankHooks:
    """Functions of a rank that functions for users call."""

    log: Log = _nothing
    """Records values of `dt.log`."""
    step: Callable[[int], None] = _nothing
    """Gets the samples of each step that `dt.step` marks."""
    guard: Callable[[bool], None] = _nothing
    """Turns the comparison of collectives on or off."""
    batch: Callable[[], int] = _unknown
    """Returns the samples in a batch of the model that trained last; 0 if unknown."""
    forget_batch: Callable[[], None] = _nothing
    """Resets that number, until training continues."""
    held: Callable[[bool], None] = _nothing
    """Gets whether the debugger holds a rank of the world from now on."""
    resting: Callable[[], AbstractContextManager[None]] = nullcontext
    """Makes the context in which the monitor ignores training steps."""


hooks = RankHooks()
