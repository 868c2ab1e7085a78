"""What the hooks of the monitor add up, step by step."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dtrain_lab.core.estimate import ring
from dtrain_lab.core.estimate.ring import BEAT, DOING, DOING_SINCE
from dtrain_lab.core.estimate.steps import StepCycle
from dtrain_lab.rank.monitor.stream import Event, StreamClock

now = time.monotonic_ns
FORWARD, BACKWARD, OPTIMIZER, DATA = (
    ring.DOINGS.index(n) for n in ("forward", "backward", "optimizer", "data")
)
WITHOUT_OPTIMIZER = 32
"""After so many backward passes without any optimizer each is taken for a step, and marked as a guess."""
ANY = 1 << 30
"""Collectives of a step that nobody counts."""
SEVERAL = frozenset(
    ring.OPERATION_INDEX[name]
    for name in (
        "all_gather_object",
        "broadcast_object_list",
        "gather_object",
        "scatter_object_list",
        "monitored_barrier",
        "reduce_scatter",
        "broadcast_buffers",
        "backward_sync",
        "all_gather_coalesced",
        "all_reduce_coalesced",
    )
)
"""Calls that are any number of collectives."""
GUESSED_STEP, GUESSED_SAMPLES = 1, 2


class Recorder:
    """Sums of the present step; one `StepRecord` at its end."""

    def __init__(self, writer: ring.Writer) -> None:
        self.writer = writer
        self._cells = writer.cells
        self._main = threading.main_thread().ident
        self._depth = 0
        self._cycle = StepCycle()
        self._began = now()
        self._ran = time.thread_time_ns()
        self._told = False
        """The user says where steps end."""
        self.numbers: dict[int, int] = {}
        """Group → collectives that Python has called in this cell."""
        self._backwards = 0
        """Since the last step of an optimizer."""
        self.last_wall = 0
        """Of the last step, ns."""
        self._computed: Event | None = None
        self.step_ended: Callable[[int], None] = lambda _: None
        """Is told how many collectives a step had, as far as it is known."""
        self.stream: StreamClock | None = None
        """Of the GPU that trains; None where none does."""
        self.find_stream: Callable[[], StreamClock | None] = lambda: None
        self._clear()

    def _clear(self) -> None:
        self.exposed = self._data = self._calls = self._known = 0
        self._forward = self._backward = self._optimizer = 0
        self._loader_samples = self._forward_samples = self._fetched = self._tokens = self._fetched_tokens = 0
        self._flags = self._probe = 0
        self._computes: tuple[int, int] | None = None
        """When this step's forward began, and what was spent elsewhere by then."""
        self._free = self._began, 0
        """The same of the last moment that belongs to nothing else."""

    @property
    def watches(self) -> bool:
        """This thread is the one that trains, and it is not inside another collective."""
        return self._depth == 0 and threading.get_ident() == self._main

    @contextmanager
    def resting(self) -> Iterator[None]:
        """What this thread does now is no training."""
        self._depth, before = 1, self._depth
        try:
            yield
        finally:
            self._depth = before
            self._began, self._ran = now(), time.thread_time_ns()
            self._clear()

    @contextmanager
    def harmless(self) -> Iterator[None]:
        """A hook of ours never breaks training: what it raises is counted, and told once."""
        try:
            yield
        except Exception as error:  # noqa: BLE001
            self.broke(error)

    def broke(self, error: Exception) -> None:
        """A hook of ours has raised this; for hooks that each step runs, where `harmless` costs too much."""
        self._cells[ring.ERRORS] += 1
        if self._cells[ring.ERRORS] == 1:
            print(
                f"dtrain-lab: the monitor can't follow this code ({type(error).__name__}: {error}); "
                "training goes on, some figures may be missing.",
                file=sys.stderr,
            )

    @contextmanager
    def collective(self, operation: int, *, counts: bool = True) -> Iterator[None]:
        """The training thread stands in a collective; `operation` indexes `ring.OPERATIONS`."""
        cells = self._cells
        self._depth = 1
        entered = now()
        self._known += ANY if operation in SEVERAL else 1  # also a wait: for what began where no hook is
        if counts:
            self._calls += 1
            cells[ring.SEQUENCE] += 1
        cells[ring.ENTERED] = entered
        cells[ring.OPERATION] = operation
        stream = self.stream
        begin = stream.mark() if stream is not None else None
        try:
            yield
        finally:
            self._depth = 0
            cells[ring.OPERATION] = 0
            left = now()
            cells[ring.BEAT] = left
            self.exposed += left - entered
            if stream is not None:
                stream.stood(begin, left - entered)

    @contextmanager
    def averaging(self, operation: int) -> Iterator[None]:
        """A probe averages gradients, which is no part of what collectives usually cost."""
        exposed = self.exposed
        began = now()
        with self.collective(operation):
            yield
        self.exposed = exposed
        self._probe += now() - began
        self._flags |= ring.PROBED

    def begin_cell(self) -> None:
        """Nothing is under way: an interrupt may have come in the middle of our own bookkeeping."""
        self._depth = 0
        self._told = False
        self._backwards = 0
        self.numbers.clear()
        self._cycle = StepCycle()
        self._cells[ring.UNSURE] = 0
        self._cells[ring.OPERATION] = 0
        self._cells[ring.IDLE] = 0
        self.doing(0)

    def end_cell(self) -> None:
        """Nothing is to be told of this rank until the next one."""
        self._cells[ring.IDLE] = 1

    def doing(self, what: int) -> None:
        """What the training thread does; indexes `ring.DOINGS`."""
        cells = self._cells
        cells[DOING] = what
        cells[DOING_SINCE] = cells[BEAT] = now()

    @property
    def doing_now(self) -> int:
        """What it does; indexes `ring.DOINGS`."""
        return self._cells[ring.DOING]

    @property
    def _elsewhere(self) -> int:
        """Spent so far on what is no computation."""
        return self.exposed + self._data + self._probe

    # ---- parts of a step

    def fetched(self, nanoseconds: int, samples: int, tokens: int) -> None:
        """A loader gave a batch."""
        self._data += nanoseconds
        self._fetched, self._fetched_tokens = samples, tokens
        self._free = now(), self._elsewhere

    def epoch(self, done: int, length: int) -> None:
        """A loader that training reads is here in its epoch; `length` is 0 where nobody knows."""
        cells = self._cells
        if done == 1:
            cells[ring.EPOCHS] += 1
        cells[ring.EPOCH_DONE], cells[ring.EPOCH_LENGTH] = done, length

    def forward(self, samples: int, tokens: int, guessed: bool) -> None:
        """A forward pass of training began with a batch of so many samples."""
        self._loader_samples += self._fetched
        self._tokens += self._fetched_tokens or tokens
        if guessed and not self._fetched:
            self._cells[ring.UNSURE] |= GUESSED_SAMPLES
        self._fetched = self._fetched_tokens = 0
        self._forward_samples += samples
        if self._computes is None:
            self._computes = now(), self._elsewhere

    def backward_began(self) -> tuple[int, int]:
        """Backward begins; what is returned goes to `backward_ended`."""
        self._computed = None
        began, elsewhere = now(), self.exposed + self._data + self._probe
        cells = self._cells
        cells[DOING] = BACKWARD
        cells[DOING_SINCE] = cells[BEAT] = began
        since, before = self._computes or self._free
        self._forward += max(0, began - since - (elsewhere - before))
        self._computes = None
        return began, elsewhere

    def backward_computed(self) -> None:
        """On a GPU: all of backward is on the stream but its waits for DDP's buckets."""
        if self.stream is not None and self._computed is None:  # several outputs tell of it
            self._computed = self.stream.mark()

    def backward_ended(self, at: tuple[int, int]) -> None:
        """It has ended."""
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
        if self._told or self._cycle.count or self._backwards < 2:
            return
        self._cells[ring.UNSURE] |= GUESSED_STEP  # no optimizer that anybody can see
        if self._backwards > WITHOUT_OPTIMIZER:
            self._cells[ring.STEP] += 1
            self._write()

    def synced(self) -> None:
        """A model's gradients are averaged in this step."""
        self._flags |= ring.SYNCED
        self._known += ANY

    def optimizer_began(self) -> tuple[int, int]:
        """An optimizer steps; what is returned goes to `optimizer_ran`."""
        began = now()
        cells = self._cells
        cells[DOING] = OPTIMIZER
        cells[DOING_SINCE] = cells[BEAT] = began
        return began, self.exposed + self._data + self._probe

    def optimizer_ran(self, at: tuple[int, int]) -> None:
        """It has."""
        began, before = at
        ended = now()
        cells = self._cells
        cells[DOING] = 0
        cells[DOING_SINCE] = cells[BEAT] = ended
        self._optimizer += max(0, ended - began - (self.exposed + self._data + self._probe - before))

    # ---- its end

    def user_stepped(self, samples: int) -> None:
        """The user says that a step ends here."""
        self._told = True
        self._cells[ring.UNSURE] = 0
        self._cells[ring.STEP] += 1
        self._write(samples)

    def optimizer_stepped(self, optimizer: int) -> None:
        """An optimizer has stepped; at the end of a training step, write its record."""
        self._backwards = 0
        if self._told:
            return
        before = self._cycle.count
        ends = self._cycle.ends(optimizer)
        cells = self._cells
        cells[ring.UNSURE] = cells[ring.UNSURE] & GUESSED_SAMPLES | int(self._cycle.unsure)
        # where a cycle is recognized late, the steps before it were counted too often
        cells[ring.STEP] += self._cycle.count - before
        if ends:
            self._write()

    def _write(self, samples: int = 0) -> None:
        ended, ran = now(), time.thread_time_ns()
        processor = ran - self._ran
        if self.stream is not None:  # what the device has passed by now is of steps a little earlier
            self.exposed += self.stream.read()
            processor = 0
        else:
            self.stream = self.find_stream()
        samples = samples or self._loader_samples + self._fetched or self._forward_samples
        if not samples and not self._told:
            self._cells[ring.UNSURE] |= GUESSED_SAMPLES
        wall = ended - self._began
        self.writer.write(
            (  # the fields of a `StepRecord`; its tail is known one forward later
                ended, wall, self._data, self.exposed, 0, samples, self._calls,
                self._forward, self._backward, self._optimizer,
                self._tokens + self._fetched_tokens, self._flags, self._probe, processor,
            )
        )  # fmt: skip
        self.last_wall = wall
        try:
            self.step_ended(self._known)
        except Exception as error:  # noqa: BLE001
            self.broke(error)
        self._began, self._ran = ended, ran
        self._clear()
