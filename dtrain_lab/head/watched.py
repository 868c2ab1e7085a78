"""A rank of a job, as its agent tells the job's head of it."""

from __future__ import annotations

import time

from dtrain_lab.core.attempt import RankSeen
from dtrain_lab.core.kinds import RankPhase
from dtrain_lab.core.wire import links
from dtrain_lab.core.wire.links import RankSample


class Watched:
    """One rank.

    Args:
        told: by its agent, when that came.
        local_rank: on its node.
        pid: of its process.
        peer: name of its agent's way here.
    """

    def __init__(self, told: links.Attached, local_rank: int, pid: int, peer: bytes) -> None:
        self.node, self.name, self.restart = told.node, told.name, told.restart
        self.local_rank, self.pid, self.peer = local_rank, pid, peer
        self.sample: RankSample | None = None
        self.seen = time.monotonic()
        self.code: int | None = None

    @property
    def silent_s(self) -> float:
        """Since its agent was last heard of."""
        return time.monotonic() - self.seen

    @property
    def end(self) -> RankSeen:
        """What its attempt is judged by."""
        return RankSeen(self.restart, self.code, self.silent_s)

    def phase(self, *, stuck: bool) -> RankPhase:
        """What it does."""
        if self.code is not None:
            return "idle" if self.code == 0 else "lost"
        if stuck:
            return "stuck"
        return "in collective" if self.sample is not None and self.sample.operation else "busy"
