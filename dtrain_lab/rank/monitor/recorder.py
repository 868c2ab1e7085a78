"""What the hooks of the monitor add up, step by step."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from dtrain_lab.core.estimate import ring
from dtrain_lab.core.estimate.steps import StepCycle

now = time.monotonic_ns


class Recorder:
    """Sums of the present step; one `StepRecord` at its end."""

    def __init__(self, writer: ring.Writer) -> None:
        self.writer = writer
        self._cells = writer.cells
        self._main = threading.main_thread().ident
        self._depth = 0
        self._cycle = StepCycle()
        self._began = now()
        self._exposed = 0
        self._data = 0
        self._calls = 0
        self._loader_samples = 0
        self._forward_samples = 0
        self._fetched = 0
        self._told = False
        """The user says where steps end."""

    @property
    def watches(self) -> bool:
        """This thread is the one that trains, and it is not inside another collective."""
        return self._depth == 0 and threading.get_ident() == self._main

    @contextmanager
    def collective(self, operation: int, *, counts: bool = True) -> Iterator[None]:
        """The training thread stands in a collective; `operation` indexes `ring.OPERATIONS`."""
        cells = self._cells
        self._depth = 1
        entered = now()
        if counts:
            self._calls += 1
            cells[ring.SEQUENCE] += 1
        cells[ring.ENTERED] = entered
        cells[ring.OPERATION] = operation
        try:
            yield
        finally:
            self._depth = 0
            cells[ring.OPERATION] = 0
            left = now()
            cells[ring.BEAT] = left
            self._exposed += left - entered

    def begin_cell(self) -> None:
        """Nothing is under way: an interrupt may have come in the middle of our own bookkeeping."""
        self._depth = 0
        self._told = False
        self._cells[ring.OPERATION] = 0

    def doing(self, what: int) -> None:
        """What the training thread does; indexes `ring.DOINGS`."""
        self._cells[ring.DOING] = what
        self._cells[ring.DOING_SINCE] = now()

    def fetched(self, nanoseconds: int, samples: int) -> None:
        """A loader gave a batch."""
        self._data += nanoseconds
        self._fetched = samples

    def forward(self, samples: int) -> None:
        """A forward pass of training began with a batch of so many samples."""
        self._loader_samples += self._fetched
        self._fetched = 0
        self._forward_samples += samples

    def user_stepped(self, samples: int) -> None:
        """The user says that a step ends here."""
        self._told = True
        self._cells[ring.UNSURE] = 0
        self._write(samples)

    def optimizer_stepped(self, optimizer: int) -> None:
        """An optimizer has stepped; at the end of a training step, write its record."""
        if self._told:
            return
        ends = self._cycle.ends(optimizer)
        self._cells[ring.UNSURE] = int(self._cycle.unsure)
        if ends:
            self._write()

    def _write(self, samples: int = 0) -> None:
        ended = now()
        self.writer.append(
            ring.StepRecord(
                ended=ended,
                wall=ended - self._began,
                data=self._data,
                exposed=self._exposed,
                tail=0,
                samples=samples or self._loader_samples + self._fetched or self._forward_samples,
                calls=self._calls,
            )
        )
        self._began = ended
        self._exposed = self._data = self._calls = 0
        self._loader_samples = self._forward_samples = self._fetched = 0
