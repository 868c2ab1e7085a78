"""Follows the training loop: the batches that it has read, and interruptions such as validation."""

from __future__ import annotations

import time
from typing import NamedTuple

from dtrain_lab.metrics import ring
from dtrain_lab.rank.monitor.step.loader_queues import LoaderQueues
from dtrain_lab.rank.monitor.step.waits import Waits, now


class _BodyRest(NamedTuple):
    """What the body of a loop's last pass did after its training step; times in ns."""

    wall: int
    data: int
    exposed: int
    processor: int


class Loop(Waits):
    """Follows the loop of the training thread; part of `Recorder`. Times are in ns of CLOCK_MONOTONIC.

    Args:
        writer: of the metrics ring.
    """

    def __init__(self, writer: ring.Writer) -> None:
        super().__init__(writer)
        self._began = now()
        """When the current step began."""
        self._ran = time.thread_time_ns()
        self._fetches = LoaderQueues()
        self._aside = True
        """Whether validation or a checkpoint ran since the last step; the next step begins after it."""
        self._entered = False
        """Whether training has resumed since the last step."""
        self._between = False
        """Whether an epoch has ended, and the next one has not begun."""
        self._body_rest: _BodyRest | None = None
        """Rest of the last pass of a loop that has ended; the next step has it, as each step has the rest of
        the pass before it, also where validation or a checkpoint ran between the two."""
        self._data = self._loader_samples = self._tokens = 0
        """This step's time in loaders, and samples and tokens of its batches."""
        self._probe = 0
        self._passes = self._forwards = 0
        """Backward passes of this step, and forward passes since the last of them."""
        self._computes: tuple[int, int] | None = None
        """When this step's forward began, and the time spent outside computation until then, ns."""
        self._free = self._began, 0
        """The latest time after which computation may have begun without a hook, and the time that this step
        had spent outside computation until then, ns."""

    def _clear(self) -> None:
        """Clear the sums of the current step."""
        raise NotImplementedError

    @property
    def _unused(self) -> bool:
        """Whether batches were read for this step, and nothing was computed yet."""
        return self._entered and not (self._passes or self._forwards)

    def begin_cell(self) -> None:
        """Called when a cell begins: nothing has been read in it."""
        self._aside = True
        self._entered = self._between = False
        self._fetches.clear()
        for place in (ring.EPOCHS, ring.EPOCH_DONE, ring.EPOCH_LENGTH):
            self._cells[place] = 0

    def at_barrier(self) -> None:
        """Note that this rank, which does not compute, waits for a rank that saves or validates."""
        if self._between or self._unused:
            self._aside = True

    def leave_training(self) -> None:
        """Called when training is interrupted, for example by validation or a checkpoint."""
        self._aside = True

    def fetching(self, began: int) -> None:
        """Called when a loader is asked for a batch for training."""
        if self._aside and self._unused:  # the loop that read the previous batch was left with `break`
            self._entered = False
        if not self._entered:
            self._resume(began)

    def fetched(self, began: int, iterator: object, samples: int, tokens: int) -> None:
        """Called when a loader has given a batch.

        Args:
            began: when it was asked for, ns.
            iterator: the loader's iterator.
            samples: samples in the batch; 0 if it is not for training.
            tokens: tokens in the batch; 0 if it is not for training.
        """
        ended = now()
        self._data += ended - began
        if samples:
            self._fetches.put(iterator, began, samples, tokens)
        self._free = ended, self.exposed + self._data + self._probe

    def _resume(self, began: int) -> None:
        """Resume training; if something else ran since the last step, this step begins at `began`."""
        self._entered, self._between = True, False
        if self._aside:
            self._aside = False
            self._restart(began)

    def epoch_ended(self, began: int, iterator: object) -> None:
        """Called when a loader had no batch left; what follows may not be training.

        Args:
            began: when it was asked for one, ns.
            iterator: the loader's iterator.
        """
        self._entered = bool(self._passes or self._forwards)
        self._between = not self._entered
        if self._between and not self._aside and self._fetches.trains(iterator):
            self._carry_over(began, self._data, self.exposed)

    def _carry_over(self, ended: int, data: int, exposed: int) -> None:
        """Carry what the loop has done since its last step over to the next step.

        Args:
            ended: when the loop ended, ns.
            data: its time in loaders since that step, ns.
            exposed: its time in collectives since that step, ns.
        """
        if self._body_rest is None:
            wall = ended - self._began
            processor = min(time.thread_time_ns() - self._ran, wall)
            self._body_rest = _BodyRest(wall, data, exposed, processor)

    def _restart(self, began: int) -> None:
        """Set the start of the current step, and clear its sums, except for the rest of the last pass."""
        asked_at = self._fetches.asked_between(self._began, began)
        if asked_at:  # a batch that the loop left with `break`; its waits until then are not known apart
            self._carry_over(asked_at, 0, 0)
        rest = self._body_rest
        self._began, self._ran = began, time.thread_time_ns()
        self._clear()
        if rest is not None:
            self._body_rest = rest
            self._began -= rest.wall
            self._ran -= rest.processor
            self._data, self.exposed = rest.data, rest.exposed
            self._free = began, rest.data + rest.exposed

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
