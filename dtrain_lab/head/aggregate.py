"""The cluster as doors see it, put together from membership, samples and cells."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from dtrain_lab.core import hangs, stragglers
from dtrain_lab.core.advice import advise
from dtrain_lab.core.cluster import (
    Cluster,
    HostUse,
    Metrics,
    Node,
    Phase,
    Rank,
    Reason,
    RunningCell,
    Verdict,
    Where,
    World,
    with_use,
)
from dtrain_lab.core.estimate import figures
from dtrain_lab.core.kinds import RankPhase
from dtrain_lab.core.plan import Plan
from dtrain_lab.core.summary import describe_loss, summarize
from dtrain_lab.core.wire.links import Logged, RankSample
from dtrain_lab.core.world import State
from dtrain_lab.core.world.members import Member

ALARMS = ("stuck", "mismatch")


class Aggregate:
    """Latest samples of all ranks, and what follows from them."""

    def __init__(self, identity: str) -> None:
        self._id = identity
        self.name = identity
        self.owner = ""
        self.created_at = time.time()
        self.plan: Plan | None = None
        self.idle_since: float | None = None
        """Seconds since 1970; None while a cell runs."""
        self._idle_from = 0.0
        self.rests(True)
        self.preloaded_s: float | None = None
        self.torch = ""
        self.places: dict[int, Where] = {}
        self.unpointed: dict[int, tuple[str, ...]] = {}
        """Rank → live objects that have no group any more, until the next cell begins."""
        self.paused: frozenset[int] = frozenset()
        """Ranks that a debugger holds."""
        self.activities: dict[int, str] = {}
        """What ranks that are waited for do, by their stacks."""
        self._slow: tuple[int, float] | None = None
        """The slow rank, and since when."""
        self._values: dict[str, Any] = {}
        """The user's own, by `dt.log`; the latest of each."""
        self._samples: dict[int, tuple[float, RankSample]] = {}
        self._hosts: dict[int, HostUse] = {}
        self._phases: dict[str, tuple[float, float | None]] = {}

    def sampled(self, samples: Sequence[RankSample], node: int, host: HostUse | None) -> None:
        """A node has sent its tick."""
        if host is not None:
            self._hosts[node] = host
        now = time.monotonic()
        for sample in samples:
            self._samples[sample.rank] = (now, sample)

    def logged(self, message: Logged) -> None:
        """`dt.log` of a rank."""
        finite = {name: value for name, value in message.values.items() if math.isfinite(value)}
        strange = {name: str(value) for name, value in message.values.items() if name not in finite}
        self._values = {**self._values, **finite, **strange, "step": message.step}

    def rests(self, idle: bool) -> None:
        """Nobody runs a cell from now on; or somebody does."""
        self.idle_since = time.time() if idle else None
        self._idle_from = time.monotonic()

    @property
    def idle_s(self) -> float:
        """For how long nobody has run a cell, however the clock is set meanwhile."""
        return 0.0 if self.idle_since is None else time.monotonic() - self._idle_from

    def forget(self, rank: int) -> None:
        """A rank's process is gone: its figures are not those of the next."""
        self._samples.pop(rank, None)
        self.places.pop(rank, None)

    def cell_began(self, ranks: Sequence[int]) -> None:
        """What these ranks stood in belongs to the cell before."""
        for rank in ranks:
            known = self._samples.get(rank)
            if known is not None:
                seen, sample = known
                self._samples[rank] = (seen, replace(sample, operation=None, in_operation_s=None, doing=None))

    def latest(self, rank: int) -> RankSample | None:
        """Latest sample of a rank."""
        known = self._samples.get(rank)
        return known[1] if known else None

    def samples(self) -> list[RankSample]:
        """Latest sample of each rank."""
        return [s for _, (_, s) in sorted(self._samples.items())]

    def phase_began(self, phase: str) -> None:
        """A step of the start began."""
        self._phases.setdefault(phase, (time.monotonic(), None))

    def phase_ended(self, phase: str) -> None:
        """A step of the start is done."""
        began, ended = self._phases.get(phase, (time.monotonic(), None))
        if ended is None:
            self._phases[phase] = (began, time.monotonic())

    def cluster(self, state: State, running: tuple[RunningCell, ...], notebooks: tuple[str, ...]) -> Cluster:
        """Everything about the cluster, now."""
        metrics = self._metrics(state)
        plan = self.plan
        return Cluster(
            id=self._id,
            name=self.name,
            profile=plan.profile if plan else "",
            state="paused" if self.paused and state.phase == "ready" else state.phase,
            reason=_reason(state),
            summary=summarize(
                self.name,
                state,
                metrics,
                running,
                preloading=plan is not None and self.preloaded_s is None,
                paused=sorted(self.paused),
                waiting={
                    m.rank: s.operation
                    for m in state.members
                    if m.rank not in self.paused and (s := self.latest(m.rank)) is not None and s.operation
                },
            ),
            world=World(state.size, state.generation),
            nodes=tuple(
                with_use(Node(n.name, n.address, _node_state(state, i)), self._hosts.get(i))
                for i, n in enumerate(plan.nodes)
            )
            if plan
            else (),
            ranks=self._ranks(state, metrics, running),
            metrics=metrics,
            progress=self._progress(state),
            notebooks=notebooks,
            owner=self.owner,
            may=_may(state),
            created_at=self.created_at,
            idle_since=None if running else self.idle_since,
            running=running,
        )

    def _current(self, state: State) -> list[RankSample]:
        """Samples of a world that can train; one that lost a rank has no figures of the whole."""
        return self.samples() if state.phase == "ready" else []

    def _crowded(self) -> bool:
        return self.plan is not None and any(node.threads == 1 for node in self.plan.nodes)

    def _metrics(self, state: State) -> Metrics:
        found = self.stuck(state)
        metrics = figures.world_metrics(self._current(state), state.size, self._crowded())
        metrics = replace(metrics, values=self._values, advice=advise(metrics, self._current(state)))
        if found is None and self.unpointed and state.phase == "ready":
            found = hangs.left_behind(self.unpointed)
        if found is None and state.busy and not self.paused:
            current = self._current(state)
            error = metrics.comm_overhead_error or 0.0
            found = self._since(stragglers.slow(current, error, self._by_rank()))
            found = found or stragglers.input_bound(current)
        return replace(metrics, verdicts=(found,)) if found is not None else metrics

    def _by_rank(self) -> dict[int, HostUse]:
        """What the node of each rank does."""
        if self.plan is None:
            return {}
        one = self.plan.backend == "local"  # there all nodes are one machine
        return {
            node.first_rank + local: host
            for index, node in enumerate(self.plan.nodes)
            if (host := self._hosts.get(0 if one else index)) is not None
            for local in range(node.ranks)
        }

    def _since(self, slow: Verdict | None) -> Verdict | None:
        """Since when a rank has been slow."""
        if slow is None:
            self._slow = None
            return None
        now = time.monotonic()
        if self._slow is None or self._slow[0] != slow.ranks[0]:
            self._slow = slow.ranks[0], now
        return replace(slow, since_s=now - self._slow[1])

    @property
    def stuck_after_s(self) -> float:
        """How long a collective may stand before it is a hang."""
        return self.plan.watch.stuck_after_s if self.plan is not None else hangs.STUCK_AFTER_S

    def suspects(self, state: State) -> tuple[int, ...]:
        """Ranks that others have waited for so long that one wants to know where they are."""
        if state.phase != "ready" or self.paused or not state.busy:
            return ()
        return hangs.suspects(self.samples(), state.size, self.stuck_after_s)

    def stuck(self, state: State) -> Verdict | None:
        """What keeps the world from moving, if anything does."""
        running = [m for m in state.members if m.cell is not None]
        if state.phase != "ready" or self.paused or not running or any(m.interrupted for m in running):
            return None
        cells = {m.cell for m in running}
        in_cell = tuple(m.rank for m in state.members if m.last in cells)
        return hangs.verdict(
            self.samples(),
            state.busy,
            in_cell,
            state.size,
            self.places,
            self.stuck_after_s,
            self.activities,
        )

    def _ranks(self, state: State, metrics: Metrics, running: Sequence[RunningCell]) -> tuple[Rank, ...]:
        if self.plan is None:
            return ()
        blamed = {r: v.kind for v in metrics.verdicts for r in v.ranks}
        splits = figures.split(self._current(state), state.size, self._crowded())
        ranks = []
        for node in self.plan.nodes:
            for local in range(node.ranks):
                member = state.members[node.first_rank + local]
                device = f"cuda:{local % node.gpus}" if node.gpus else "cpu"
                ranks.append(
                    self._rank(member, node.name, local, device, blamed, splits.get(member.rank), running)
                )
        return tuple(ranks)

    def _rank(
        self,
        member: Member,
        node: str,
        local: int,
        device: str,
        blamed: Mapping[int, str],
        split: figures.Split | None,
        running: Sequence[RunningCell],
    ) -> Rank:
        seen, sample = self._samples.get(member.rank, (None, RankSample(rank=member.rank)))
        state = _rank_state(member, sample, stuck=blamed.get(member.rank) in ALARMS)
        if member.rank in self.paused and state != "lost":
            state = "paused"
        where = self.places.get(member.rank) if state == "stuck" else None
        if where is None and member.cell is not None:
            cell = next((c for c in running if member.rank in c.ranks), None)
            where = Where(notebook=cell.notebook, cell=cell.cell) if cell else None
        rank_now = Rank(
            rank=member.rank,
            node=node,
            local_rank=local,
            device=device,
            pid=member.pid,
            state=state,
            doing=sample.doing if member.cell is not None else None,
            where=where,
            slow=blamed.get(member.rank) == "slow",
            last_seen_s=time.monotonic() - seen if seen is not None else None,
        )
        return figures.with_figures(rank_now, sample, split)

    def _progress(self, state: State) -> tuple[Phase, ...]:
        now = time.monotonic()
        size = state.size
        done = {
            "load": (int(self.preloaded_s is not None), 1),
            "fork": (sum(m.joined for m in state.members), size),
            "connect": (sum(not m.new for m in state.members), size),
        }
        return tuple(
            Phase(phase, *done[phase], elapsed_s=(ended or now) - began)
            for phase, (began, ended) in self._phases.items()
        )


def _rank_state(member: Member, sample: RankSample, *, stuck: bool) -> RankPhase:
    if member.lost:
        return "lost"
    if not member.joined or member.new:
        return "starting"
    if stuck:
        return "stuck"
    if member.cell is None:
        return "idle"
    return "in collective" if sample.operation else "busy"


def _node_state(state: State, node: int) -> str:
    return "ready" if node in state.ready_nodes else "starting"


def _reason(state: State) -> Reason | None:
    if state.phase == "degraded" and state.losses:
        ranks = ",".join(str(loss.rank) for loss in state.losses)
        return Reason(
            code="rank_lost",
            message=describe_loss(state.losses[0]),
            hint=f"Restart it: %distributed restart {ranks}. It comes back empty: run its set-up cells.",
        )
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
