"""Estimate of start duration from earlier starts. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from msgspec import Struct

LATEST = 10


class Start(Struct, frozen=True):
    """A successful start. `seconds` runs from the plan to the first process group, without queue time."""

    profile: str
    size: int
    seconds: float


def usual(starts: Sequence[Start], profile: str, size: int) -> float | None:
    """Estimate how long a start of a profile takes.

    Args:
        starts: earlier starts, oldest first.
        profile: name of the profile.
        size: number of ranks.

    Returns:
        Median seconds of the latest starts of this size, or of any size if there are none; None if the
        profile was never started.
    """
    of_profile = [s for s in starts if s.profile == profile]
    alike = [s for s in of_profile if s.size == size] or of_profile
    return median(s.seconds for s in alike[-LATEST:]) if alike else None
