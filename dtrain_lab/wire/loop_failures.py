"""Failures of background work through bugs of ours, as processes report them."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace


class InternalFailure(Struct, frozen=True):
    """Background work that failed through a bug of ours, not the user's.

    `at`: time of the last failure, in seconds since 1970.
    """

    name: str
    doing: str
    kind: Literal["restarted", "failed"]
    times: int
    message: str
    at: float

    @property
    def text(self) -> str:
        """The trouble as text: "Background task "watching ranks" restarted once (OSError: …)"."""
        often = {1: "once", 2: "twice"}.get(self.times, f"{self.times} times")
        return f'Background task "{self.doing}" {self.kind} {often} ({self.message})'


def merged(*groups: tuple[InternalFailure, ...]) -> tuple[InternalFailure, ...]:
    """Combine the troubles of several processes: one entry per name, the latest first."""
    by_name: dict[str, InternalFailure] = {}
    for failure in (t for group in groups for t in group):
        earlier = by_name.get(failure.name)
        if earlier is not None:
            latest = max(earlier, failure, key=lambda t: t.at)
            failure = replace(latest, times=earlier.times + failure.times)
        by_name[failure.name] = failure
    return tuple(sorted(by_name.values(), key=lambda t: -t.at))
