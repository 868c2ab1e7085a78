"""Sums up the measurements of the monitor's hooks, and writes one record per training step.

Code that runs in each step makes few calls and look-ups, which are expensive in cold caches.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dtrain_lab.metrics import ring
from dtrain_lab.metrics.ring import BEAT, DOING, DOING_SINCE, UNSURE
from dtrain_lab.metrics.steps import StepCycle
from dtrain_lab.rank.monitor.step.passes import GUESSED_SAMPLES, Passes
from dtrain_lab.rank.monitor.step.waits import ANY, now

OPTIMIZER, DATA = (ring.DOINGS.index(n) for n in ("optimizer", "data"))
STREAM_EACH = 32
"""Steps between two looks for a GPU that trains; it is found in the first step of its cell, too."""


class Recorder(Passes):
    """Sums over the current step; writes a `StepRecord` at its end. Times are in ns of CLOCK_MONOTONIC.

    Args:
        writer: of the metrics ring.
    """

    def __init__(self, writer: ring.Writer) -> None:
        super().__init__(writer)
        self.last_wall = 0
        """Duration of the last step, ns."""
        self._new_cell = False
        self._until_look = 0
        self._held = 0
        """`ring.HELD` at the end of the last step."""
        self.step_ended: Callable[[int], None] = lambda _: None
        """Called at the end of each step with the number of collectives that the hooks know of."""
        self._clear()

    def _clear(self) -> None:
        self.exposed = self._data = self._calls = self._hooked_collectives = 0
        self._forward = self._backward = self._optimizer = 0
        self._loader_samples = self._forward_samples = self._tokens = 0
        self._flags = self._probe = 0
        self._gradients = self._synced = 0
        self._passes = self._forwards = 0
        self._computes = self._body_rest = None
        self._free = self._began, 0

    @contextmanager
    def resting(self) -> Iterator[None]:
        """Ignore what this thread does inside the context, because it isn't the user's training."""
        self._depth, before = 1, self._depth
        try:
            yield
        finally:
            self._depth = before
            self._began, self._ran = now(), time.thread_time_ns()
            self._clear()
            self._hooked_collectives = ANY  # collectives made meanwhile don't belong to the next step

    @contextmanager
    def averaging(self, operation: int) -> Iterator[None]:
        """Measure the averaging of a probe, apart from the step's usual communication."""
        exposed = self.exposed
        began = now()
        with self.collective(operation):
            yield
        self.exposed = exposed
        self._probe += now() - began
        self._flags |= ring.PROBED

    def begin_cell(self) -> None:
        """Reset everything: an interrupt may have come in the middle of our own bookkeeping."""
        super().begin_cell()
        self._depth = 0
        self._marked = False
        self._backwards = 0
        self.numbers.clear()
        self._cycle = StepCycle()
        self._cells[UNSURE] = 0
        self._cells[ring.OPERATION] = 0
        self._cells[ring.IDLE] = self._cells[ring.REPEATS] = self._cells[ring.AVERAGED] = 0
        self._averages = False
        self._held = self._cells[ring.HELD]
        self._new_cell = True
        self._until_look = 0
        self._clear()
        self.doing(0)

    def hold(self, held: bool) -> None:
        """The debugger holds a rank of the world from now on, or none any more; called in its thread.

        Args:
            held: whether it holds any.
        """
        self._cells[ring.HELD] += self._cells[ring.HELD] & 1 != held

    def end_cell(self) -> None:
        """Mark this rank as idle until the next cell."""
        self._cells[ring.IDLE] = 1

    # ---- the optimizer

    def optimizer_began(self) -> tuple[int, int]:
        """Called when an optimizer begins to step.

        Returns:
            A mark for `optimizer_stepped`.
        """
        return self.doing(OPTIMIZER), self.exposed + self._data + self._probe

    # ---- the end of a step

    def user_stepped(self, samples: int) -> None:
        """End the step because the user called `dt.step`.

        Args:
            samples: samples of this rank in the step; 0 if unknown.
        """
        self._marked = True
        self._cells[UNSURE] = 0
        self._cells[ring.STEP] += 1
        self._write(samples)

    def optimizer_stepped(self, optimizer: int, at: tuple[int, int] | None = None) -> None:
        """Called after an optimizer's step; writes the record if a training step ends with it.

        Args:
            optimizer: id of the optimizer.
            at: what `optimizer_began` returned; None if it has changed nothing.
        """
        cells = self._cells
        if at is not None:
            began, before = at
            ended = now()
            cells[DOING] = 0
            cells[DOING_SINCE] = cells[BEAT] = ended
            took = ended - began - (self.exposed + self._data + self._probe - before)
            if took > 0:
                self._optimizer += took
        self._backwards = 0
        if self._marked:
            return
        cycle = self._cycle
        count = cycle.count
        ends = cycle.ends(optimizer)
        cells[UNSURE] = cells[UNSURE] & GUESSED_SAMPLES | (1 if cycle.mixed and cycle.unsure else 0)
        # negative if a cycle is recognized late, because earlier steps were counted more than once
        cells[ring.STEP] += cycle.count - count
        if ends:
            self._write()

    def _write(self, samples: int = 0) -> None:
        ended, ran = now(), time.thread_time_ns()
        processor = ran - self._ran
        if self.stream is not None:  # the events read now belong to slightly earlier steps
            self.exposed += self.stream.read()
            processor = 0
        elif self._until_look > 0:
            self._until_look -= 1
        else:
            self._until_look = STREAM_EACH
            self.stream = self.find_stream()
        cells = self._cells
        passes = self._passes
        if not passes:  # no hook saw the backward that computed its gradients
            rest, tokens = self._fetches.take_all()
            self._loader_samples += rest
            self._tokens += tokens
        samples = samples or self._loader_samples or self._forward_samples
        if not samples and not self._marked:
            cells[UNSURE] |= GUESSED_SAMPLES
        wall = ended - self._began
        if self._new_cell:
            self._new_cell = False
            cells[ring.CELL_STEPS] = cells[ring.STEPS]
        if (held := cells[ring.HELD]) != self._held or held & 1:
            self._held = held
            self._flags |= ring.PAUSED
        self.writer.write(
            # the fields of a `StepRecord`; `tail` is known one forward pass later
            ended, wall, self._data, self.exposed, 0, samples, self._calls,
            self._forward, self._backward, self._optimizer,
            self._tokens, self._flags, self._probe, processor,
            self._gradients, max(1, passes // max(1, self._synced)),
        )  # fmt: skip
        self.last_wall = wall
        try:
            self.step_ended(self._hooked_collectives)
        except Exception as error:  # noqa: BLE001 # hooks never break training
            self.broke(error)
        self._began, self._ran = ended, ran
        self._aside = self._entered = False
        self._clear()
