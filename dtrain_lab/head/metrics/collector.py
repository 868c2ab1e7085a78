"""Metrics of a world: the ranks' latest samples, and the verdicts and advice derived from them."""

from __future__ import annotations

import time
from collections.abc import Sequence

from msgspec.structs import replace

from dtrain_lab.head.metrics import host_use
from dtrain_lab.head.metrics.current_advice import CurrentAdvice
from dtrain_lab.head.metrics.hangs.hang_watch import HangWatch, waiting
from dtrain_lab.head.metrics.latest_samples import LatestSamples
from dtrain_lab.head.metrics.logged_values import LoggedValues
from dtrain_lab.head.metrics.slow_world import SlowWorld, busy_now, method_error, too_busy
from dtrain_lab.metrics import communication, diagnosed_loop, estimates, measured_communication
from dtrain_lab.metrics.advice.measured import Measured, link_share, measured
from dtrain_lab.metrics.advice.reasons import asks_diagnosis
from dtrain_lab.metrics.measured_communication import last_of, last_with_measured, of_running, with_measured
from dtrain_lab.metrics.other_waits import part_s
from dtrain_lab.metrics.verdicts import straggler, unanswered
from dtrain_lab.metrics.verdicts.hysteresis import VerdictHysteresis
from dtrain_lab.metrics.verdicts.left_behind import left_behind
from dtrain_lab.wire.links import RankSample
from dtrain_lab.wire.metrics.diagnosis import Diagnosis, Tried
from dtrain_lab.wire.metrics.thresholds import VAGUE_SHARE
from dtrain_lab.wire.metrics.verdicts import TOO_BUSY, Advice, Verdict
from dtrain_lab.wire.metrics.world import Last, Metrics
from dtrain_lab.wire.node_use import HostUse
from dtrain_lab.wire.plan import Plan
from dtrain_lab.wire.stacks import Where
from dtrain_lab.world import State


class MetricsCollector:
    """Latest samples of all ranks, and the metrics, verdicts and advice derived from them."""

    def __init__(self) -> None:
        self.plan: Plan | None = None
        self.hosts: dict[int, HostUse] = {}
        """Node → utilization of its whole host."""
        self._steady = VerdictHysteresis()
        self._hangs = HangWatch(self._steady)
        self.awaited = self._hangs.awaited
        self.unpointed: dict[int, tuple[str, ...]] = {}
        """Rank → live objects whose process group is gone, until the next cell starts."""
        self.pauses = self._hangs.pauses
        self.loops = diagnosed_loop.Loops()
        self._last: Last | None = None
        """Metrics of the last completed steps."""
        self._trained = False
        """Whether steps were made since the last cell began."""
        self._observed = 0
        """Number of the last loop whose steps were seen while they ran."""
        self._began_in: Plan | None = None
        """Plan of the world when the last user's cell began."""
        self._slow_world = SlowWorld(self._steady)
        self._advised = CurrentAdvice()
        self.link_bytes_per_s: float | None = None
        """Speed of the slowest node's network; None with one node, or where it is unknown."""
        self.values = LoggedValues()
        self._samples = LatestSamples()

    @property
    def paused(self) -> dict[int, str]:
        """Rank that a debugger has paused → the error that it has stopped at; empty for another reason."""
        return self.pauses.ranks

    def sampled(self, samples: Sequence[RankSample], node: int, host: HostUse | None) -> None:
        """A node has sent its periodic samples.

        Args:
            samples: One for each of its living ranks.
            node: Index of the node.
            host: Utilization of the whole node; None if it was not measured.
        """
        if host is not None:
            self.hosts[node] = host
        self._samples.add(samples)
        steps = {s.rank: s.step or 0 for s in samples}
        self.loops.sampled(steps, time.monotonic(), {s.rank for s in samples if s.idle})
        if self._advised.wants_samples(self.loops):
            crowded = straggler.busiest(host_use.by_name(self.plan, self.hosts)) is not None
            self._advised.sampled(self.samples(), self.loops, crowded=crowded)

    def forget(self, rank: int) -> None:
        """A rank's process is gone: drop its samples, which don't apply to the next process."""
        self._samples.forget(rank)
        self.loops.forget(rank)
        self.awaited.forget(rank)
        self._slow_world.forget_rank(rank)
        self._advised.forget(rank)

    def ended(self, rank: int, *, failed: bool) -> None:
        """A rank has ended: keep its sample, but expect no other one.

        Args:
            rank: The rank.
            failed: Whether it was lost.
        """
        self._samples.ended(rank, failed=failed)

    def cell_began(self, ranks: Sequence[int], code: str, where: Where | None = None) -> None:
        """Clear what the samples of these ranks say about the previous cell.

        Args:
            ranks: Ranks of the new cell.
            code: Its code; advice and diagnosis refer to it.
            where: The cell; None if it is no notebook's.
        """
        self.loops.begun(code, ranks, time.monotonic(), where)
        self._slow_world.cell_began()
        if code:
            self._advised.cell_began()
            if not self._began_in_this_size:  # the samples of a loop before it are of some of its ranks only
                self._observed = self.loops.number
            self._began_in = self.plan
        self._trained = False
        for rank in ranks:
            self.awaited.forget(rank)
            self._samples.cell_began(rank)

    def last_report(self, rank: int) -> tuple[float | None, RankSample]:
        """When a rank last reported (monotonic seconds), and its latest sample."""
        return self._samples.last_report(rank)

    def samples(self) -> list[RankSample]:
        """Latest sample of each rank that has not ended; of all ranks once every one has ended."""
        return self._samples.living()

    def waiting(self, state: State) -> list[RankSample]:
        """As `samples`, with the collectives in which GPUs wait though their ranks' threads do not."""
        return waiting(state, self.samples(), self.plan)

    def splits(self, state: State) -> dict[int, communication.Split]:
        """Rank → how its step time splits into transfer and waiting."""
        size = len(state.at_work)
        samples = self._current(state)
        splits = communication.split(samples, size, self._crowded())
        known = self.loops.measured(size)
        known = of_running(known) if known is not None and self.trains else known
        return measured_communication.splits_with_measured(splits, samples, known)

    @property
    def trains(self) -> bool:
        """Whether a cell takes training steps now, which is known without a snapshot of the world."""
        last = self._last.step_s if self._last is not None else None
        return self.loops.moves(last, time.monotonic())

    def metrics(self, state: State) -> Metrics:
        """Metrics of the world, with verdicts and advice."""
        found = self.stuck(state) or self._hangs.unanswered(state, self.samples())
        samples = self._current(state)
        size = len(state.at_work)
        metrics = estimates.world_metrics(samples, size, self._crowded())
        if metrics.step_s is not None and self.loops.moves(metrics.step_s, time.monotonic()):
            self.loops.steps_take(metrics.step_s)
        if (diagnosed := self.loops.measured(size)) is not None:
            metrics = with_measured(metrics, of_running(diagnosed))
        share = link_share(metrics.gradient_bytes, metrics.step_s, size, self.link_bytes_per_s)
        step_ranks = tuple(sample.rank for sample in samples if sample.step_s)
        metrics = replace(metrics, link_share=share, step_ranks=step_ranks)
        current = self._steps_now(state, found, metrics.step_s)
        found = found or self._unhurried(state, samples, metrics, current=current)
        if found is None and self.unpointed and state.phase == "ready":
            found = left_behind(self.unpointed)
        over = self._over(state) and not self.loops.ahead_of(samples)
        if current and metrics.step_s is not None:
            self._trained, self._observed = True, self.loops.number
        advice = self._advised.update(
            measured(metrics, samples, size, self.hosts.values(), self.slow) if current or over else None,
            self.loops.code,
            diagnosed if metrics.step_s and diagnosed is not None and diagnosed.communication else None,
            sure=found is None or found.code != TOO_BUSY,
            busy=too_busy(found, self.plan, self.hosts),
            size=state.size if state.phase == "ready" else 0,
            over=over,
        )
        if not current and (found is None or not found.alarm):
            advice = self.advice  # kept after the loop's end: users apply it before the next run
        why_none = "" if advice else self._advised.why_none
        sleeps = self._advised.asleep(self.loops.code).of_world(self.slow, len(step_ranks))
        asleep_s = part_s(sleeps, metrics.step_s, metrics.data_s, metrics.comm_overhead)
        if (current or over) and metrics.step_s is not None:
            self._last = last_of(replace(metrics, asleep_s=asleep_s))
        # a cell that hangs before its first training step has no pace to compare with
        hung = found is not None and found.alarm and not self._trained
        return replace(
            metrics,
            asleep_s=asleep_s,
            values=self.values.current,
            averaged=self.values.averaged,
            advice=advice,
            unknown=self._advised.unknown,
            too_busy=self._advised.too_busy,
            no_advice=why_none,
            diagnosis_helps=asks_diagnosis(why_none),
            verdicts=(found,) if found is not None else (),
            current=current,
            loop=self.loops.where,
            even=self._slow_world.even,
            last=None if current or hung else last_with_measured(self._last, diagnosed),
        )

    @property
    def advice(self) -> tuple[Advice, ...]:
        """Advice on the current or last training loop; unlike `metrics.advice`, kept after the loop's end."""
        return self._advised.advice

    @property
    def slow(self) -> Verdict | None:
        """The verdict on a slow rank in the loop that trains, or trained last; None without one."""
        return self._slow_world.slow

    @property
    def asleep(self) -> dict[int, float]:
        """Rank → share of a step in which it is asleep, for ranks of which a verdict says so."""
        return self._advised.asleep(self.loops.code).of_ranks(self.slow)

    @property
    def measured(self) -> Measured | None:
        """What advice and forecasts are derived from; None before the last loop was measured."""
        return self._advised.measured if self._advised.is_of(self.loops.code) else None

    @property
    def too_busy(self) -> str:
        """Why estimates of the loop that trains, or trained last, were not used; empty if they were."""
        return self._advised.too_busy if self._advised.is_of(self.loops.code) else ""

    @property
    def busy_now(self) -> str:
        """The clause that a node has too few cores for its threads now; empty if all have enough."""
        return busy_now(self.plan, self.hosts)

    def diagnosed(self, found: Diagnosis, size: int) -> None:
        """Record the diagnosis `found` of the last training loop, on `size` ranks."""
        self.loops.diagnosed(found, size, self._last.step_s if self._last is not None else None)
        if found.source == "replayed":
            self._advised.diagnosed(found, self.loops.code, size)

    def tried(self, found: Tried, size: int) -> None:
        """Record the result `found` of trying advice on the last training loop, on `size` ranks."""
        self._advised.record_trial(found, size)

    def cannot_try(self, advice: str) -> None:
        """Record that the ranks can't try advice with this id."""
        self._advised.cannot_try(advice)

    def suspects(self, state: State) -> tuple[int, ...]:
        """Ranks that others have waited for so long that their location should be queried."""
        return self._hangs.suspects(state, self.samples(), self.plan)

    def stuck(self, state: State) -> Verdict | None:
        """The verdict on a hang, if the world is stuck."""
        return self._hangs.stuck(state, self.samples(), self.plan)

    # ----

    def _current(self, state: State) -> list[RankSample]:
        """Samples of the ranks at work in a ready world; without all ranks, its metrics are not defined."""
        if state.phase != "ready":
            return []
        at_work = frozenset(state.at_work)
        return [s for s in self._samples.of_steps() if s.rank in at_work]

    def _crowded(self) -> bool:
        return self.plan is not None and any(node.threads == 1 for node in self.plan.nodes)

    def _steps_now(self, state: State, found: Verdict | None, step_s: float | None) -> bool:
        """Whether the metrics describe steps that run now."""
        halted = self.paused or (found is not None and found.alarm and found.code != unanswered.CODE)
        moves = self.loops.moves(step_s, time.monotonic())
        return state.phase == "ready" and moves and bool(state.busy) and not halted

    def _over(self, state: State) -> bool:
        """Whether the metrics describe steps of a loop that has ended, and was not seen while it ran.

        Cells that train nothing, or a diagnosis, may have run since, or run now.
        """
        rests = not state.busy or self.loops.measures
        return (
            state.phase == "ready"
            and rests
            and self._observed != self.loops.number
            and self._began_in_this_size
        )

    @property
    def _began_in_this_size(self) -> bool:
        """Whether the world has as many ranks as when the last user's cell began; True if that is unknown."""
        began, plan = self._began_in, self.plan
        return began is None or plan is None or began.size == plan.size

    def _unhurried(
        self, state: State, samples: Sequence[RankSample], metrics: Metrics, *, current: bool
    ) -> Verdict | None:
        """The verdict on a slow world (straggler, input-bound, too busy), once it is certain."""
        if not state.busy or self.paused or state.phase != "ready" or state.breaking_off:
            self._slow_world.forget()
            return None
        if not current:
            return self._slow_world.rests()
        known = self.loops.measured(len(state.at_work))
        error = method_error(samples, metrics, crowded=self._crowded())
        vague = (metrics.comm_overhead_error or 0.0) >= VAGUE_SHARE
        return self._slow_world.update(samples, error, self.plan, self.hosts, known, vague=vague)
