"""Verdicts on a world that hangs: which ranks wait in which collective, and which ranks never joined it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from dtrain_lab.metrics.verdicts import mismatch
from dtrain_lab.metrics.verdicts.activity import BUSY_WORDS, in_line
from dtrain_lab.metrics.verdicts.device_waits import BACKWARD
from dtrain_lab.metrics.verdicts.positions import by_operation, positions, waits
from dtrain_lab.text import rank_names
from dtrain_lab.text.lists import listed
from dtrain_lab.wire.kinds import VerdictKind
from dtrain_lab.wire.links import RankSample
from dtrain_lab.wire.metrics.verdicts import Verdict
from dtrain_lab.wire.stacks import Where

STUCK_AFTER_S = 10.0
HOPELESS_AFTER_S = 5.0
"""Threshold if the missing ranks don't run the cell: another notebook may still send them one."""
SUSPECT_SHARE = 0.6
"""Share of the threshold after which the missing ranks are asked for their stacks."""
PROGRESS_S = 4.0
"""A rank whose monitor has written within this time counts as working."""
COMPUTING_SHARE = 0.5
"""Share of a core from which a missing rank counts as computing; one that sleeps uses next to none."""


def suspects(samples: Sequence[RankSample], size: int, threshold_s: float = STUCK_AFTER_S) -> tuple[int, ...]:
    """Ranks that others have waited for so long that they should be asked for their stacks.

    Args:
        samples: the latest sample of each rank.
        size: size of the world.
        threshold_s: time in a collective after which a world is judged, seconds.
    """
    if not any((s.in_operation_s or 0.0) >= SUSPECT_SHARE * threshold_s for s in samples if s.operation):
        return ()
    inside = {s.rank for s in samples if s.operation}
    return tuple(rank for rank in range(size) if rank not in inside)


def verdict(
    samples: Sequence[RankSample],
    busy: Sequence[int],
    in_cell: Sequence[int],
    size: int,
    places: Mapping[int, Where],
    threshold_s: float = STUCK_AFTER_S,
    activities: Mapping[int, str] | None = None,
    lines: Mapping[int, str] | None = None,
) -> Verdict | None:
    """Judge a world.

    Args:
        samples: the latest sample of each running rank.
        busy: ranks that run a cell.
        in_cell: ranks that run the cell or have ended it.
        size: size of the world.
        places: positions of ranks in the user's code, if known.
        threshold_s: time in a collective after which the world is judged, seconds.
        activities: activities of ranks by their stacks, if known.
        lines: source of the user's own line that ranks are in, if known; named instead of a guess.

    Returns:
        The verdict; None if the world moves or can't be judged.
    """
    found = _judged(samples, busy, in_cell, size, places, threshold_s, activities, lines or {})
    if found is None or found.standings:
        return found
    each = positions(found.ranks, found.peers, samples, places)
    return replace(found, standings=each)


def _judged(
    samples: Sequence[RankSample],
    busy: Sequence[int],
    in_cell: Sequence[int],
    size: int,
    places: Mapping[int, Where],
    threshold_s: float,
    activities: Mapping[int, str] | None,
    lines: Mapping[int, str],
) -> Verdict | None:
    inside = {s.rank for s in samples if s.operation}
    missing = tuple(rank for rank in range(size) if rank not in inside)
    hopeless = bool(missing) and all(rank not in busy and rank not in in_cell for rank in missing)
    within = min(threshold_s, HOPELESS_AFTER_S) if hopeless else threshold_s
    waiting = [s for s in samples if s.operation and (s.in_operation_s or 0.0) >= within]
    if not waiting:
        return None
    peers = tuple(sorted(inside))  # including ranks that joined later and have waited less than the threshold
    first = waiting[0]
    since = max(s.in_operation_s or 0.0 for s in waiting)
    # if a rank runs the cell and its sample says idle, the sample is from the previous cell
    told = [s for s in samples if (s.rank in busy or s.rank in in_cell) and not (s.idle and s.rank in busy)]
    differs = mismatch.find({s.rank: s.calls for s in told})
    if differs is not None:
        return _mismatched(differs, peers, since, samples, places)
    if not missing and all(s.operation == BACKWARD for s in waiting):
        return None  # a long backward on every rank can't be distinguished from work
    if not missing:
        return _verdict(
            "no_progress", (), peers, first, since, None,
            f"No progress for {since:.0f} s. Every rank waits in {_operations(waiting)}.",
            "Often ranks called different collectives, or with different shapes.",
        )  # fmt: skip
    apart = _apart(missing, peers, first, since, samples, busy, in_cell, places)
    if apart is not None:
        return apart
    stopped = tuple(s.rank for s in samples if s.stopped and s.rank in missing)
    wait = "waits" if len(peers) == 1 else "wait"
    if stopped:
        verb, they = ("is", "it") if len(stopped) == 1 else ("are", "them")
        return _verdict(
            "halted", stopped, peers, first, since, None,
            f"{rank_names.sentence_name(stopped)} {verb} stopped by a signal. "
            f"{rank_names.count(len(peers))} {wait} for {they}.",
            "The process was sent SIGSTOP, or a debugger has stopped it; SIGCONT resumes it.",
        )  # fmt: skip
    lately = min(PROGRESS_S, SUSPECT_SHARE * threshold_s)
    working = _working([s for s in samples if s.rank in missing and s.rank in busy], activities or {}, lately)
    if working is not None and len(working[1]) == len([r for r in missing if r in busy]):
        return _busy(working[0], working[1], peers, first, since, places, lines)
    one = len(missing) == 1
    waiting_text = f"{rank_names.count(len(peers))} {wait} for {'it' if one else 'them'}."
    who = f"{rank_names.sentence_name(missing)} {'is' if one else 'are'}"
    found = _verdict(
        "stuck", missing, peers, first, since, places.get(missing[0]), f"{who} stuck. {waiting_text}",
        in_line(missing, lines)
        or "Often its data ended early, or a branch skipped a step on this rank alone.",
    )  # fmt: skip
    if all(_computes(s) for s in samples if s.rank in missing):  # the same episode, which may end by itself
        return replace(found, code="computing", text=f"{who} still computing. {waiting_text}")
    return found


def _apart(
    missing: tuple[int, ...],
    peers: tuple[int, ...],
    first: RankSample,
    since: float,
    samples: Sequence[RankSample],
    busy: Sequence[int],
    in_cell: Sequence[int],
    places: Mapping[int, Where],
) -> Verdict | None:
    """The verdict if none of the missing ranks runs the cell, or if all of them have ended it."""
    ended = tuple(rank for rank in missing if rank not in busy and rank in in_cell)
    outside = tuple(rank for rank in missing if rank not in busy and rank not in in_cell)
    one = len(missing) == 1
    who = waits(samples)
    operations = listed(by_operation(samples))
    if outside == missing:
        return _verdict(
            "not_in_cell", missing, peers, first, since, None,
            f"{who}; {rank_names.name(missing)} {'does' if one else 'do'}n't run this cell.",
            "Run the cell on all ranks, or create a group of the ranks that run it.",
        )  # fmt: skip
    if ended == missing and len(peers) < len(missing):
        return _verdict(
            "extra", peers, missing, first, since, places.get(peers[0]),
            f"{rank_names.sentence_name(peers)} called {operations} once more than "
            f"{rank_names.name(missing)}, which {'has' if one else 'have'} finished the cell.",
            "Often its data is longer than the others', or a branch has a collective on this rank alone.",
            kind="mismatch",
        )  # fmt: skip
    if ended == missing:
        return _verdict(
            "left", missing, peers, first, since, None,
            f"{who}; {rank_names.name(missing)} {'has' if one else 'have'} finished the cell.",
            "Often its data ended early, or a branch skipped a collective on this rank alone.",
        )  # fmt: skip
    return None


def _computes(sample: RankSample) -> bool:
    """Whether a rank uses a core, or would if others left it one: a long computation, or an endless loop."""
    return (sample.cpu_utilization or 0.0) + (sample.starved or 0.0) >= COMPUTING_SHARE


def _working(
    missing: Sequence[RankSample], activities: Mapping[int, str], lately_s: float
) -> tuple[str, list[int]] | None:
    """The activity of the missing ranks, and which ranks are busy; None if no missing rank is."""
    found: dict[int, str] = {}
    for sample in missing:
        if sample.doing == "data" or activities.get(sample.rank) == "data":
            found[sample.rank] = "data"
        elif activities.get(sample.rank):
            found[sample.rank] = activities[sample.rank]
        elif sample.beat_s is not None and sample.beat_s < lately_s and (sample.step or sample.doing):
            found[sample.rank] = "works"
    return (next(iter(found.values())), sorted(found)) if found else None


def _busy(
    what: str,
    ranks: Sequence[int],
    peers: tuple[int, ...],
    first: RankSample,
    since: float,
    places: Mapping[int, Where],
    lines: Mapping[int, str],
) -> Verdict:
    """Verdict on missing ranks that are busy with something that takes long; not an alarm."""
    who, they = rank_names.sentence_name(tuple(ranks)), "it" if len(ranks) == 1 else "them"
    waits = f"{rank_names.count(len(peers))} {'waits' if len(peers) == 1 else 'wait'} for {they}."
    if what == "data":
        return _verdict(
            "waits_for_data", tuple(ranks), peers, first, since, places.get(ranks[0]),
            f"{who} {'waits' if len(ranks) == 1 else 'wait'} for data. {waits}",
            "More workers in its loader, a faster disk, or fewer transforms.",
            kind="input_bound",
        )  # fmt: skip
    verb, hint = BUSY_WORDS[what]
    if what == "works":
        hint = in_line(ranks, lines) or hint
    return _verdict(
        "behind", tuple(ranks), peers, first, since, places.get(ranks[0]),
        f"{who} {verb if len(ranks) == 1 else _plural(verb)}. {waits}", hint, kind="slow",
    )  # fmt: skip


def _plural(verb: str) -> str:
    return {"compiles": "compile", "works on": "work on"}.get(verb, "read or write a checkpoint")


def _mismatched(
    found: mismatch.Mismatch,
    waiting: tuple[int, ...],
    since: float,
    samples: Sequence[RankSample],
    places: Mapping[int, Where],
) -> Verdict:
    called = found.called
    peers = found.peers or waiting
    return Verdict(
        id=f"mismatch-{called.group}-{called.number}",
        kind="mismatch",
        code="mismatch",
        values={
            "ranks": rank_names.compact(found.ranks),
            "peers": rank_names.compact(found.peers),
            "called": mismatch.describe(called),
            "expected": mismatch.describe(found.expected),
            "seconds": round(since),
        },
        text=found.text,
        ranks=found.ranks,
        peers=peers,
        operation=called.operation,
        sequence=called.number,
        where=places.get(found.ranks[0]),
        since_s=since,
        hint=found.hint,
        actions=("interrupt", "stacks", "restart"),
        standings=positions(found.ranks, peers, samples, places, found.each),
    )


def _operations(waiting: Sequence[RankSample]) -> str:
    return listed(sorted({s.operation or "" for s in waiting}))


def _verdict(
    code: str,
    missing: tuple[int, ...],
    peers: tuple[int, ...],
    first: RankSample,
    since: float,
    where: Where | None,
    text: str,
    hint: str,
    kind: VerdictKind = "stuck",
) -> Verdict:
    return Verdict(
        id=f"{code}-{first.operation}-{first.sequence}",
        kind="unknown" if code == "no_progress" else kind,
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
        # ranks that don't run the cell are idle: a restart would only lose their variables
        actions=("interrupt", "stacks")
        if code in ("left", "not_in_cell")
        else ("interrupt", "stacks", "restart"),
    )
