"""Verdicts on a world that could be faster: a slow rank and its cause, a busy machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from dtrain_lab.metrics.own_time import own_s
from dtrain_lab.metrics.verdicts.asleep import CAUSE, asleep_s
from dtrain_lab.text import rank_names
from dtrain_lab.wire.links import RankSample
from dtrain_lab.wire.metrics.verdicts import TOO_BUSY, Verdict
from dtrain_lab.wire.node_use import HostUse

SLOW_SHARE = 0.10
SLOW_MADS = 3.0
SLOW_STEPS = 20
FULL = 0.85
"""CPU utilization above which a node has no free cores."""
CROWD_SHARE = 0.2
"""Share of a node's cores above which other processes that use them are named as a cause."""
PLAIN_SHARE = 0.5
BESIDE = 0.2
"""Share of the time by which a rank is later from which a second cause is named, or the rest is mentioned."""
LOADER = "data"
"""Cause of a slow rank whose data loader takes longer."""
SLEEPS = "its own code sleeps, or waits for a file or a network"
WANTED = 1.25
"""Runnable threads per core above which threads wait for cores, and step times become unreliable."""


def can_judge(samples: Sequence[RankSample]) -> bool:
    """Whether every rank has taken enough steps to say which is slow, and its communication is measured.

    Ranks of other frameworks report steps only, which don't show whether one rank waits for another.

    Args:
        samples: the latest sample of each rank.
    """
    return all(s.step_s and s.exposed_s is not None and (s.step or 0) >= SLOW_STEPS for s in samples)


def slow(
    samples: Sequence[RankSample], error: float, hosts: Mapping[int, HostUse] | None = None
) -> Verdict | None:
    """Verdict on a rank that the others wait for in every step; None without such a rank.

    Its own time (the step without communication) exceeds the median of the others by 10 %, by three of their
    median absolute deviations, and by more than the error of communication. Ranks without collectives
    in their steps wait for no other rank; ranks whose communication isn't seen can't be judged.

    Args:
        samples: the latest sample of each rank.
        error: error of the share of communication, as a share of the step.
        hosts: load of each rank's node, by rank.
    """
    training = [s for s in samples if s.step_s and s.exposed_s is not None and (s.step or 0) >= SLOW_STEPS]
    if len(training) < 2:
        return None
    if all(s.exposed_s == 0.0 for s in training):  # they exchange nothing, as with a parameter server
        return None
    # as measured: what charts show is also corrected for cold caches, by an estimate
    own_times = {s.rank: own_s(s.step_s, s.exposed_s) or 0.0 for s in training}
    rank = max(own_times, key=lambda r: own_times[r])
    others = [time for r, time in own_times.items() if r != rank]
    usual = median(others)
    spread = median(abs(time - usual) for time in others)
    step = next(s.step_s or 0.0 for s in training if s.rank == rank)
    over = own_times[rank] - usual
    if over <= max(SLOW_SHARE * usual, SLOW_MADS * spread, error * step):
        return None
    wait = "waits" if len(others) == 1 else "wait"
    whom = f"rank {next(r for r in own_times if r != rank)}" if len(others) == 1 else "the others"
    often = _often(training, rank, usual, over)
    cause, why = _cause(training, rank, over, hosts or {})
    return Verdict(
        id=f"slow-{rank}",
        kind="slow",
        code="slow",
        values={
            "ranks": str(rank),
            "count": len(others),
            "over_s": over,
            "late": min(1.0, over / step) if step else 0.0,
            "usual_s": usual,
            "data_s": min(over, max(0.0, _later_data_s(training, rank))),
            "cause": f"{often}: {cause}",
        },
        text=f"Rank {rank} is slow. {rank_names.count(len(others))} {wait} for it.",
        ranks=(rank,),
        peers=tuple(r for r in own_times if r != rank),
        hint=f"{over * 1e3:.3g} ms a step longer than {whom}{often}{why}.",
        actions=("stacks",),
    )


def saturated(hosts: Mapping[str, HostUse]) -> str | None:
    """Name of the node with most runnable threads per core; None if no node has too many.

    Args:
        hosts: load of each node, by its name.
    """
    full = {
        name: host.runnable / host.cores
        for name, host in hosts.items()
        if host.runnable is not None
        and (host.cpu_utilization is None or host.cpu_utilization >= FULL)
        and host.runnable >= WANTED * host.cores
    }
    return max(full, key=lambda name: full[name]) if full else None


def busiest(hosts: Mapping[str, HostUse]) -> Verdict | None:
    """The verdict `too_busy` on the node with most runnable threads per core; None if none has too many.

    Args:
        hosts: load of each node, by its name.
    """
    name = saturated(hosts)
    return too_busy(name, hosts[name], alone=len(hosts) == 1) if name is not None else None


def is_plain(verdict: Verdict) -> bool:
    """Whether a verdict can't be noise of a busy machine: twice as long, or half a step for data."""
    if verdict.kind == "slow":
        return bool(verdict.values["over_s"] >= verdict.values["usual_s"])
    return bool(verdict.values["share"] >= PLAIN_SHARE)


def too_busy(node: str, host: HostUse, *, alone: bool) -> Verdict:
    """Verdict that replaces "slow" and "input-bound" if threads wait for cores and metrics are unreliable.

    Args:
        node: name of the node with more runnable threads than cores.
        host: load of that node.
        alone: whether it is the world's only node.
    """
    threads = round(host.runnable or 0)
    who = "This machine" if alone else node
    return Verdict(
        id=TOO_BUSY,
        kind="unknown",
        code=TOO_BUSY,
        values={"node": "" if alone else node, "threads": threads, "cores": host.cores},
        text=f"{who} is too busy to tell which rank is slow: {threads} threads compete for its "
        f"{_cores(host.cores)}.",
        hint="Times and shares are not reliable while threads wait for a core. "
        "Use fewer ranks, or end other work.",
    )


def busy_note(verdict: Verdict) -> str:
    """Text on why times of a loop predict nothing, valid while it runs and after its end.

    Args:
        verdict: the verdict `too_busy`.
    """
    return f"During training, {competed(verdict)}: times and shares are rough."


def competed(verdict: Verdict) -> str:
    """The clause that a node had too few cores for its threads.

    Args:
        verdict: the verdict `too_busy`.
    """
    node, threads, cores = (verdict.values[name] for name in ("node", "threads", "cores"))
    where = node or "this machine"
    return f"{threads} threads competed for the {_cores(cores)} of {where}"


def _cores(count: int) -> str:
    return "one core" if count == 1 else f"{count} cores"


def _often(training: Sequence[RankSample], rank: int, usual: float, over: float) -> str:
    """Text on whether a rank is slow in every step, as far as known."""
    mine = next(s for s in training if s.rank == rank)
    if mine.typical_own_s is None:
        return ""
    typical = mine.typical_own_s - usual
    return ", in every step" if typical > over / 2 else ", now and then, not in every step"


def _cause(
    training: Sequence[RankSample], rank: int, over: float, hosts: Mapping[int, HostUse]
) -> tuple[str, str]:
    """Find the cause of more than half of the time by which a rank's step is longer.

    Low processor use alone is no cause: a rank that sleeps, or waits for a file, uses little, too.

    Returns:
        The cause as a word, and its text; both empty if unknown.
    """
    mine = next(s for s in training if s.rank == rank)
    others = [s for s in training if s.rank != rank]
    data = _later_data_s(training, rank)
    asleep = min(_asleep_s(mine), over - max(0.0, data))  # during the rest, the others may sleep, too
    both = min(data, asleep) >= BESIDE * over and data + asleep > over / 2
    takes = f"its data loader takes {data * 1e3:.3g} ms of that"
    if data > over / 2:
        if both:
            return f"{LOADER}, {CAUSE}", f": {takes}, and {SLEEPS}"
        return LOADER, ": its data loader" if data >= (1 - BESIDE) * over else f": {takes}"
    if mine.throttled and not all(s.throttled for s in others):
        return "gpu", f": its GPU is slowed down ({mine.throttled})"
    host = hosts.get(rank)
    if host is not None and host.throttled and not all(_throttled(hosts, s.rank) for s in others):
        return "node", f": the processors of its node are slowed down ({host.throttled})"
    if mine.starved is None:
        return "", ""
    step = mine.step_s or 0.0
    if mine.starved * step > over / 2:
        crowd = _crowd(training, rank, host, hosts) if host is not None else ""
        text = f": it waits for a free core for {mine.starved * 100:.0f} % of the time{crowd}"
        return "crowded" if crowd else "starved", text
    if both:
        return f"{CAUSE}, {LOADER}", f": {SLEEPS}, and {takes}"
    return (CAUSE, f": {SLEEPS}") if asleep > over / 2 else ("", "")


def _later_data_s(training: Sequence[RankSample], rank: int) -> float:
    """Time by which a rank waits longer for its data loader than the others, seconds; may be negative."""
    mine = next(s for s in training if s.rank == rank)
    return (mine.data_s or 0.0) - median(s.data_s or 0.0 for s in training if s.rank != rank)


def _asleep_s(mine: RankSample) -> float:
    """Time of a step in which a rank is asleep, seconds; 0 if it is not known.

    A process also waits for a kernel on its GPU.
    """
    on_gpu = mine.device_memory_total_bytes is not None
    return 0.0 if on_gpu else max(0.0, asleep_s(mine) or 0.0)


def _throttled(hosts: Mapping[int, HostUse], rank: int) -> bool:
    host = hosts.get(rank)
    return host is not None and bool(host.throttled)


def _crowd(training: Sequence[RankSample], rank: int, host: HostUse, hosts: Mapping[int, HostUse]) -> str:
    """Text on cores of a rank's node kept busy by other processes than our ranks; empty if few are."""
    if host.cpu_utilization is None or host.cpu_utilization < FULL:
        return ""
    ours = sum(s.cpu_utilization or 0.0 for s in training if hosts.get(s.rank) is host)
    others = host.cpu_utilization * host.cores - ours
    if others < CROWD_SHARE * host.cores:
        return ""
    return f"; other processes keep {others:.1f} of the {host.cores} cores of its node busy"
