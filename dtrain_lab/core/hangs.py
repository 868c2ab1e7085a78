"""Verdicts on a world that doesn't move: who waits in which collective, and who never came."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from dtrain_lab.core import ranks as rank_names
from dtrain_lab.core.cluster import Verdict, Where
from dtrain_lab.core.wire.links import RankSample

STUCK_AFTER_S = 10.0
HOPELESS_AFTER_S = 5.0
"""Ranks that wait for ranks which don't even run the cell: another notebook may still send them one."""
SLOW_SHARE = 0.10
SLOW_MADS = 3.0
SLOW_STEPS = 20
BACKWARD = "backward"
"""Operation of a rank that stands in backward, where DDP's own collectives can't be seen from Python."""


def verdict(
    samples: Sequence[RankSample],
    busy: Sequence[int],
    in_cell: Sequence[int],
    size: int,
    places: dict[int, Where],
    threshold_s: float = STUCK_AFTER_S,
) -> Verdict | None:
    """Judge a world.

    Args:
        samples: the latest of each rank that runs.
        busy: ranks that run a cell.
        in_cell: ranks that run it or have ended it.
        size: world size.
        places: where ranks are in the user's code, as far as it was asked.
        threshold_s: how long a collective may stand before somebody is to blame.

    Returns:
        The verdict, or None where all moves, or the world can't be judged.
    """
    inside = {s.rank for s in samples if s.operation}
    missing = tuple(rank for rank in range(size) if rank not in inside)
    hopeless = bool(missing) and all(rank not in busy and rank not in in_cell for rank in missing)
    within = min(threshold_s, HOPELESS_AFTER_S) if hopeless else threshold_s
    waiting = [s for s in samples if s.operation and (s.in_operation_s or 0.0) >= within]
    if not waiting:
        return None
    peers = tuple(sorted(s.rank for s in waiting))
    first = waiting[0]
    since = max(s.in_operation_s or 0.0 for s in waiting)
    if not missing and all(s.operation == BACKWARD for s in waiting):
        return None  # a backward pass that takes long on every rank is work, as far as anyone can see
    if not missing:
        return _verdict(
            "no_progress", (), peers, first, since, None,
            f"No progress for {since:.0f} s. Every rank waits in {_operations(waiting)}.",
            "Often ranks called different collectives, or with different shapes.",
        )  # fmt: skip
    ended = tuple(rank for rank in missing if rank not in busy and rank in in_cell)
    outside = tuple(rank for rank in missing if rank not in busy and rank not in in_cell)
    wait = "waits" if len(peers) == 1 else "wait"
    one = len(missing) == 1
    who = f"{rank_names.sentence_name(peers)} {wait} in {first.operation}"
    if outside == missing:
        return _verdict(
            "not_in_cell", missing, peers, first, since, None,
            f"{who}; {rank_names.name(missing)} {'does' if one else 'do'}n't run this cell.",
            "Run the cell on all ranks, or make a group of the ranks that run it.",
        )  # fmt: skip
    if ended == missing:
        return _verdict(
            "left", missing, peers, first, since, None,
            f"{who}; {rank_names.name(missing)} {'has' if one else 'have'} ended the cell.",
            "Often its data ended early, or a branch skipped a collective on this rank alone.",
        )  # fmt: skip
    return _verdict(
        "stuck", missing, peers, first, since, places.get(missing[0]),
        f"{rank_names.sentence_name(missing)} {'is' if one else 'are'} stuck. "
        f"{rank_names.count(len(peers))} {wait} for {'it' if one else 'them'}.",
        "Often its data ended early, or a branch skipped a step on this rank alone.",
    )  # fmt: skip


def _operations(waiting: Sequence[RankSample]) -> str:
    return " and ".join(sorted({s.operation or "" for s in waiting}))


def _verdict(
    code: str,
    missing: tuple[int, ...],
    peers: tuple[int, ...],
    first: RankSample,
    since: float,
    where: Where | None,
    text: str,
    hint: str,
) -> Verdict:
    return Verdict(
        id=f"{code}-{first.operation}-{first.sequence}",
        kind="unknown" if code == "no_progress" else "stuck",
        code=code,
        values={
            "ranks": rank_names.compact(missing),
            "peers": rank_names.compact(peers),
            "count": len(peers),
            "operation": first.operation,
            "seconds": round(since),
        },
        text=text,
        ranks=missing,
        peers=peers,
        operation=first.operation,
        sequence=first.sequence,
        where=where,
        since_s=since,
        hint=hint,
        actions=("interrupt", "stacks", "restart"),
    )


def slow(samples: Sequence[RankSample], error: float) -> Verdict | None:
    """A rank that the others wait for, step after step.

    Its own time (step without communication) is longer than the median of the others by 10 %, by three of
    their median absolute deviations, and by more than communication may be misjudged.

    Args:
        samples: the latest of each rank.
        error: of the share of communication, as a share of the step.
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
    return Verdict(
        id=f"slow-{rank}",
        kind="slow",
        code="slow",
        values={"ranks": str(rank), "count": len(others), "over_s": over},
        text=f"Rank {rank} is slow. {rank_names.count(len(others))} {wait} for it.",
        ranks=(rank,),
        peers=tuple(r for r in own if r != rank),
        hint=f"{over * 1e3:.3g} ms a step longer than the others.",
        actions=("stacks",),
    )


def left_behind(objects: Mapping[int, tuple[str, ...]]) -> Verdict:
    """Live objects that a rebuilt group could not be given to.

    Args:
        objects: rank → what is left there.
    """
    names = sorted({name for left in objects.values() for name in left})
    ranks = tuple(sorted(objects))
    verb = "has" if len(names) == 1 else "have"
    text = f"{'; '.join(names)} {verb} no connection to the new group on {rank_names.name(ranks)}."
    return Verdict(
        id="left_behind",
        kind="unknown",
        code="left_behind",
        values={"names": names, "ranks": rank_names.compact(ranks)},
        text=text[0].upper() + text[1:],
        ranks=ranks,
        hint="Make them again: run their cells.",
    )
