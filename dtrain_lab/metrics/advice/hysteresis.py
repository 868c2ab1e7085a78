"""Hysteresis for advice: noisy metrics neither flip the card nor its order. Pure."""

from __future__ import annotations

from dtrain_lab.wire.metrics.verdicts import Advice

ENTER_S = 4.0
"""Seconds for which advice must be found before it is shown, and before it moves to the first place."""
LEAVE_S = 10.0
"""Seconds for which advice must be missing before it is removed, or another variant found to replace it."""
UPDATE_S = 5.0
"""Minimum time between two changes of the displayed metrics, seconds."""


class AdviceHysteresis:
    """Decides which advice is shown, and in which order, so that the list does not flip."""

    def __init__(self) -> None:
        self._shown: tuple[Advice, ...] = ()
        self._updated_at = 0.0
        """When metrics were last updated."""
        self._found_at: dict[str, float] = {}
        """When each shown piece of advice was last found."""
        self._since: dict[str, float] = {}
        """Since when each piece of advice has been found in every evaluation."""
        self._first: tuple[str, float] | None = None
        """The advice that would move to the first place, and since when."""
        self._other: dict[str, float] = {}
        """Since when each shown piece of advice has been found in another variant only."""

    def forget(self) -> None:
        """Show no advice, because nothing runs or the metrics aren't reliable."""
        self._shown, self._first = (), None
        self._since.clear()
        self._found_at.clear()
        self._other.clear()

    def update(self, advice: tuple[Advice, ...], now: float) -> tuple[Advice, ...]:
        """Evaluate which advice is shown now.

        Args:
            advice: the advice from the current metrics, best first.
            now: time of a monotonic clock, seconds.

        Returns:
            Advice that has been found for `ENTER_S`, until it has not been found for `LEAVE_S`. Another one
            comes first where it has been the best for `ENTER_S`. Metrics change every `UPDATE_S` at most.
        """
        latest = {a.id: a for a in advice}
        self._since = {key: self._since.get(key, now) for key in latest}
        for key in latest:
            if key in self._found_at:
                self._found_at[key] = now
        shown_ids = {a.id for a in self._shown}
        lasting = [a for a in self._shown if now - self._found_at[a.id] < LEAVE_S]
        new = [a for a in advice if a.id not in shown_ids and now - self._since[a.id] >= ENTER_S]
        tell = now - self._updated_at >= UPDATE_S
        shown = [self._updated(a, latest.get(a.id), now, tell=tell) for a in lasting]
        if new or tell:
            self._updated_at = now
        shown = _ordered([*shown, *new], self._leads(advice, {a.id for a in [*lasting, *new]}, now))
        self._shown = tuple(shown)
        self._found_at = {a.id: self._found_at.get(a.id, now) for a in shown}
        self._other = {key: since for key, since in self._other.items() if key in self._found_at}
        return self._shown

    def _updated(self, shown: Advice, latest: Advice | None, now: float, *, tell: bool) -> Advice:
        if latest is None:
            return shown
        if _variant(latest) == _variant(shown):
            self._other.pop(shown.id, None)
            return latest if tell else shown
        since = self._other.setdefault(shown.id, now)
        return latest if now - since >= LEAVE_S else shown

    def _leads(self, advice: tuple[Advice, ...], ids: set[str], now: float) -> str:
        """Id of the advice that comes first."""
        before = self._shown[0].id if self._shown and self._shown[0].id in ids else ""
        best = next((a.id for a in advice if a.id in ids), "")
        if not best or best == before:
            self._first = None
            return before
        if self._first is None or self._first[0] != best:
            self._first = best, now
        return best if not before or now - self._first[1] >= ENTER_S else before


def _ordered(shown: list[Advice], first: str) -> list[Advice]:
    """The first one, then the others by their gain, whose order may change at once."""
    return sorted(shown, key=lambda a: (a.id != first, -a.gain))


def _variant(advice: Advice) -> object:
    """Distinguishes two pieces of advice with the same id, such as the number of batches to accumulate."""
    return advice.values.get("variant")
