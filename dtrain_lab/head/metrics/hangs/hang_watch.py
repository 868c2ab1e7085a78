"""Watches a world for collectives in which its ranks wait for too long."""

from __future__ import annotations

import time

from dtrain_lab.head.metrics.hangs.debugger_pauses import Pauses
from dtrain_lab.head.metrics.hangs.unanswered_interrupts import UnansweredInterrupts
from dtrain_lab.metrics.verdicts import device_waits, hang
from dtrain_lab.metrics.verdicts.awaited_ranks import AwaitedRanks
from dtrain_lab.metrics.verdicts.hysteresis import VerdictHysteresis
from dtrain_lab.wire.links import RankSample
from dtrain_lab.wire.metrics.verdicts import Verdict
from dtrain_lab.wire.plan import Plan
from dtrain_lab.world import State


class HangWatch:
    """Which ranks are waited for, and the verdict on a world that is stuck.

    Args:
        steady: Keeps a verdict from changing with each sample.
    """

    def __init__(self, steady: VerdictHysteresis) -> None:
        self.awaited = AwaitedRanks()
        self.pauses = Pauses()
        self._steady = steady
        self._unanswered = UnansweredInterrupts()

    def suspects(self, state: State, samples: list[RankSample], plan: Plan | None) -> tuple[int, ...]:
        """Return ranks that others have waited for so long that their location should be queried.

        Args:
            state: State of the world.
            samples: The latest sample of each rank.
            plan: The world's plan; None without one.
        """
        if not self._moves(state):
            return ()
        seen = self.pauses.since_last_pause(waiting(state, samples, plan))
        return hang.suspects(seen, state.size, _stuck_after_s(plan))

    def stuck(self, state: State, samples: list[RankSample], plan: Plan | None) -> Verdict | None:
        """Return the verdict on a hang, if the world is stuck.

        Args:
            state: State of the world.
            samples: The latest sample of each rank.
            plan: The world's plan; None without one.
        """
        self._unanswered.update(state)
        if not self._moves(state) or state.breaking_off:
            return None
        # first by what the threads wait in, which is certain; where GPUs wait is inferred
        with_gpus = waiting(state, samples, plan)
        found = self._judged(state, samples, plan)
        if found is None and with_gpus != samples:
            found = self._judged(state, with_gpus, plan)
        return self._steady.update(found, time.monotonic()) if found is not None else None

    def unanswered(self, state: State, samples: list[RankSample]) -> Verdict | None:
        """Return the verdict on ranks that don't answer an interrupt; None if every rank answers.

        Args:
            state: State of the world.
            samples: The latest sample of each rank.
        """
        return self._unanswered.verdict(state, samples)

    def _moves(self, state: State) -> bool:
        """Whether ranks run a cell that no debugger holds."""
        return state.phase == "ready" and not self.pauses.ranks and bool(state.busy)

    def _judged(self, state: State, samples: list[RankSample], plan: Plan | None) -> Verdict | None:
        return hang.verdict(
            self.pauses.since_last_pause(samples),
            busy=state.busy,
            in_cell=state.taking_part,
            size=state.size,
            places=self.awaited.locations,
            threshold_s=_stuck_after_s(plan),
            activities=self.awaited.activities,
            lines=self.awaited.source_lines,
        )


def waiting(state: State, samples: list[RankSample], plan: Plan | None) -> list[RankSample]:
    """Return samples with the collectives in which GPUs wait though their ranks' threads do not.

    Args:
        state: State of the world.
        samples: The latest sample of each rank.
        plan: The world's plan; None without one.
    """
    on_gpus = plan is not None and "nccl" in plan.collectives
    # collectives of several cells can't be compared; with gloo, a rank waits where its thread does
    if len(state.cells) != 1 or not on_gpus:
        return samples
    return device_waits.inferred(samples, state.busy, state.taking_part, state.size)


def _stuck_after_s(plan: Plan | None) -> float:
    """Return how long a collective may block before it counts as a hang; seconds."""
    return plan.watch.stuck_after_s if plan is not None else hang.STUCK_AFTER_S
