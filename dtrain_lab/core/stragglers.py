"""Verdicts on a world that moves, and could be faster: a slow rank and why; training that waits for data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from dtrain_lab.core import ranks as rank_names
from dtrain_lab.core.cluster import HostUse, Verdict
from dtrain_lab.core.wire.links import RankSample

SLOW_SHARE = 0.10
SLOW_MADS = 3.0
SLOW_STEPS = 20
INPUT_BOUND_SHARE = 0.25
"""Of a step, spent on waiting for data by the median rank."""
FULL = 0.85
"""A node whose cores are that busy has none to spare …"""
CROWD_SHARE = 0.2
"""… and one of which others than our ranks take so much is shared with somebody."""


def input_bound(samples: Sequence[RankSample]) -> Verdict | None:
    """All ranks wait for their data, step after step.

    Args:
        samples: the latest of each rank.
    """
    known = [s for s in samples if s.step_s and (s.step or 0) >= SLOW_STEPS]
    if not known:
        return None
    share = median((s.data_s or 0.0) / (s.step_s or 1.0) for s in known)
    if share < INPUT_BOUND_SHARE:
        return None
    data = median(s.data_s or 0.0 for s in known)
    return Verdict(
        id="input_bound",
        kind="input_bound",
        code="input_bound",
        values={"share": share, "data_s": data},
        text=f"Training waits for data: {share * 100:.0f} % of a step.",
        hint=f"The loader takes {data * 1e3:.3g} ms a step: more workers (num_workers), or fewer transforms.",
        actions=("stacks",),
    )


def slow(
    samples: Sequence[RankSample], error: float, hosts: Mapping[int, HostUse] | None = None
) -> Verdict | None:
    """A rank that the others wait for, step after step.

    Its own time (step without communication) is longer than the median of the others by 10 %, by three of
    their median absolute deviations, and by more than communication may be misjudged.

    Args:
        samples: the latest of each rank.
        error: of the share of communication, as a share of the step.
        hosts: rank → what its node does.
    """
    known = [s for s in samples if s.step_s and (s.step or 0) >= SLOW_STEPS]
    if len(known) < 2:
        return None
    own = {s.rank: (s.step_s or 0.0) - (s.exposed_s or 0.0) for s in known}
    rank = max(own, key=lambda r: own[r])
    others = [time for r, time in own.items() if r != rank]
    usual = median(others)
    spread = median(abs(time - usual) for time in others)
    step = next(s.step_s or 0.0 for s in known if s.rank == rank)
    over = own[rank] - usual
    if over <= max(SLOW_SHARE * usual, SLOW_MADS * spread, error * step):
        return None
    wait = "waits" if len(others) == 1 else "wait"
    cause = _cause(known, rank, usual, over, hosts or {})
    return Verdict(
        id=f"slow-{rank}",
        kind="slow",
        code="slow",
        values={"ranks": str(rank), "count": len(others), "over_s": over},
        text=f"Rank {rank} is slow. {rank_names.count(len(others))} {wait} for it.",
        ranks=(rank,),
        peers=tuple(r for r in own if r != rank),
        hint=f"{over * 1e3:.3g} ms a step longer than the others{cause}.",
        actions=("stacks",),
    )


def _cause(
    known: Sequence[RankSample], rank: int, usual: float, over: float, hosts: Mapping[int, HostUse]
) -> str:
    """Whether it is always so long, and what takes the time, as far as that is known."""
    mine = next(s for s in known if s.rank == rank)
    others = [s for s in known if s.rank != rank]
    text = ""
    if mine.typical_own_s is not None:
        typical = mine.typical_own_s - usual
        text = ", in every step" if typical > over / 2 else ", now and then, not in every step"
    data = (mine.data_s or 0.0) - median(s.data_s or 0.0 for s in others)
    if data > over / 2:
        return f"{text}: its data loader"
    if mine.throttled and not all(s.throttled for s in others):
        return f"{text}: its GPU is slowed down ({mine.throttled})"
    host = hosts.get(rank)
    if host is not None and host.throttled and not all(_throttled(hosts, s.rank) for s in others):
        return f"{text}: the processors of its node are slowed down ({host.throttled})"
    used = [s.cpu_utilization for s in others if s.cpu_utilization is not None]
    if mine.cpu_utilization is not None and used and mine.cpu_utilization < 0.7 * median(used):
        text += f": it has less of a processor ({mine.cpu_utilization:.0%} against {median(used):.0%})"
    if host is not None:
        text += _crowd(known, rank, host, hosts)
    return text


def _throttled(hosts: Mapping[int, HostUse], rank: int) -> bool:
    host = hosts.get(rank)
    return host is not None and bool(host.throttled)


def _crowd(known: Sequence[RankSample], rank: int, host: HostUse, hosts: Mapping[int, HostUse]) -> str:
    """What others than our ranks keep busy of a rank's node, where that is much."""
    if host.cpu_utilization is None or host.cpu_utilization < FULL:
        return ""
    ours = sum(s.cpu_utilization or 0.0 for s in known if hosts.get(s.rank) is host)
    others = host.cpu_utilization * host.cores - ours
    if others < CROWD_SHARE * host.cores:
        return ""
    return f"; other processes keep {others:.1f} of the {host.cores} cores of its node busy"
