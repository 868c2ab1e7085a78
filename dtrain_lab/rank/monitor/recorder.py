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
from dtrain_lab.rank.monitor.cuda_stream import Event
from dtrain_lab.rank.monitor.loop import Loop
from dtrain_lab.rank.monitor.models import Model
from dtrain_lab.rank.monitor.waits import ANY, now

FORWARD, BACKWARD, OPTIMIZER, DATA = (
    ring.DOINGS.index(n) for n in ("forward", "backward", "optimizer", "data")
)
WITHOUT_OPTIMIZER = 32
"""Number of backward passes without an optimizer after which each pass counts as a step, as a guess."""
GUESSED_STEP, GUESSED_SAMPLES = 1, 2
PLAIN, HOOKED = 1, 2
STREAM_EACH = 32
"""Steps between two looks for a GPU that trains; it is found in the first step of its cell, too."""


class Recorder(Loop):
    """Sums over the current step; writes a `StepRecord` at its end. Times are in ns of CLOCK_MONOTONIC.

    Args:
        writer: of the metrics ring.
    """

    def __init__(self, writer: ring.Writer) -> None:
        super().__init__(writer)
        self._cycle = StepCycle()
        self._marked = False
        """Whether the user marks the ends of steps by `dt.step`."""
        self._backwards = 0
        """Backward passes since the last step of an optimizer."""
        self._averages = False
        """Whether the next backward pass averages gradients over all ranks."""
        self.last_wall = 0
        """Duration of the last step, ns."""
        self._computed: Event | None = None
        self._new_cell = False
        self._until_look = 0
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
        self._new_cell = True
        self._until_look = 0
        self._clear()
        self.doing(0)

    def end_cell(self) -> None:
        """Mark this rank as idle until the next cell."""
        self._cells[ring.IDLE] = 1

    # ---- parts of a step

    def forward(self, samples: int, tokens: int, guessed: bool) -> None:
        """Called when a forward pass of training begins.

        Args:
            samples: samples in its batch.
            tokens: tokens in its batch.
            guessed: whether the number of samples is a guess.
        """
        began = now()
        if not self._entered:
            if self._aside:
                self._resume(began)
            self._entered, self._between = True, False
        loaded, before = self._loader_samples, self._tokens
        if self._fetches.queues:
            self._consume()
        self._forwards += 1
        if self._tokens == before:
            self._tokens += tokens
        cells = self._cells
        if guessed and self._loader_samples == loaded:
            cells[UNSURE] |= GUESSED_SAMPLES
        self._forward_samples += samples
        if self._computes is None:
            self._computes = began, self.exposed + self._data + self._probe
        cells[DOING] = FORWARD
        cells[DOING_SINCE] = cells[BEAT] = began

    def backward_began(self) -> tuple[int, int]:
        """Called when a backward pass begins.

        Returns:
            A mark for `backward_ended`.
        """
        self._computed = None
        if self._aside and not self._entered:
            self._resume(now())
            self._flags |= ring.PARTIAL  # no hook saw its forward
        self._entered = True
        if not self._forwards and self._fetches.queues:  # backward of a model whose forward has no hook
            self._consume()
        self._passes += 1
        self._forwards = 0
        cells = self._cells
        if self._averages:
            self._averages = False
            cells[ring.AVERAGED] += 1
        began, elsewhere = now(), self.exposed + self._data + self._probe
        cells[DOING] = BACKWARD
        cells[DOING_SINCE] = cells[BEAT] = began
        since, before = self._computes or self._free
        self._computes = None
        took = began - since - (elsewhere - before)
        if took > 0:
            self._forward += took
        return began, elsewhere

    def backward_computed(self) -> None:
        """On a GPU: called when all of backward is queued on the stream except waits for DDP's buckets."""
        if self.stream is not None and self._computed is None:  # the hook runs once per output
            self._computed = self.stream.mark()

    def backward_ended(self, at: tuple[int, int]) -> None:
        """Called when a backward pass has ended, with what `backward_began` returned."""
        if self._computed is not None and self.stream is not None:
            self.stream.waited(self._computed, 0)
            self._computed = None
        began, before = at
        ended, elsewhere = now(), self.exposed + self._data + self._probe
        cells = self._cells
        cells[DOING] = 0
        cells[DOING_SINCE] = cells[BEAT] = ended
        took = ended - began - (elsewhere - before)
        if took > 0:
            self._backward += took
        self._free = ended, elsewhere
        self._backwards += 1
        if self._backwards < 2 or self._marked or self._cycle.count:
            return
        cells[UNSURE] |= GUESSED_STEP  # steps without an optimizer of torch are guessed
        if self._backwards > WITHOUT_OPTIMIZER:
            cells[ring.STEP] += 1
            self._write()

    def synced(self, model: Model, *, everywhere: bool = True) -> None:
        """Mark this step as one in which a model's gradients are averaged.

        Args:
            model: the model.
            everywhere: whether each rank of the world makes as many such steps as the others.
        """
        self._flags |= ring.SYNCED
        self._averages = everywhere
        self._gradients += model.gradient_bytes
        self._synced += 1
        self._hooked_collectives += ANY
        cells = self._cells  # advice can say what fewer bytes would save
        cells[ring.GRADIENT_ITEM] = model.item
        cells[ring.HOOKED] = HOOKED if model.hooks else PLAIN

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
