"""How often a scheduler is asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from dtrain_lab.backends.hosts.base import Done
from dtrain_lab.backends.slurm.queue import Queue


class Counting:
    """Answers as `squeue` does, and counts."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def run(self, command: Sequence[str], stdin: bytes = b"", within_s: float = 60.0) -> Done:
        command = command[command.index("squeue") :]
        self.asked.append(command[1])
        mine = b"7|PENDING|Resources|N/A||dtl:x\n8|RUNNING|None|N/A|n1|dtl:y\n"
        return Done(0, mine if command[1] == "--me" else b"5\n6\n7\n", "")


@pytest.mark.asyncio
async def test_many_questions_are_one_for_all_jobs() -> None:
    scheduler: Any = Counting()
    queue = Queue(scheduler, lambda: 30.0)
    for _ in range(20):
        waiting, running = await queue.job("7"), await queue.job("8")
        assert waiting is not None
        assert running is not None
        assert (waiting.reason, running.state, queue.ahead("7")) == ("Resources", "RUNNING", 2)
    assert len(scheduler.asked) == 2
