"""Types of a `JobError` for a rank that ended without an exception; other types are names of exceptions."""

from __future__ import annotations

from typing import Final, Literal

RankEnd = Literal["Stopped", "Killed", "Ended"]
STOPPED: Final[RankEnd] = "Stopped"
"""It was ended with the others: one of them failed, or the job was told to end."""
KILLED: Final[RankEnd] = "Killed"
"""A signal ended it."""
ENDED: Final[RankEnd] = "Ended"
"""It ended with an exit code, never started, or its node is gone."""
