"""Snapshot of the world as clients see it, built from membership, metrics and cells."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from itertools import islice

from msgspec.structs import replace

from dtrain_lab.head.metrics.collector import MetricsCollector
from dtrain_lab.head.metrics.rank_states import rank_state
from dtrain_lab.metrics import communication, estimates, over_ranks
from dtrain_lab.metrics.outdated import without_steps
from dtrain_lab.text import rank_names
from dtrain_lab.wire.cells import RunningCell
from dtrain_lab.wire.cluster import Cluster, Phase, Rank, Reason, World
from dtrain_lab.wire.links import RankSample
from dtrain_lab.wire.metrics.verdicts import Verdict
from dtrain_lab.wire.metrics.world import Metrics
from dtrain_lab.wire.node_use import Node, with_use
from dtrain_lab.wire.plan import Plan
from dtrain_lab.wire.stacks import Where
from dtrain_lab.world import State, shrinking
from dtrain_lab.world.members import Member
from dtrain_lab.world.planned_ranks import planned_ranks
from dtrain_lab.world.summary import describe_loss, if_ignored, summarize


class Snapshot:
    """Builds the `Cluster` that clients see; holds name, owner, start progress and idle time.

    Args:
        identity: Id of the world.
        collector: Metrics of its ranks.
    """

    def __init__(self, identity: str, collector: MetricsCollector) -> None:
        self._id = identity
        self.name = identity
        self.owner = ""
        self.created_at = time.time()
        self.collector = collector
        self.idle_since: float | None = None
        """Seconds since 1970; None while a cell runs."""
        self._idle_from = 0.0
        self.rests(True)
        self.preloaded_s: float | None = None
        self._phases: dict[str, tuple[float, float | None]] = {}
        self._launched_at = 0.0
        """By the monotonic clock; a warm head has begun to load before."""

    @property
    def plan(self) -> Plan | None:
        """Plan of the world, once it has one."""
        return self.collector.plan

    def replan(self, plan: Plan) -> None:
        """Replace the plan once more is known of the nodes."""
        self.collector.plan = plan

    def loaded(self, seconds: float) -> None:
        """A fork server has loaded torch, which took `seconds`."""
        self.preloaded_s = seconds
        if "fork" not in self._phases:  # an agent that reconnects later is not part of the start
            began, _ = self._phases.get("load", (time.monotonic(), None))
            self._phases["load"] = (began, time.monotonic())

    def launched(self, name: str, owner: str) -> None:
        """The world was asked for: its start counts from now.

        Args:
            name: The cluster's name.
            owner: The user who started it.
        """
        self.name, self.owner = name, owner
        self.created_at, self._launched_at = time.time(), time.monotonic()

    def rests(self, idle: bool) -> None:
        """Start or stop the idle time.

        Args:
            idle: No cell runs from now on; False when one starts.
        """
        self.idle_since = time.time() if idle else None
        self._idle_from = time.monotonic()

    @property
    def idle_s(self) -> float:
        """Seconds without a running cell, by a monotonic clock; 0.0 while one runs."""
        return 0.0 if self.idle_since is None else time.monotonic() - self._idle_from

    def phase_began(self, phase: str) -> None:
        """A phase of the start has begun."""
        self._phases.setdefault(phase, (time.monotonic(), None))

    def phase_ended(self, phase: str) -> None:
        """A phase of the start is done."""
        began, ended = self._phases.get(phase, (time.monotonic(), None))
        if ended is None:
            self._phases[phase] = (began, time.monotonic())

    def cluster(
        self, state: State, running: tuple[RunningCell, ...] = (), notebooks: tuple[str, ...] = ()
    ) -> Cluster:
        """The whole world as a `Cluster`.

        Args:
            state: State of the world.
            running: Cells that run now.
            notebooks: Notebooks whose kernels are attached.
        """
        metrics = self.collector.metrics(state)
        plan, paused = self.plan, self.collector.paused
        samples = {s.rank: s for s in self.collector.waiting(state)}
        ranks = self._ranks(state, metrics, running, samples)
        nodes = tuple(
            with_use(Node(n.name, n.address, _node_state(state, i)), self.collector.hosts.get(i))
            for i, n in enumerate(plan.nodes if plan else ())
        )
        summary = summarize(
            self.name,
            state,
            metrics,
            running,
            preloading=plan is not None and self.preloaded_s is None,
            paused=paused,
            at=self.collector.pauses.place,
            waiting={
                m.rank: s.operation
                for m in state.members
                if m.rank not in paused and (s := samples.get(m.rank)) is not None and s.operation
            },
        )
        return Cluster(
            id=self._id,
            name=self.name,
            profile=plan.profile if plan else "",
            state="paused" if paused and state.phase == "ready" else state.phase,
            reason=_reason(state),
            summary=summary,
            world=World(state.size, state.generation),
            nodes=nodes,
            ranks=ranks,
            metrics=over_ranks.with_largest(metrics, ranks, nodes),
            progress=self._progress(state),
            notebooks=notebooks,
            owner=self.owner,
            may=_may(state),
            created_at=self.created_at,
            idle_since=None if running else self.idle_since,
            running=running,
            summary_if_ignored=if_ignored(summary, state, metrics, running),
            without_lost=shrinking.offered(
                [rank.rank for rank in ranks if rank.state == "lost"], state.size, len(nodes)
            ),
        )

    def _ranks(
        self,
        state: State,
        metrics: Metrics,
        running: Sequence[RunningCell],
        samples: Mapping[int, RankSample],
    ) -> tuple[Rank, ...]:
        if self.plan is None:
            return ()
        blamed = {r: v for v in metrics.verdicts for r in v.ranks}
        splits, asleep = self.collector.splits(state), self.collector.asleep
        at_work = set(state.at_work)
        return tuple(
            self._rank(
                planned,
                state.members[planned.rank],
                blamed.get(planned.rank),
                splits.get(planned.rank),
                asleep.get(planned.rank),
                running,
                samples.get(planned.rank),
                takes=planned.rank in at_work,
            )
            for planned in planned_ranks(self.plan)
        )

    def _rank(
        self,
        planned: Rank,
        member: Member,
        blamed: Verdict | None,
        split: communication.Split | None,
        asleep: float | None,
        running: Sequence[RunningCell],
        waiting: RankSample | None,
        *,
        takes: bool,
    ) -> Rank:
        reported_at, sample = self.collector.last_report(member.rank)
        sample = waiting or sample
        state, where = rank_state(member, sample, blamed, self.collector)
        if where is None and member.cell is not None:
            cell = next((c for c in running if member.rank in c.ranks), None)
            where = Where(cell.notebook, cell.cell, cell_kind=cell.kind) if cell else None
        rank_now = replace(
            planned,
            pid=member.pid if member.joined else None,  # before it joins, the rank does not count as started
            state=state,
            doing=sample.doing if member.cell is not None else None,
            where=where,
            slow=blamed is not None and blamed.kind == "slow",
            last_seen_s=time.monotonic() - reported_at if reported_at is not None else None,
        )
        if not takes:
            sample = without_steps(sample)
        return estimates.with_metrics(rank_now, sample, split, asleep)

    def _progress(self, state: State) -> tuple[Phase, ...]:
        now = time.monotonic()
        size = state.size
        done = {
            "load": (len(state.ready_nodes), state.nodes or 1),
            "fork": (sum(m.joined for m in state.members), size),
            "connect": (sum(not m.new for m in state.members), size),
        }
        return tuple(
            Phase(
                phase,
                *done[phase],
                max(0.0, (ended or now) - max(began, self._launched_at)),
                self._late(state, phase),
            )
            for phase, (began, ended) in self._phases.items()
        )

    def _late(self, state: State, phase: str) -> tuple[str, ...]:
        """Names of nodes that have not finished a phase of the start, once another node has."""
        if self.plan is None or state.phase not in ("starting", "connecting"):
            return ()
        members, late = iter(state.members), []
        for index, node in enumerate(self.plan.nodes):
            ranks = list(islice(members, node.ranks))
            finished = {
                "load": index in state.ready_nodes,
                "fork": all(m.joined for m in ranks),
                "connect": not any(m.new for m in ranks),
            }
            if not finished[phase]:
                late.append(node.name)
        return tuple(late) if len(late) < len(self.plan.nodes) else ()


def _node_state(state: State, node: int) -> str:
    return "ready" if node in state.ready_nodes else "starting"


def _reason(state: State) -> Reason | None:
    lost = set(state.lost) if state.phase == "degraded" else ()
    if losses := {loss.rank: loss for loss in state.losses if loss.rank in lost}:  # each rank's latest loss
        command = f"%distributed restart {rank_names.compact(losses)}"
        single = f"Restart it: {command}. It comes back empty: run its set-up cells."
        several = f"Restart them: {command}. They come back empty: run their set-up cells."
        hint = single if len(losses) == 1 else several
        return Reason(code="rank_lost", message=describe_loss(losses[min(losses)]), hint=hint)
    if state.reason is None:
        return None
    code, message, hint = state.reason
    return Reason(code, message, hint, final=state.phase == "failed")


def _may(state: State) -> tuple[str, ...]:
    if state.phase in ("stopping", "stopped", "failed"):
        return ("remove",) if state.phase == "failed" else ()
    actions = ["stop"]
    if state.phase in ("ready", "degraded", "rebuilding"):
        actions += ["restart", "stacks"]
        if state.busy:
            actions.append("interrupt")
    return tuple(actions)
