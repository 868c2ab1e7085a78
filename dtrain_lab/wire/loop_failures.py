"""Failures of background work through bugs of ours, as processes report them."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace


class Trouble(Struct, frozen=True):
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


def merged(*groups: tuple[Trouble, ...]) -> tuple[Trouble, ...]:
    """Combine the troubles of several processes: one entry per name, the latest first."""
    found: dict[str, Trouble] = {}
    for trouble in (t for group in groups for t in group):
        known = found.get(trouble.name)
        if known is not None:
            latest = max(known, trouble, key=lambda t: t.at)
            trouble = replace(latest, times=known.times + trouble.times)
        found[trouble.name] = trouble
    return tuple(sorted(found.values(), key=lambda t: -t.at))
