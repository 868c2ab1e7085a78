"""The training monitor: measures steps, samples, data and communication without changes to the user's code.

Hooks in torch write integers into a ring that the node agent reads. Only the main thread is measured: a
collective in another thread does not stop training. The monitor never changes a result; a hook that can't
read something leaves that metric out.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from typing import Any

from dtrain_lab.metrics import ring
from dtrain_lab.rank.monitor.checks.guard import Guard
from dtrain_lab.rank.monitor.checks.missing_sync import EVERYTHING, MissingSync
from dtrain_lab.rank.monitor.checks.shards import Shards, SyncChecks
from dtrain_lab.rank.monitor.checks.shared_start import SharedStart
from dtrain_lab.rank.monitor.checks.unseen_collectives import UnseenCollectives
from dtrain_lab.rank.monitor.collectives import watch_collectives
from dtrain_lab.rank.monitor.last_training import LastTraining
from dtrain_lab.rank.monitor.probe import Probes
from dtrain_lab.rank.monitor.step.cuda_stream import of_device
from dtrain_lab.rank.monitor.step.passes import HOOKED
from dtrain_lab.rank.monitor.step.recorder import Recorder
from dtrain_lab.rank.monitor.training_hooks import watch_steps
from dtrain_lab.rank.torch import names
from dtrain_lab.rank.torch.compiler import compile_none_of
from dtrain_lab.training.rank_hooks import hooks
from dtrain_lab.wire.metrics.collective import CollectiveCall

OURS = ("dtrain_lab.rank.", "dtrain_lab.metrics.")
"""Modules whose functions run inside hooks."""
TYPICAL, ENOUGH = 32, 5
"""Maximum and minimum number of the loop's last steps whose median is its step time: the first are slow."""


class Monitor:
    """Monitors the training of this process.

    Args:
        memory: the metrics ring, shared with the node agent.
        world_size: number of ranks; with one rank communication isn't measured.
        probe: whether steps may be probed.
        guard: whether ranks compare their next collective before it runs.
        say: prints a note for the user.
    """

    def __init__(
        self,
        memory: memoryview,
        world_size: int,
        *,
        probe: bool = True,
        guard: bool = False,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.recorder = Recorder(ring.Writer(memory))
        self.recorder.find_stream = of_device
        self._reader = ring.Reader(memory)
        self.probes = Probes(self.recorder)
        self.probes.on = probe
        self.guard = Guard(self.recorder)
        self.guard.switch(guard and names.has(names.GUARD))
        self.last_training = LastTraining(self.recorder.writer.cells)
        self._unseen_collectives = UnseenCollectives(self.recorder.writer.cells)
        self.missing_sync = MissingSync(say)
        self.shared_start = SharedStart(say)
        self.shards = Shards(say, self.shared_start)
        if world_size > 1:
            self.recorder.step_ended = self._step_ended
        self._steps = self._loop = 0
        watch_collectives(self.recorder, self.guard, self.missing_sync, self.shared_start)
        sync_checks = SyncChecks(self.missing_sync, self.shared_start, self.shards)
        watch_steps(
            self.recorder, self.probes, self.guard, self.last_training, sync_checks, sync=world_size > 1
        )
        hooks.step, hooks.resting = self.recorder.user_stepped, self.recorder.resting
        hooks.batch, hooks.forget_batch = lambda: self.last_training.batch, self.last_training.forget_batch
        hooks.held = self.recorder.hold
        hooks.guard = self.guard.switch
        compile_none_of(OURS)

    def calls(self) -> tuple[CollectiveCall, ...]:
        """Signatures of the last collectives of this cell, oldest first."""
        return tuple(self._reader.calls())

    @property
    def steps(self) -> int:
        """Training steps of this process so far."""
        return self._reader.steps

    def step_s(self) -> float | None:
        """Median step time in the last cell that trained, seconds; None after fewer than 5 steps."""
        walls = [record.wall for record in self._last_steps()]
        return median(walls) / 1e9 if walls else None

    def beside_s(self) -> float | None:
        """Median time of the same steps beside model, optimizer and loader, seconds; None as for `step_s`."""
        rests = [record.beside for record in self._last_steps()]
        return median(rests) / 1e9 if rests else None

    def called_s(self) -> float | None:
        """Median time of the same steps in collectives that the loop calls itself, seconds.

        None as for `step_s`, or where a communication hook of DDP makes some of them.
        """
        calls = [record.exposed for record in self._last_steps()]
        hooked = self.recorder.writer.cells[ring.HOOKED] == HOOKED
        return median(calls) / 1e9 if calls and not hooked else None

    def data_s(self) -> float | None:
        """Time for which a step of the same ones waits for its loader, seconds; None as for `step_s`.

        Workers give batches in bursts, so it is the part of all steps together.
        """
        last = self._last_steps()
        walls = sum(record.wall for record in last)
        step_s = self.step_s()
        return step_s * sum(record.data for record in last) / walls if step_s and walls else None

    def _last_steps(self) -> list[ring.StepRecord]:
        """The last steps of the last cell that trained; none if they were fewer than 5."""
        steps = self.recorder.writer.cells[ring.STEPS]
        loop = steps - self._steps or self._loop
        last = self._reader.last(min(loop, TYPICAL)) if loop >= ENOUGH else []
        return [record for record in last if not record.flags & ring.PAUSED]

    def _step_ended(self, hooked: int) -> None:
        # the guard's own collectives would be taken for unseen ones
        if not self.guard.on and self._unseen_collectives.step_ended(hooked):
            self.missing_sync.elements_sent = EVERYTHING
        if not self.missing_sync.finished:
            self.missing_sync.step_ended()
        if self.shared_start.in_first_steps:
            self.shared_start.step_ended()

    def compare(self) -> None:
        """Tell the user if the ranks of a cell, which ended without an error, have exchanged no gradients."""
        with self.recorder.harmless(), self.recorder.resting():
            self.missing_sync.end_cell()

    def end_cell(self) -> None:
        """Called when a cell has ended."""
        self.recorder.end_cell()
        self.probes.end_cell()

    def begin_cell(
        self, cell: str = "", ranks: int = 0, store: Any = None, *, hosts_store: bool = False
    ) -> None:
        """Called when a cell begins. Its collectives are compared with the same cell's on other ranks only.

        Args:
            cell: id of the cell, the same on all ranks.
            ranks: number of ranks that run it.
            store: the ranks' rendezvous store.
            hosts_store: whether this process hosts the store, which then ends with it.
        """
        with self.recorder.harmless():
            self._unseen_collectives.begin_cell()
            self.missing_sync.begin_cell(cell, ranks, store, hosts_store=hosts_store)
            self.shared_start.begin_cell(cell, ranks, store)
            self.shards.begin_cell()
        cells = self.recorder.writer.cells
        cells[ring.CALLS_NOTED] = 0
        if cells[ring.STEPS] > self._steps:
            self._loop = cells[ring.STEPS] - self._steps
            self._steps = cells[ring.STEPS]
        self.last_training.begin_cell()
        self.recorder.begin_cell()
        self.probes.begin_cell()
