"""Follows the forward and backward passes of training, and averaging of gradients in them."""

from __future__ import annotations

from dtrain_lab.metrics import ring
from dtrain_lab.metrics.ring import BEAT, DOING, DOING_SINCE, UNSURE
from dtrain_lab.metrics.steps import StepCycle
from dtrain_lab.rank.monitor.step.cuda_stream import Event
from dtrain_lab.rank.monitor.step.loop import Loop
from dtrain_lab.rank.monitor.step.models import Model
from dtrain_lab.rank.monitor.step.waits import ANY, now

FORWARD, BACKWARD = (ring.DOINGS.index(n) for n in ("forward", "backward"))
WITHOUT_OPTIMIZER = 32
"""Number of backward passes without an optimizer after which each pass counts as a step, as a guess."""
GUESSED_STEP, GUESSED_SAMPLES = 1, 2
PLAIN, HOOKED = 1, 2


class Passes(Loop):
    """Measures the passes of the training thread; part of `Recorder`. Times are in ns of CLOCK_MONOTONIC.

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
        self._computed: Event | None = None
        """Where computation of this backward pass ended on a GPU's stream."""
        self._forward_samples = self._forward = self._backward = self._flags = 0
        """Samples that this step's forward passes were given, the times of its passes, and its flags."""
        self._gradients = self._synced = 0
        """Bytes of gradients that this step averages, and in how many of its passes."""

    def _write(self, samples: int = 0) -> None:
        """Write the record of a step that ends."""
        raise NotImplementedError

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
