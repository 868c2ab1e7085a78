"""Sums up the measurements of the monitor's hooks, and writes one record per training step."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dtrain_lab.metrics import ring
from dtrain_lab.metrics.ring import BEAT, DOING, DOING_SINCE
from dtrain_lab.metrics.steps import StepCycle
from dtrain_lab.rank.monitor.fetches import Fetches
from dtrain_lab.rank.monitor.stream import Event
from dtrain_lab.rank.monitor.waits import ANY, Waits, now

FORWARD, BACKWARD, OPTIMIZER, DATA = (
    ring.DOINGS.index(n) for n in ("forward", "backward", "optimizer", "data")
)
WITHOUT_OPTIMIZER = 32
"""Number of backward passes without an optimizer after which each pass counts as a step, as a guess."""
GUESSED_STEP, GUESSED_SAMPLES = 1, 2


class Recorder(Waits):
    """Sums over the current step; writes a `StepRecord` at its end. Times are in ns of CLOCK_MONOTONIC.

    Args:
        writer: of the metrics ring.
    """

    def __init__(self, writer: ring.Writer) -> None:
        super().__init__(writer)
        self._cycle = StepCycle()
        self._began = now()
        self._ran = time.thread_time_ns()
        self._marked = False
        """Whether the user marks the ends of steps by `dt.step`."""
        self._backwards = 0
        """Backward passes since the last step of an optimizer."""
        self._averages = False
        """Whether the next backward pass averages gradients over all ranks."""
        self.last_wall = 0
        """Duration of the last step, ns."""
        self._computed: Event | None = None
        self._fetches = Fetches()
        self._aside = True
        """Whether validation or a checkpoint ran since the last step; the next step begins after it."""
        self._entered = False
        """Whether training has resumed since the last step."""
        self._between = False
        """Whether an epoch has ended, and the next one has not begun."""
        self._new_cell = False
        self.step_ended: Callable[[int], None] = lambda _: None
        """Called at the end of each step with the number of collectives that the hooks know of."""
        self._clear()

    def _clear(self) -> None:
        self.exposed = self._data = self._calls = self._known = 0
        self._forward = self._backward = self._optimizer = 0
        self._loader_samples = self._forward_samples = self._tokens = 0
        self._flags = self._probe = 0
        self._gradients = self._synced = 0
        self._passes = self._forwards = 0
        """Backward passes of this step, and forward passes since the last of them."""
        self._computes: tuple[int, int] | None = None
        """When this step's forward began, and the time spent outside computation until then, ns."""
        self._free = self._began, 0
        """As `_computes`, but the latest time after which computation may have begun without a hook."""

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
            self._known = ANY  # collectives made meanwhile don't belong to the next step

    def at_barrier(self) -> None:
        """Note that this rank, which does not compute, waits for a rank that saves or validates."""
        if self._between or self._unused:
            self._aside = True

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
        self._depth = 0
        self._marked = False
        self._backwards = 0
        self.numbers.clear()
        self._cycle = StepCycle()
        self._cells[ring.UNSURE] = 0
        self._cells[ring.OPERATION] = 0
        self._cells[ring.IDLE] = self._cells[ring.REPEATS] = self._cells[ring.AVERAGED] = 0
        self._averages = False
        for place in (ring.EPOCHS, ring.EPOCH_DONE, ring.EPOCH_LENGTH):
            self._cells[place] = 0
        self._new_cell = self._aside = True
        self._entered = self._between = False
        self._fetches.clear()
        self._clear()
        self.doing(0)

    def end_cell(self) -> None:
        """Mark this rank as idle until the next cell."""
        self._cells[ring.IDLE] = 1

    @property
    def _elsewhere(self) -> int:
        """Time of this step spent outside computation so far, ns."""
        return self.exposed + self._data + self._probe

    @property
    def _unused(self) -> bool:
        """Whether batches were read for this step, and nothing was computed yet."""
        return self._entered and not (self._passes or self._forwards)

    # ---- parts of a step

    def leave_training(self) -> None:
        """Called when training is interrupted, for example by validation or a checkpoint."""
        self._aside = True

    def fetching(self, began: int) -> None:
        """Called when a loader is asked for a batch for training."""
        if self._aside and self._unused:  # the loop that read the previous batch was left with `break`
            self._entered = False
        self._resume(began)

    def fetched(self, began: int, iterator: object, samples: int, tokens: int) -> None:
        """Called when a loader has given a batch.

        Args:
            began: when it was asked for, ns.
            iterator: the loader's iterator.
            samples: samples in the batch; 0 if it is not for training.
            tokens: tokens in the batch; 0 if it is not for training.
        """
        self._data += now() - began
        if samples:
            self._fetches.put(iterator, began, samples, tokens)
        self._free = now(), self._elsewhere

    def _resume(self, began: int) -> None:
        """Resume training; if something else ran since the last step, this step begins at `began`."""
        if self._entered:
            return
        self._entered, self._between = True, False
        if self._aside:
            self._aside = False
            self._restart(began)

    def epoch_ended(self) -> None:
        """Called when a loader had no batch left; what follows may not be training."""
        self._entered = bool(self._passes or self._forwards)
        self._between = not self._entered

    def _restart(self, began: int) -> None:
        """Set the start of the current step, and clear its sums."""
        self._began, self._ran = began, time.thread_time_ns()
        self._clear()

    def _consume(self) -> None:
        """Count the next fetched batch, with which training computes now."""
        if not (self._passes or self._forwards):
            other = self._fetches.after_others()
            if other:  # a whole loader was read without training: validation
                self._restart(other)
        samples, tokens = self._fetches.take()
        self._loader_samples += samples
        self._tokens += tokens

    def epoch(self, done: int, length: int) -> None:
        """Record the position in the epoch.

        Args:
            done: batches that the loader has given.
            length: batches of the epoch; 0 if unknown.
        """
        cells = self._cells
        if done == 1:
            cells[ring.EPOCHS] += 1
        cells[ring.EPOCH_DONE], cells[ring.EPOCH_LENGTH] = done, length

    def forward(self, samples: int, tokens: int, guessed: bool) -> None:
        """Called when a forward pass of training begins.

        Args:
            samples: samples in its batch.
            tokens: tokens in its batch.
            guessed: whether the number of samples is a guess.
        """
        self._resume(now())
        before = self._loader_samples, self._tokens
        self._consume()
        self._forwards += 1
        if self._tokens == before[1]:
            self._tokens += tokens
        if guessed and self._loader_samples == before[0]:
            self._cells[ring.UNSURE] |= GUESSED_SAMPLES
        self._forward_samples += samples
        if self._computes is None:
            self._computes = now(), self._elsewhere

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
        if not self._forwards:  # backward of a model whose forward has no hook
            self._consume()
        self._passes += 1
        if self._averages:
            self._averages = False
            self._cells[ring.AVERAGED] += 1
        self._forwards = 0
        began, elsewhere = now(), self.exposed + self._data + self._probe
        cells = self._cells
        cells[DOING] = BACKWARD
        cells[DOING_SINCE] = cells[BEAT] = began
        since, before = self._computes or self._free
        self._forward += max(0, began - since - (elsewhere - before))
        self._computes = None
        return began, elsewhere

    def backward_computed(self) -> None:
        """On a GPU: called when all of backward is queued on the stream except waits for DDP's buckets."""
        if self.stream is not None and self._computed is None:  # the hook runs once per output
            self._computed = self.stream.mark()

    def backward_ended(self, at: tuple[int, int]) -> None:
        """Called when a backward pass has ended, with what `backward_began` returned."""
        if self.stream is not None and self._computed is not None:
            self.stream.stood(self._computed, 0)
            self._computed = None
        began, before = at
        ended, elsewhere = now(), self.exposed + self._data + self._probe
        cells = self._cells
        cells[DOING] = 0
        cells[DOING_SINCE] = cells[BEAT] = ended
        self._backward += max(0, ended - began - (elsewhere - before))
        self._free = ended, elsewhere
        self._backwards += 1
        if self._marked or self._cycle.count or self._backwards < 2:
            return
        self._cells[ring.UNSURE] |= GUESSED_STEP  # steps without an optimizer of torch are guessed
        if self._backwards > WITHOUT_OPTIMIZER:
            self._cells[ring.STEP] += 1
            self._write()

    def synced(self, sent: int, *, everywhere: bool = True) -> None:
        """Mark this step as one in which a model's gradients are averaged.

        Args:
            sent: bytes of these gradients; 0 if unknown.
            everywhere: whether each rank of the world makes as many such steps as the others.
        """
        self._flags |= ring.SYNCED
        self._averages = everywhere
        self._gradients += sent
        self._synced += 1
        self._known += ANY

    def optimizer_began(self) -> tuple[int, int]:
        """Called when an optimizer begins to step; returns times for `optimizer_ran`.

        Returns:
            Monotonic time, and the time that other parts of the step have taken so far, both in ns.
        """
        began = now()
        cells = self._cells
        cells[DOING] = OPTIMIZER
        cells[DOING_SINCE] = cells[BEAT] = began
        return began, self.exposed + self._data + self._probe

    def optimizer_ran(self, at: tuple[int, int]) -> None:
        """Called when an optimizer has stepped, with what `optimizer_began` returned."""
        began, before = at
        ended = now()
        cells = self._cells
        cells[DOING] = 0
        cells[DOING_SINCE] = cells[BEAT] = ended
        self._optimizer += max(0, ended - began - (self.exposed + self._data + self._probe - before))

    # ---- the end of a step

    def user_stepped(self, samples: int) -> None:
        """End the step because the user called `dt.step`.

        Args:
            samples: samples of this rank in the step; 0 if unknown.
        """
        self._marked = True
        self._cells[ring.UNSURE] = 0
        self._cells[ring.STEP] += 1
        self._write(samples)

    def optimizer_stepped(self, optimizer: int) -> None:
        """Called after an optimizer's step; writes the record if a training step ends with it.

        Args:
            optimizer: id of the optimizer.
        """
        self._backwards = 0
        if self._marked:
            return
        before = self._cycle.count
        ends = self._cycle.ends(optimizer)
        cells = self._cells
        cells[ring.UNSURE] = cells[ring.UNSURE] & GUESSED_SAMPLES | int(self._cycle.unsure)
        # negative if a cycle is recognized late, because earlier steps were counted more than once
        cells[ring.STEP] += self._cycle.count - before
        if ends:
            self._write()

    def _write(self, samples: int = 0) -> None:
        ended, ran = now(), time.thread_time_ns()
        processor = ran - self._ran
        if self.stream is not None:  # the events read now belong to slightly earlier steps
            self.exposed += self.stream.read()
            processor = 0
        else:
            self.stream = self.find_stream()
        if not self._passes:  # no hook saw the backward that computed its gradients
            rest, tokens = self._fetches.take_all()
            self._loader_samples += rest
            self._tokens += tokens
        samples = samples or self._loader_samples or self._forward_samples
        if not samples and not self._marked:
            self._cells[ring.UNSURE] |= GUESSED_SAMPLES
        wall = ended - self._began
        if self._new_cell:
            self._new_cell = False
            self._cells[ring.CELL_STEPS] = self._cells[ring.STEPS]
        self.writer.write(
            (  # the fields of a `StepRecord`; `tail` is known one forward pass later
                ended, wall, self._data, self.exposed, 0, samples, self._calls,
                self._forward, self._backward, self._optimizer,
                self._tokens, self._flags, self._probe, processor,
                self._gradients, max(1, self._passes // max(1, self._synced)),
            )
        )  # fmt: skip
        self.last_wall = wall
        try:
            self.step_ended(self._known)
        except Exception as error:  # noqa: BLE001 # hooks never break training
            self.broke(error)
        self._began, self._ran = ended, ran
        self._aside = self._entered = False
        self._clear()
