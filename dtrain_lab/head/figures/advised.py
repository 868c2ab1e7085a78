"""Advice on the training loop that runs, or ran last."""

from __future__ import annotations

import time

from dtrain_lab.metrics.advice import advise
from dtrain_lab.metrics.advice.measured import Measured, unknown, with_diagnosis
from dtrain_lab.metrics.advice.steady import SteadyAdvice
from dtrain_lab.wire.metrics.diagnosis import Diagnosis
from dtrain_lab.wire.metrics.verdicts import Advice


class Advised:
    """Derives advice from the figures of each look."""

    def __init__(self) -> None:
        self._steady = SteadyAdvice()
        self._trained: tuple[str, Measured] | None = None
        """Code of the loop that trained last, and its last figures."""
        self.advice: tuple[Advice, ...] = ()
        """On the loop that runs, or ran last; unlike what `look` returns, also after its end."""
        self.unknown: tuple[str, ...] = ()
        """What could not be judged of that loop."""

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
            self.unknown = unknown(with_diagnosis(now, found))
        if now is None or found is not None or not sure:
            self._steady.forget()
            # a measured result needs no smoothing, and estimates don't count beside it
            measured = advise(with_diagnosis(now, found)) if now is not None and found is not None else ()
            if now is not None:
                self.advice = measured
            return measured
        current = () if busy else advise(now)
        shown = self._steady.look(current, time.monotonic())
        self.advice = shown or current
        return shown

    def diagnosed(self, found: Diagnosis, loop: str) -> None:
        """Judge the loop that ran last by what was measured of it.

        Args:
            found: Its diagnosis, from replayed steps.
            loop: Code of the diagnosed loop.
        """
        if self._trained is not None and self._trained[0] == loop:
            of = with_diagnosis(self._trained[1], found)
            self.advice, self.unknown = advise(of), unknown(of)
