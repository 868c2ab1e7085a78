"""The importance of a sweep's parameters in Python: a dict that says why it is empty."""

from __future__ import annotations

from collections.abc import Mapping


class ParameterShares(dict[str, float]):
    """Importance of the parameters of a sweep, as `Sweep.importance` returns it.

    Args:
        shares: Parameter → its share, 0 to 1.
        reason: Why they are unknown, in a sentence; empty if they are known.
    """

    def __init__(self, shares: Mapping[str, float], reason: str = "") -> None:
        super().__init__(shares)
        self.reason = reason
        """Why the importance is unknown, in a sentence; empty if it is known."""

    def __repr__(self) -> str:
        return f"{super().__repr__()}  # {self.reason}" if self.reason else super().__repr__()
