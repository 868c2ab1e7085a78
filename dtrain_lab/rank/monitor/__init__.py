"""The training monitor: steps, samples, data and communication, without a line of user code.

Hooks in torch write integers into a ring that the node agent reads. Only the main thread counts: a
collective in another thread does not stop training. Never changes a result; a hook that can't read
something leaves that figure out.
"""

from __future__ import annotations

from statistics import median

from dtrain_lab.core.estimate import ring
from dtrain_lab.core.estimate.ring import Call
from dtrain_lab.rank.monitor.collectives import watch_collectives
from dtrain_lab.rank.monitor.guard import Guard
from dtrain_lab.rank.monitor.probe import Probes
from dtrain_lab.rank.monitor.recorder import Recorder
from dtrain_lab.rank.monitor.seen import Seen
from dtrain_lab.rank.monitor.steps import watch_steps
from dtrain_lab.rank.monitor.stream import of_device
from dtrain_lab.rank.monitor.unseen import Unseen
from dtrain_lab.rank.monitor.untraced import compile_none_of
from dtrain_lab.training import guard as switch
from dtrain_lab.training import step

OURS = ("dtrain_lab.rank.", "dtrain_lab.core.estimate.")
"""Modules of what runs in hooks."""
TYPICAL, ENOUGH = 32, 5
"""The last steps of a loop, and how many are enough to say what one takes: the first are slow."""


class Monitor:
    """Watches this process.

    Args:
        memory: the metrics ring, shared with the node agent.
        world_size: 1 leaves communication out: there is none.
        probe: whether steps may be probed.
        guard: whether ranks compare their next collective before it runs.
    """

    def __init__(
        self, memory: memoryview, world_size: int, *, probe: bool = True, guard: bool = False
    ) -> None:
        self.recorder = Recorder(ring.Writer(memory))
        self.recorder.find_stream = of_device
        self._reader = ring.Reader(memory)
        self.probes = Probes(self.recorder)
        self.probes.on = probe
        self.guard = Guard(self.recorder)
        self.guard.on = guard
        self.seen = Seen()
        self._unseen = Unseen(self.recorder.writer.cells)
        if world_size > 1:
            self.recorder.step_ended = self._step_ended
        self._steps = self._loop = 0
        watch_collectives(self.recorder, self.guard)
        watch_steps(self.recorder, self.probes, self.guard, self.seen, sync=world_size > 1)
        step.to(self.recorder.user_stepped)
        switch.to(self.guard.switch)
        compile_none_of(OURS)

    def calls(self) -> tuple[Call, ...]:
        """The last collectives of this cell."""
        return tuple(self._reader.calls())

    def step_s(self) -> float | None:
        """What a step took in the last cell that trained, seconds; None after too few."""
        steps = self.recorder.writer.cells[ring.STEPS]
        loop = steps - self._steps or self._loop
        last = self._reader.last(min(loop, TYPICAL)) if loop >= ENOUGH else []
        return median(record.wall for record in last) / 1e9 if last else None

    def _step_ended(self, known: int) -> None:
        if not self.guard.on:  # it has collectives of its own
            self._unseen.step_ended(known)

    def end_cell(self) -> None:
        """It has ended."""
        self.recorder.end_cell()
        self.probes.end_cell()

    def begin_cell(self) -> None:
        """A cell begins. Its collectives are compared with those of the same cell on other ranks only."""
        with self.recorder.harmless():
            self._unseen.begin_cell()
        cells = self.recorder.writer.cells
        cells[ring.CALLS_NOTED] = 0
        if cells[ring.STEPS] > self._steps:
            self._loop = cells[ring.STEPS] - self._steps
            self._steps = cells[ring.STEPS]
        self.recorder.begin_cell()
        self.probes.begin_cell()
