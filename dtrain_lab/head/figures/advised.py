"""Advice on the training loop that runs, or ran last."""

from __future__ import annotations

import time

from msgspec.structs import replace

from dtrain_lab.metrics.advice import advise
from dtrain_lab.metrics.advice.measured import Measured, unknown, with_diagnosis
from dtrain_lab.metrics.advice.steady import SteadyAdvice
from dtrain_lab.wire.metrics.diagnosis import Diagnosis, Tried
from dtrain_lab.wire.metrics.verdicts import Advice


class Advised:
    """Derives advice from the figures of each look."""

    def __init__(self) -> None:
        self._steady = SteadyAdvice()
        self._trained: tuple[str, Measured] | None = None
        """Code of the loop that trained last, and its last figures."""
        self.measured: Measured | None = None
        """Figures of that loop, with what was diagnosed of it."""
        self._advice: tuple[Advice, ...] = ()
        self._tried: dict[tuple[str, str, object], Tried] = {}
        """Code of a loop, id and variant of advice → what that gained when it was tried."""
        self.unknown: tuple[str, ...] = ()
        """What could not be judged of that loop."""

    @property
    def advice(self) -> tuple[Advice, ...]:
        """On the loop that runs, or ran last; unlike what `look` returns, also after its end."""
        return self._with_tried(self._advice, self._trained[0] if self._trained is not None else "")

    def look(
        self, now: Measured | None, loop: str, found: Diagnosis | None, *, sure: bool, busy: bool
    ) -> tuple[Advice, ...]:
        """Return the advice to show.

        Args:
            now: Figures of the steps that run now; None where none do.
            loop: Code of the loop.
            found: Its diagnosis; None where it was not diagnosed.
            sure: Whether estimates can be trusted; what was diagnosed can be anyway.
            busy: Whether a machine has too few cores for its threads, so that estimates predict nothing.
        """
        if now is not None and now.step_s is not None:
            self._trained = loop, now
            self.measured = with_diagnosis(now, found)
            self.unknown = unknown(self.measured)
        if now is None or found is not None or not sure:
            self._steady.forget()
            # a measured result needs no smoothing, and estimates don't count beside it
            measured = advise(with_diagnosis(now, found)) if now is not None and found is not None else ()
            if now is not None:
                self._advice = measured
            return self._with_tried(measured, loop)
        current = () if busy else advise(now)
        shown = self._steady.look(current, time.monotonic())
        self._advice = shown or current
        return self._with_tried(shown, loop)

    def diagnosed(self, found: Diagnosis, loop: str) -> None:
        """Judge the loop that ran last by what was measured of it.

        Args:
            found: Its diagnosis, from replayed steps.
            loop: Code of the diagnosed loop.
        """
        if self._trained is not None and self._trained[0] == loop:
            of = self.measured = with_diagnosis(self._trained[1], found)
            self._advice, self.unknown = advise(of), unknown(of)

    def tried(self, found: Tried, loop: str) -> None:
        """Remember what advice gained when it was tried.

        Args:
            found: What was measured.
            loop: Code of the loop that trained last.
        """
        advice = next((a for a in self._advice if a.id == found.id), None)
        if advice is not None:
            self._tried[loop, advice.id, advice.values.get("variant")] = found

    def _with_tried(self, advice: tuple[Advice, ...], loop: str) -> tuple[Advice, ...]:
        return tuple(replace(a, tried=self._tried.get((loop, a.id, a.values.get("variant")))) for a in advice)
