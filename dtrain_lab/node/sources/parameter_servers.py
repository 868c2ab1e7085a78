"""Ranks that only serve a chief (workers and parameter servers): they never end by themselves, but with it.

Where their node shares a folder with the chief's, a file says that the chief has succeeded. Elsewhere the
job's head is asked.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Sequence
from typing import Protocol

from dtrain_lab.node.sources.spawned_rank import SpawnedRank, signal_all
from dtrain_lab.wire.links import AttemptState

JOIN_S = 20.0
"""Seconds to wait for a connection to the head before looking again."""
POLL_S = 0.5
GONE_S = 600.0
"""Seconds without a message of the head after which the chief counts as lost. Long, because the ranks still
train: a host that is cut off for some minutes must not end the training."""


class Head(Protocol):
    """The job's head, as its agents see it."""

    attempt_state: AttemptState | None
    """Its latest report on this attempt."""
    heard_at: float
    """Time of that report, monotonic seconds; 0 before the first."""

    async def others_end(self, within_s: float) -> None:
        """Wait until it has reported an end, can't know it, or is silent."""


class Serving:
    """The ranks of an agent that serve a chief.

    Args:
        ranks: those ranks; none in most jobs.
        attempt: number of the attempt; from 1 on the head has been there.
    """

    def __init__(self, ranks: Sequence[SpawnedRank], attempt: int = 0) -> None:
        self.ranks = ranks
        self._attempt = attempt

    def end(self) -> None:
        """The chief has succeeded, and with it the ranks that serve it."""
        for child in self._living():
            child.served = True
            signal_all(child, signal.SIGKILL)

    async def wait_for_chief(self, head: Head) -> bool:
        """Wait for a chief on another node, with which this one shares no folder.

        A head that does not know ("unknown") is asked again: the chief's host may start minutes later than
        this one, and only "done" is the chief's success.

        Args:
            head: the job's head.

        Returns:
            False if the head was lost, and the ranks must be ended as ranks that have failed.
        """
        began = time.monotonic()
        while True:
            await head.others_end(JOIN_S)
            if head.attempt_state == "done":
                self.end()
                return True
            if head.attempt_state == "failed":  # the agent ends these ranks like all others
                return True
            # before its first message, the head may be waiting for a copy of the data
            heard = head.heard_at or (began if self._attempt else time.monotonic())
            if time.monotonic() - heard > GONE_S:
                why = f"was ended, as the job's head was not heard from for {GONE_S / 60:.0f} minutes"
                for child in self._living():
                    child.why = why
                return False
            await asyncio.sleep(POLL_S)

    def _living(self) -> list[SpawnedRank]:
        """Ranks that still run."""
        return [
            child for child in self.ranks if child.process is not None and child.process.returncode is None
        ]
