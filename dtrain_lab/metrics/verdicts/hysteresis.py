"""Hysteresis for verdicts, so that noisy metrics don't make them flicker. Pure.

Metrics of a busy machine are noisy: evaluated four times a second, a rank is slow, then not, then slow again.
A verdict is shown once it has held for most of several seconds, and stays until it has not held for most of
several more.
"""

from __future__ import annotations

from collections import Counter, deque

from msgspec import Struct
from msgspec.structs import replace

from dtrain_lab.wire.metrics.verdicts import TOO_BUSY, Verdict

LOOK_COUNTS_S = 1.5
"""Maximum time for which one evaluation counts: nothing is known about longer gaps."""
KEPT_S = 20.0
UNHURRIED = ("slow", "input_bound")
"""Kinds of verdict on ranks that still work while others wait."""
SOFTER_S = 3.0
"""Time for which the activity of a rank that works while others wait must last before it is shown."""
EXPLAINED_S = 10.0
"""Seconds for most of which another cause must hold before a shown verdict changes its explanation."""
EXPLAINED_SHARE = 0.8
"""Share of those seconds that counts as most."""
AGAIN_S = 10.0
"""Time without progress after which a rank that was just working is called stuck."""


class Rule(Struct, frozen=True):
    """A verdict appears once it held for `enter` of the last `enter_s` seconds.

    It disappears once it held for no more than `leave` of the last `leave_s` seconds.
    """

    enter_s: float
    enter: float
    leave_s: float
    leave: float


USUAL = Rule(enter_s=4.0, enter=0.8, leave_s=8.0, leave=0.25)
BUSY = Rule(enter_s=4.0, enter=0.3, leave_s=20.0, leave=0.05)
"""Rule for "too busy", which is entered early and left late: flickering metrics are its symptom."""
NOISY = Rule(enter_s=12.0, enter=0.9, leave_s=8.0, leave=0.25)
"""Rule for other verdicts while the machine was lately too busy: threads then wait for a core for seconds."""
SAME_EPISODE_S = 60.0
"""On such a machine a verdict that comes back within this time after its end is the same episode."""


class VerdictHysteresis:
    """Decides which verdict is shown. Callers pass the time, so that no clock is needed here."""

    def __init__(self) -> None:
        self._evaluations: deque[tuple[float, str]] = deque()
        """Time of each evaluation, and id of its verdict; empty without a verdict."""
        self._latest: dict[str, Verdict] = {}
        self._shown: Verdict | None = None
        self._key = ""
        """Original id of the shown verdict."""
        self._since = 0.0
        self._episodes = 0
        self._last: dict[str, tuple[str, float]] = {}
        """Original id → id of its latest episode, and when that was shown last."""
        self._hang = ""
        """The collective that the shown verdict is about."""
        self._changed: tuple[str, float] | None = None
        """Code that the verdict on that collective would change to, and since when."""
        self._explanations: deque[tuple[float, Verdict]] = deque()
        """Time and verdict of the latest evaluations that found one."""

    def forget(self) -> None:
        """Forget all evaluations, because nothing runs any more, or something else."""
        self._evaluations.clear()
        self._explanations.clear()
        self._latest.clear()
        self._last.clear()
        self._shown = self._changed = None
        self._hang = self._key = ""

    def update(self, verdict: Verdict | None, now: float) -> Verdict | None:
        """Evaluate which verdict is shown now.

        Args:
            verdict: the verdict of the current metrics.
            now: time of a monotonic clock, seconds.
        """
        if verdict is not None and verdict.operation is not None:
            return self._waiting(verdict, now)
        if self._hang:  # that collective is over
            self.forget()
        return self._moving(verdict, now)

    def _waiting(self, verdict: Verdict, now: float) -> Verdict:
        """A verdict on ranks that wait in a collective is shown at once: it already lasts for long."""
        about = f"{verdict.operation} {verdict.sequence}"
        shown = self._shown
        if shown is None or not self._hang or (about != self._hang and not (verdict.alarm and shown.alarm)):
            self._begin(verdict, now - (verdict.since_s or 0.0))
        elif verdict.code != shown.code and shown.kind in UNHURRIED:
            if self._changed is None or self._changed[0] != verdict.code:
                self._changed = verdict.code, now
            if now - self._changed[1] < (AGAIN_S if verdict.alarm else SOFTER_S):
                return replace(shown, since_s=verdict.since_s)
            self._shown = replace(verdict, id=shown.id)
        else:
            self._shown = replace(verdict, id=shown.id)
        self._changed = None
        self._hang = about
        assert self._shown is not None
        return self._shown

    def _moving(self, latest: Verdict | None, now: float) -> Verdict | None:
        key = latest.id if latest is not None else ""
        if latest is not None:
            self._latest[key] = latest
            self._explanations.append((now, latest))
        while self._explanations and self._explanations[0][0] < now - EXPLAINED_S:
            self._explanations.popleft()
        self._evaluations.append((now, key))
        while len(self._evaluations) > 2 and self._evaluations[1][0] < now - KEPT_S:
            self._evaluations.popleft()
        recent = {key for _, key in self._evaluations}
        self._latest = {key: verdict for key, verdict in self._latest.items() if key in recent}
        shown = self._shown
        busy = self._share(TOO_BUSY, now, BUSY.leave_s) > BUSY.leave
        best = max(self._latest, key=lambda k: self._share(k, now, _rule(k, busy).enter_s), default="")
        rule = _rule(best, busy)
        evaluated_s = now - self._evaluations[0][0]
        enters = best and evaluated_s >= rule.enter_s and self._share(best, now, rule.enter_s) >= rule.enter
        current = self._key
        if enters and best != current:
            self._begin(self._usual(best), now - rule.enter_s, SAME_EPISODE_S if busy else 0.0)
            self._key = best
        elif shown is not None:
            rule = _rule(current, busy)
            if now - self._since >= rule.leave_s and self._share(current, now, rule.leave_s) <= rule.leave:
                self._shown = None
                self._key = ""
            elif key == current and latest is not None:
                self._shown = replace(self._explained(latest, shown, now), id=shown.id)
        if self._shown is None:
            return None
        self._last[self._key] = self._shown.id, now
        return replace(self._shown, since_s=now - self._since)

    def _explained(self, latest: Verdict, shown: Verdict, now: float) -> Verdict:
        """Return the latest verdict, or the shown one while its cause may still be the same."""
        cause = _cause(latest)
        if cause == _cause(shown):
            return latest
        causes = [_cause(verdict) for _, verdict in self._explanations if verdict.id == latest.id]
        evaluated_s = now - self._explanations[0][0]
        share = causes.count(cause) / len(causes)
        lasts = evaluated_s >= EXPLAINED_S * EXPLAINED_SHARE and share >= EXPLAINED_SHARE
        return latest if lasts else shown

    def _usual(self, key: str) -> Verdict:
        """The latest verdict of an id with the cause that was found most often."""
        alike = [verdict for _, verdict in self._explanations if verdict.id == key]
        usual = Counter(_cause(verdict) for verdict in alike).most_common(1)
        return next((v for v in reversed(alike) if _cause(v) == usual[0][0]), self._latest[key])

    def _begin(self, verdict: Verdict, since: float, same_s: float = 0.0) -> None:
        episode, at = self._last.get(verdict.id, ("", 0.0))
        if not episode or since - at >= same_s:
            self._episodes += 1
            episode = f"{verdict.id}-{self._episodes}"
        self._shown = replace(verdict, id=episode)
        self._since = since

    def _share(self, key: str, now: float, within_s: float) -> float:
        """The share of the last `within_s` seconds in which a verdict held."""
        total = mine = 0.0
        until = now
        for at, evaluated in reversed(self._evaluations):
            begin = max(at, now - within_s)
            lasted = min(max(0.0, until - begin), LOOK_COUNTS_S)
            total += lasted
            mine += lasted if evaluated == key else 0.0
            until = at
            if at <= now - within_s:
                break
        return mine / total if total else 0.0


def _cause(verdict: Verdict) -> object:
    return verdict.values.get("cause")


def _rule(key: str, busy: bool) -> Rule:
    if key == TOO_BUSY:
        return BUSY
    return NOISY if busy else USUAL
