"""The verdict on a world that trains slowly: a slow rank, waiting for data, or too few cores for threads."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from dtrain_lab.head.metrics import host_use
from dtrain_lab.metrics import communication
from dtrain_lab.metrics.advice.diagnosis_certainty import denies_waiting_for_data
from dtrain_lab.metrics.measured_communication import measured_data
from dtrain_lab.metrics.verdicts import straggler
from dtrain_lab.metrics.verdicts.hysteresis import VerdictHysteresis
from dtrain_lab.metrics.verdicts.input_bound import INPUT_BOUND_SHARE, input_bound, without_numbers
from dtrain_lab.metrics.verdicts.pace import Pace
from dtrain_lab.wire.links import RankSample
from dtrain_lab.wire.metrics.diagnosis import Diagnosis
from dtrain_lab.wire.metrics.verdicts import TOO_BUSY, Verdict
from dtrain_lab.wire.metrics.world import Metrics
from dtrain_lab.wire.node_use import HostUse
from dtrain_lab.wire.plan import Plan

STEADY_S = 8.0
"""Time for which the parts of a step must be known before a verdict states one: else it would flicker."""


class SlowWorld:
    """Decides which of these verdicts is displayed, and whether ranks keep pace.

    Args:
        steady: Keeps the displayed verdict from flickering; shared with verdicts on hangs.
    """

    def __init__(self, steady: VerdictHysteresis) -> None:
        self._steady = steady
        self._pace = Pace()
        self._vague_at = -STEADY_S
        """When the parts of a step were too unsteady to tell last, monotonic seconds."""
        self.slow: Verdict | None = None
        """The verdict on a slow rank in the loop that trains, or trained last; None without one."""

    @property
    def even(self) -> bool:
        """Whether ranks have kept pace for long enough to say so, and their own times are known."""
        return self._pace.steady and not self._was_vague(time.monotonic())

    def cell_began(self) -> None:
        """A cell begins: nothing is known of its ranks' pace."""
        self._pace.forget()

    def forget(self) -> None:
        """Display nothing, because nothing runs, or ranks are paused or interrupted."""
        self._steady.forget()
        self._pace.forget()

    def forget_rank(self, rank: int) -> None:
        """A rank's process is gone: the next one need not be slow.

        Args:
            rank: The rank.
        """
        if self.slow is not None and rank in self.slow.ranks:
            self.slow = None

    def rests(self) -> Verdict | None:
        """Return the verdict that is displayed while no steps are taken."""
        now = time.monotonic()
        return self._told(self._steady.update(None, now), now)

    def update(
        self,
        samples: Sequence[RankSample],
        error: float,
        plan: Plan | None,
        use: Mapping[int, HostUse],
        known: Diagnosis | None,
        *,
        vague: bool,
    ) -> Verdict | None:
        """Judge the steps that are taken now, and return the verdict that is displayed.

        Args:
            samples: Latest samples of the ranks at work.
            error: Error of communication, as a share of a step.
            plan: The world's plan.
            use: Node → utilization of its host.
            known: Diagnosis of this loop; None if it was not diagnosed.
            vague: The parts of a step are too unsteady to tell.
        """
        now = time.monotonic()
        self._vague_at = now if vague else self._vague_at
        verdict = straggler.slow(samples, error, host_use.by_rank(plan, use))
        if verdict is None and not (known is not None and denies_waiting_for_data(known, INPUT_BOUND_SHARE)):
            data = measured_data(known)
            measured = (data.share, data.error) if data is not None else ()
            verdict = input_bound(samples, *measured)
        if straggler.can_judge(samples) and not vague:
            self._pace.update(verdict is None, now)
        busy = straggler.busiest(host_use.by_name(plan, use))
        if busy is not None and (vague if verdict is None else not straggler.is_plain(verdict)):
            verdict = busy
        shown = self._steady.update(verdict, now)
        self.slow = shown if shown is not None and shown.kind == "slow" else None
        return self._told(shown, now)

    def _told(self, shown: Verdict | None, now: float) -> Verdict | None:
        """The verdict without a number that other views call unknown."""
        return without_numbers(shown) if shown is not None and self._was_vague(now) else shown

    def _was_vague(self, now: float) -> bool:
        """Whether the parts of a step were too unsteady to tell not long ago."""
        return now - self._vague_at < STEADY_S


def too_busy(verdict: Verdict | None, plan: Plan | None, use: Mapping[int, HostUse]) -> str:
    """Why estimates are unreliable now: a node has more runnable threads than cores; empty otherwise.

    Args:
        verdict: The displayed verdict.
        plan: The world's plan.
        use: Node → utilization of its host.
    """
    shown = verdict is not None and verdict.code == TOO_BUSY
    busy = verdict if shown else straggler.busiest(host_use.by_name(plan, use))
    return straggler.busy_note(busy) if busy is not None else ""


def busy_now(plan: Plan | None, use: Mapping[int, HostUse]) -> str:
    """The clause that a node has too few cores for its threads now; empty if all have enough.

    Args:
        plan: The world's plan.
        use: Node → utilization of its host.
    """
    busy = straggler.busiest(host_use.by_name(plan, use))
    return straggler.competed(busy) if busy is not None else ""


def method_error(samples: Sequence[RankSample], metrics: Metrics, *, crowded: bool) -> float:
    """Error of communication without waits for a CPU core, which make ranks slow by themselves.

    Args:
        samples: Latest samples of the ranks at work.
        metrics: Metrics of the world.
        crowded: Whether ranks share all cores of a machine.

    Returns:
        The error, as a share of a step.
    """
    if metrics.measured:
        return metrics.comm_overhead_error or 0.0
    return max((communication.overhead_error(s, crowded) for s in samples), default=0.0)
