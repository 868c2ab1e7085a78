"""Advice on the training loop that runs, or ran last."""

from __future__ import annotations

import time
from collections.abc import Sequence

from msgspec.structs import replace

from dtrain_lab.metrics.advice import advise
from dtrain_lab.metrics.advice.communication import with_batch
from dtrain_lab.metrics.advice.diagnosis_certainty import is_rough, leaves_open
from dtrain_lab.metrics.advice.hysteresis import AdviceHysteresis
from dtrain_lab.metrics.advice.measured import Measured, on_ranks, unknown, with_diagnosis
from dtrain_lab.metrics.advice.reasons import TOO_SHORT, resized, why_none
from dtrain_lab.metrics.advice.tried import is_tryable
from dtrain_lab.metrics.diagnosed_loop import Loops, alike
from dtrain_lab.metrics.verdicts.asleep import Asleep
from dtrain_lab.wire.links import RankSample
from dtrain_lab.wire.metrics.diagnosis import Diagnosis, Tried
from dtrain_lab.wire.metrics.verdicts import Advice


class CurrentAdvice:
    """Derives advice from the world's metrics, each time they are updated."""

    def __init__(self) -> None:
        self._steady = AdviceHysteresis()
        self._asleep, self._sampled = Asleep(), ""
        """How much of a step the ranks sleep in the loop of this code."""
        self._trained: tuple[str, Measured] | None = None
        """Code and latest metrics of the last training loop."""
        self.measured: Measured | None = None
        """Metrics of that loop, combined with its diagnosis."""
        self._advice: tuple[Advice, ...] = ()
        self._trials: dict[tuple[str, int, str, object], tuple[float, int, Tried]] = {}
        """Code of a loop, number of its ranks, id and variant of advice → step time then (seconds), number of
        ranks that tried it, and gain."""
        self._cannot_try: set[str] = set()
        """Ids of advice that the ranks can't try, as a trial or a diagnosis has shown."""
        self._size = 0
        """Number of ranks of the world now; 0 while it lacks some."""
        self._trained_size = 0
        """Number of ranks of the world when that loop ran."""
        self._too_short = False
        """Whether the loop has taken too few steps to be measured."""
        self.unknown: tuple[str, ...] = ()
        """Aspects of that loop that could not be judged."""
        self.too_busy = ""
        """Why estimates of that loop were not used for advice; empty if they were."""

    @property
    def advice(self) -> tuple[Advice, ...]:
        """Advice on the current or last training loop; unlike the result of `update`, also after its end."""
        return self._shown(self._advice)

    @property
    def why_none(self) -> str:
        """Why there is no advice on that loop; empty if there is some, before any training, or without all
        ranks."""
        if not self._size:
            return ""
        if self._too_short:
            return TOO_SHORT
        if self.resized and self._trained is not None:
            return "" if self.advice else resized(self._trained[1].ranks, self._size)
        return "" if self._advice else why_none(self.measured, self.too_busy)

    @property
    def resized(self) -> bool:
        """Whether the world has another number of ranks than when that loop ran."""
        if self._trained is None or not self._size:
            return False
        return self._size not in (self._trained_size, self._trained[1].ranks)

    def is_of(self, loop: str) -> bool:
        """Whether what was measured is of the loop of this code."""
        return self._trained is not None and self._trained[0] == loop

    def asleep(self, loop: str) -> Asleep:
        """How much of a step ranks sleep in the loop of this code; nothing is known of other loops."""
        return self._asleep if loop == self._sampled else Asleep()

    def wants_samples(self, loops: Loops) -> bool:
        """Whether `sampled` is to be called now."""
        return loops.trains and (loops.code != self._sampled or self._asleep.due(time.monotonic()))

    def sampled(self, samples: Sequence[RankSample], loops: Loops, *, crowded: bool) -> None:
        """Record whether ranks sleep in a loop that trains.

        Args:
            samples: The latest sample of each rank.
            loops: Knows which cell trains.
            crowded: Whether threads of a machine wait for its cores.
        """
        if loops.code != self._sampled:
            self._asleep.forget()
            self._sampled = loops.code
        self._asleep.update(samples, time.monotonic(), crowded=crowded)

    def update(
        self,
        now: Measured | None,
        loop: str,
        diagnosis: Diagnosis | None,
        *,
        sure: bool,
        busy: str,
        size: int,
        over: bool = False,
    ) -> tuple[Advice, ...]:
        """Update the advice, and return what to display now.

        Args:
            now: Metrics of the steps that run now; None if none do.
            loop: Code of the loop.
            diagnosis: Its diagnosis; None if it was not diagnosed.
            sure: Whether estimates are reliable; a diagnosis always is.
            busy: Message that a machine has too few cores for its threads, which makes estimates useless;
                empty if all machines have enough.
            size: Number of ranks of the world, which may be another one than that of the loop; 0 while it
                lacks some, without which nothing can be tried or measured.
            over: Whether the loop has ended.
        """
        self._size = size
        if now is not None and now.step_s is not None:
            self._trained_size = size
            now = replace(now, asleep=self._asleep.share if loop == self._sampled else 0.0)
            self._trained, self._too_short = (loop, now), False
            self.measured = with_diagnosis(now, diagnosis)
            self.unknown = unknown(self.measured)
        elif now is not None:  # the first steps of a loop say nothing yet
            if self._trained is None or self._trained[0] != loop:
                self._forget(too_short=over)
            now = None
        if now is None or diagnosis is not None or not sure:
            self._steady.forget()
            measured: tuple[Advice, ...] = ()
            if now is not None:
                self.too_busy = busy if diagnosis is None or is_rough(diagnosis) else ""
                # a measured result needs no smoothing, and estimates don't count beside it
                if diagnosis is not None and not self.too_busy:
                    measured = advise(with_diagnosis(now, diagnosis))
                self._advice = measured = self._beside_tried(measured, diagnosis)
            return self._shown(measured)
        current = () if busy else advise(now)
        shown = self._steady.update(current, time.monotonic())
        self._advice = shown or current
        self.too_busy = "" if self._advice else busy
        return self._shown(shown)

    def forget(self, rank: int) -> None:
        """A rank's process is gone: if the loop waited for it, what was measured no longer holds.

        Args:
            rank: The rank.
        """
        slow = self.measured.slow if self.measured is not None else None
        if slow is not None and rank in slow.ranks:
            self._forget(too_short=False)

    def _forget(self, *, too_short: bool) -> None:
        """Another loop trains, whose steps are not measured yet: nothing is known of it."""
        self._trained = self.measured = None
        self._advice, self.unknown, self._too_short = (), (), too_short

    def diagnosed(self, diagnosis: Diagnosis, loop: str, size: int) -> None:
        """Derive advice on the last training loop from its diagnosis.

        Args:
            diagnosis: Its diagnosis, from replayed steps.
            loop: Code of the diagnosed loop.
            size: Number of ranks that were diagnosed.
        """
        if self._trained is not None and self.is_of(loop):
            if size not in (self._trained_size, self._trained[1].ranks):  # the world was resized
                self._trained = loop, on_ranks(self._trained[1], size)
                self._trained_size = size
            of = self.measured = with_diagnosis(self._trained[1], diagnosis)
            # what was a guess before is one still, unless it was measured
            self.too_busy = self.too_busy if is_rough(diagnosis) else ""
            self._advice = self._beside_tried(() if self.too_busy else advise(of), diagnosis)
            self.unknown = unknown(of)
            if diagnosis.data is not None and diagnosis.data.in_loop:
                self._cannot_try.add("workers")

    def _beside_tried(self, advice: tuple[Advice, ...], diagnosis: Diagnosis | None) -> tuple[Advice, ...]:
        """Keep advice whose gain was measured beside that of a diagnosis that is less certain than that."""
        if diagnosis is None or not leaves_open(diagnosis):
            return advice
        ids = {a.id for a in advice}
        tried = (a for a in self._advice if a.id not in ids and self._trial_of(a) is not None)
        return (*tried, *advice)

    def record_trial(self, trial: Tried, size: int) -> None:
        """Record the measured gain of advice on the last training loop.

        Args:
            trial: The gain.
            size: Number of ranks that tried it.
        """
        advice = next((a for a in self._advice if a.id == trial.id), None)
        if advice is not None and self._step_s is not None:
            self._trials[self._key(advice)] = self._step_s, size, trial

    def cannot_try(self, advice: str) -> None:
        """The ranks can't try advice: it is not offered again before another cell.

        Args:
            advice: Its id.
        """
        self._cannot_try.add(advice)

    def cell_began(self) -> None:
        """A user's cell begins, which may make what a trial lacks."""
        self._cannot_try.clear()

    @property
    def _step_s(self) -> float | None:
        return self._trained[1].step_s if self._trained is not None else None

    def _shown(self, advice: tuple[Advice, ...]) -> tuple[Advice, ...]:
        """What of the advice holds for the ranks of now.

        Predictions are those of the ranks that were measured. What was tried says how many ranks those were.
        """
        if not self._size:
            return ()
        if not self.resized or self._trained is None:
            return self._with_tried(advice)
        if self._size == 1:  # it exchanges nothing
            return ()
        batch = on_ranks(self._trained[1], self._size).global_batch
        return tuple(with_batch(a, batch) for a in self._with_tried(advice) if a.tried is not None)

    def _with_tried(self, advice: tuple[Advice, ...]) -> tuple[Advice, ...]:
        return tuple(
            replace(a, tried=self._trial_of(a), tryable=is_tryable(a) and a.id not in self._cannot_try)
            for a in advice
        )

    def _trial_of(self, advice: Advice) -> Tried | None:
        """The measured gain of advice; None if the step time of the same code has changed since."""
        step_s, size, trial = self._trials.get(self._key(advice), (0.0, 0, None))
        now = self._step_s
        if trial is None or now is None or not alike(step_s, now):
            return None
        return replace(trial, other_ranks=size if size != self._size else None)

    def _key(self, advice: Advice) -> tuple[str, int, str, object]:
        loop, of = self._trained if self._trained is not None else ("", Measured(ranks=0))
        return loop, of.ranks, advice.id, advice.values.get("variant")
