"""Verdicts on a world that hangs, in words: one function for each kind of hang. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from dtrain_lab.metrics.verdicts import mismatch
from dtrain_lab.metrics.verdicts.activity import BUSY_WORDS, in_line
from dtrain_lab.metrics.verdicts.positions import by_operation, positions, waits
from dtrain_lab.text import places, rank_names
from dtrain_lab.text.lists import listed
from dtrain_lab.wire.kinds import VerdictKind
from dtrain_lab.wire.links import RankSample
from dtrain_lab.wire.metrics.verdicts import COMPUTING, Verdict
from dtrain_lab.wire.stacks import Where


@dataclass(frozen=True)
class Wait:
    """Ranks that wait in a collective, and the others of their world.

    Attributes:
        samples: the latest sample of each running rank.
        waiting: samples of ranks that have waited for longer than the threshold.
        peers: all ranks in a collective, including those that joined later.
        missing: ranks that are in none.
        places: positions of ranks in the user's code, if known.
        lines: source of the user's own line that ranks are in, if known.
    """

    samples: Sequence[RankSample]
    waiting: Sequence[RankSample]
    peers: tuple[int, ...]
    missing: tuple[int, ...]
    places: Mapping[int, Where]
    lines: Mapping[int, str]

    @property
    def first(self) -> RankSample:
        """Sample of a rank that waits, whose collective names the hang."""
        return self.waiting[0]

    @property
    def since_s(self) -> float:
        """Seconds since the first rank waits."""
        return max(s.in_operation_s or 0.0 for s in self.waiting)

    def sentence(self, ranks: Sequence[int]) -> str:
        """Say how many ranks wait for these."""
        return _waiting_for(ranks, self.peers)


def no_progress(wait: Wait) -> Verdict:
    """Every rank waits in a collective."""
    operations = listed(sorted({s.operation or "" for s in wait.waiting}))
    return _verdict(
        "no_progress", wait, (), wait.peers, None,
        f"No progress for {wait.since_s:.0f} s. Every rank waits in {operations}.",
        "Often ranks called different collectives, or with different shapes.", kind="unknown",
    )  # fmt: skip


def not_in_cell(wait: Wait) -> Verdict:
    """The missing ranks don't run the cell."""
    does = "does" if len(wait.missing) == 1 else "do"
    return _verdict(
        "not_in_cell", wait, wait.missing, wait.peers, None,
        f"{waits(wait.samples)}; {rank_names.name(wait.missing)} {does}n't run this cell.",
        "Run the cell on all ranks, or create a group of the ranks that run it.",
    )  # fmt: skip


def extra(wait: Wait) -> Verdict:
    """Fewer ranks wait than have finished the cell: these called one collective more."""
    has = "has" if len(wait.missing) == 1 else "have"
    its, alone = _owners(wait.peers)
    operations = listed(by_operation(wait.samples))
    return _verdict(
        "extra", wait, wait.peers, wait.missing, wait.places.get(wait.peers[0]),
        f"{rank_names.sentence_name(wait.peers)} called {operations} once more than "
        f"{rank_names.name(wait.missing)}, which {has} finished the cell.",
        f"Often {its} data is longer than the others', or a branch has a collective on {alone}.",
        kind="mismatch",
    )  # fmt: skip


def left(wait: Wait) -> Verdict:
    """The missing ranks have finished the cell."""
    has = "has" if len(wait.missing) == 1 else "have"
    its, alone = _owners(wait.missing)
    return _verdict(
        "left", wait, wait.missing, wait.peers, None,
        f"{waits(wait.samples)}; {rank_names.name(wait.missing)} {has} finished the cell.",
        f"Often {its} data ended early, or a branch skipped a collective on {alone}.",
    )  # fmt: skip


def halted(wait: Wait, stopped: tuple[int, ...]) -> Verdict:
    """Missing ranks are stopped by a signal.

    Args:
        wait: the ranks that wait.
        stopped: the missing ranks that are stopped.
    """
    verb = "is" if len(stopped) == 1 else "are"
    return _verdict(
        "halted", wait, stopped, wait.peers, None,
        f"{rank_names.sentence_name(stopped)} {verb} stopped by a signal. {wait.sentence(stopped)}",
        "The process was sent SIGSTOP, or a debugger has stopped it; SIGCONT resumes it.",
    )  # fmt: skip


def behind(wait: Wait, what: str, ranks: Sequence[int]) -> Verdict:
    """Missing ranks are busy with something that takes long; not an alarm.

    Args:
        wait: the ranks that wait.
        what: "data", or a key of `BUSY_WORDS`.
        ranks: the missing ranks that are busy.
    """
    who, one, place = rank_names.sentence_name(tuple(ranks)), len(ranks) == 1, wait.places.get(ranks[0])
    if what == "data":
        return _verdict(
            "waits_for_data", wait, tuple(ranks), wait.peers, place,
            f"{who} {'waits' if one else 'wait'} for data. {wait.sentence(ranks)}",
            "More workers in the loader, a faster disk, or fewer transforms.",
            kind="input_bound",
        )  # fmt: skip
    verb, hint = BUSY_WORDS[what]
    if what == "works":
        hint = in_line(ranks, wait.lines) or hint
    text = f"{who} {verb if one else _plural(verb)}. {wait.sentence(ranks)}"
    return _verdict("behind", wait, tuple(ranks), wait.peers, place, text, hint, kind="slow")


def stuck(wait: Wait, *, computing: bool) -> Verdict:
    """Missing ranks run the cell, and do nothing that is known to end.

    Args:
        wait: the ranks that wait.
        computing: all missing ranks use a core.
    """
    its, alone = _owners(wait.missing)
    found = _verdict(
        "stuck", wait, wait.missing, wait.peers, wait.places.get(wait.missing[0]),
        _stuck_sentences(wait.missing, wait.peers),
        in_line(wait.missing, wait.lines)
        or f"Often {its} data ended early, or a branch skipped a step on {alone}.",
    )  # fmt: skip
    if computing:  # the same episode, which may end by itself
        who = f"{rank_names.sentence_name(wait.missing)} {_are(wait.missing)}"
        return replace(found, code=COMPUTING, text=f"{who} still computing. {wait.sentence(wait.missing)}")
    return found


def sentences_with_line(verdict: Verdict) -> str:
    """Return a verdict's sentences with the line of the ranks for which the others wait, if that is known.

    They are a job's summary. A cluster's is the verdict's text alone: its card has the line below it.

    Args:
        verdict: Any verdict on a world.
    """
    for standing in verdict.standings:
        if standing.blamed and (line := places.place(standing.where)):
            if verdict.code == "stuck":
                return _stuck_sentences(verdict.ranks, verdict.peers, f" in {line}")
            who = rank_names.sentence_name(standing.ranks)
            return f"{verdict.text} {who} {_are(standing.ranks)} in {line}."
    return verdict.text


def mismatched(wait: Wait, found: mismatch.Mismatch) -> Verdict:
    """Ranks called different collectives.

    Args:
        wait: the ranks that wait.
        found: the calls that differ.
    """
    called = found.called
    peers = found.peers or wait.peers
    return Verdict(
        id=f"mismatch-{called.group}-{called.number}",
        kind="mismatch",
        code="mismatch",
        values={
            "ranks": rank_names.compact(found.ranks),
            "peers": rank_names.compact(found.peers),
            "called": mismatch.describe(called),
            "expected": mismatch.describe(found.expected),
            "calls": [{"ranks": rank_names.compact(r), "call": c} for c, r in mismatch.others(found).items()],
            "seconds": round(wait.since_s),
        },
        text=found.text,
        ranks=found.ranks,
        peers=peers,
        operation=called.operation,
        sequence=called.number,
        where=wait.places.get(found.ranks[0]),
        since_s=wait.since_s,
        hint=found.hint,
        actions=("interrupt", "stacks", "restart"),
        standings=positions(found.ranks, peers, wait.samples, wait.places, found.each),
    )


def _stuck_sentences(ranks: Sequence[int], peers: Sequence[int], place: str = "") -> str:
    return f"{rank_names.sentence_name(ranks)} {_are(ranks)} stuck{place}. {_waiting_for(ranks, peers)}"


def _waiting_for(ranks: Sequence[int], peers: Sequence[int]) -> str:
    wait, they = "waits" if len(peers) == 1 else "wait", "it" if len(ranks) == 1 else "them"
    return f"{rank_names.count(len(peers))} {wait} for {they}."


def _are(ranks: Sequence[int]) -> str:
    return "is" if len(ranks) == 1 else "are"


def _plural(verb: str) -> str:
    return {"compiles": "compile", "works on": "work on"}.get(verb, "read or write a checkpoint")


def _verdict(
    code: str,
    wait: Wait,
    ranks: tuple[int, ...],
    peers: tuple[int, ...],
    where: Where | None,
    text: str,
    hint: str,
    kind: VerdictKind = "stuck",
) -> Verdict:
    return Verdict(
        id=f"{code}-{wait.first.operation}-{wait.first.sequence}",
        kind=kind,
        code=code,
        values={
            "ranks": rank_names.compact(ranks),
            "peers": rank_names.compact(peers),
            "count": len(peers),
            "operation": wait.first.operation,
            "seconds": round(wait.since_s),
        },
        text=text,
        ranks=ranks,
        peers=peers,
        operation=wait.first.operation,
        sequence=wait.first.sequence,
        where=where,
        since_s=wait.since_s,
        hint=hint,
        # ranks that don't run the cell are idle: a restart would only lose their variables
        actions=("interrupt", "stacks")
        if code in ("left", "not_in_cell")
        else ("interrupt", "stacks", "restart"),
    )


def _owners(ranks: Sequence[int]) -> tuple[str, str]:
    """Return the words for what these ranks have, and for them alone."""
    return ("its", "this rank alone") if len(ranks) == 1 else ("their", "these ranks alone")
