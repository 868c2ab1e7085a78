"""The verdict on a world that trains slowly: a slow rank, waiting for data, or too few cores for threads."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from dtrain_lab.head.metrics import host_use
from dtrain_lab.metrics import communication
from dtrain_lab.metrics.verdicts import straggler
from dtrain_lab.metrics.verdicts.hysteresis import VerdictHysteresis
from dtrain_lab.metrics.verdicts.pace import Pace
from dtrain_lab.wire.links import RankSample
from dtrain_lab.wire.metrics.verdicts import TOO_BUSY, Verdict
from dtrain_lab.wire.metrics.world import Metrics
from dtrain_lab.wire.node_use import HostUse
from dtrain_lab.wire.plan import Plan


class SlowWorld:
    """Decides which of these verdicts is displayed, and whether ranks keep pace.

    Args:
        steady: Keeps the displayed verdict from flickering; shared with verdicts on hangs.
    """

    def __init__(self, steady: VerdictHysteresis) -> None:
        self._steady = steady
        self._pace = Pace()
        self.slow: Verdict | None = None
        """The verdict on a slow rank in the loop that trains, or trained last; None without one."""

    @property
    def even(self) -> bool:
        """Whether ranks have kept pace for long enough to say so."""
        return self._pace.steady

    def cell_began(self) -> None:
        """A cell begins: nothing is known of its ranks' pace."""
        self._pace.forget()

    def forget(self) -> None:
        """Display nothing, because nothing runs, or ranks are paused or interrupted."""
        self._steady.forget()
        self._pace.forget()

    def rests(self) -> Verdict | None:
        """Return the verdict that is displayed while no steps are taken."""
        return self._steady.update(None, time.monotonic())

    def update(
        self,
        samples: Sequence[RankSample],
        error: float,
        plan: Plan | None,
        use: Mapping[int, HostUse],
        *,
        fed: bool,
    ) -> Verdict | None:
        """Judge the steps that are taken now, and return the verdict that is displayed.

        Args:
            samples: Latest samples of the ranks at work.
            error: Error of communication, as a share of a step.
            plan: The world's plan.
            use: Node → utilization of its host.
            fed: A diagnosis has found that this loop does not wait for data.
        """
        now = time.monotonic()
        found = straggler.slow(samples, error, host_use.by_rank(plan, use))
        if found is None and not fed:
            found = straggler.input_bound(samples)
        if straggler.can_judge(samples):
            self._pace.update(found is None, now)
        busy = straggler.busiest(host_use.by_name(plan, use))
        if found is not None and busy is not None and not straggler.is_plain(found):
            found = busy
        shown = self._steady.update(found, now)
        self.slow = shown if shown is not None and shown.kind == "slow" else None
        return shown


def too_busy(found: Verdict | None, plan: Plan | None, use: Mapping[int, HostUse]) -> str:
    """Why estimates are unreliable now: a node has more runnable threads than cores; empty otherwise.

    Args:
        found: The displayed verdict.
        plan: The world's plan.
        use: Node → utilization of its host.
    """
    shown = found is not None and found.code == TOO_BUSY
    busy = found if shown else straggler.busiest(host_use.by_name(plan, use))
    return straggler.busy_note(busy) if busy is not None else ""


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
