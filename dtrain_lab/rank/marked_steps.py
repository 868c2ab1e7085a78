"""Metrics of ranks that train with another framework than torch: the steps that `dt.step` marks.

Communication, data, forward and backward are not known there: torch's hooks measure them.
"""

from __future__ import annotations

import sys
import time

from dtrain_lab.metrics import ring
from dtrain_lab.training.rank_hooks import hooks

now = time.monotonic_ns


class MarkedSteps:
    """Writes a record at each `dt.step` into the metrics ring.

    Args:
        memory: the metrics ring, shared with the node agent.
    """

    def __init__(self, memory: memoryview) -> None:
        self._writer = ring.Writer(memory)
        self._writer.cells[ring.BOUND] = ring.BOUNDS.index("unknown")
        self._began, self._ran = now(), time.thread_time_ns()
        hooks.step = self.stepped

    def stepped(self, samples: int) -> None:
        """End a step.

        Args:
            samples: samples of this rank in the step; 0 if unknown.
        """
        ended, ran = now(), time.thread_time_ns()
        first = 0 if self._writer.cells[ring.STEP] else ring.PARTIAL
        record = ring.StepRecord(
            ended=ended,
            wall=ended - self._began,
            data=0,
            exposed=0,
            tail=0,
            samples=samples,
            calls=0,
            flags=first,
            processor=ran - self._ran,
        )
        self._writer.cells[ring.STEP] += 1
        self._writer.append(record)
        self._began, self._ran = ended, ran


def say(title: str) -> None:
    """Say what the metrics of such a job lack; on rank 0.

    Args:
        title: the framework's name.
    """
    print(
        f"dtrain-lab: {title}'s communication can't be measured; its steps are those that dt.step marks.",
        file=sys.stderr,
        flush=True,
    )
