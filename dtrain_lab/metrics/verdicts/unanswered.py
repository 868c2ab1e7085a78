"""Verdict on ranks that don't answer an interrupt: named until they do, with the cause if known."""

from __future__ import annotations

from collections.abc import Sequence

from dtrain_lab.text import rank_names
from dtrain_lab.wire.links import RankSample
from dtrain_lab.wire.metrics.verdicts import Verdict

CODE = "deaf"
"""Code of the verdict, and of the summary that reports it."""


def verdict(
    deaf: Sequence[int],
    reason: tuple[str, str, str] | None,
    samples: Sequence[RankSample],
    since_s: float | None = None,
) -> Verdict | None:
    """Say which ranks don't answer, and why.

    Args:
        deaf: ranks that don't answer an interrupt.
        reason: code, sentence and hint of the world's state.
        samples: the latest sample of each rank.
        since_s: time since the interrupt that the first of them does not answer, seconds; None if unknown.

    Returns:
        The verdict; None if every rank answers.
    """
    if not deaf or reason is None or reason[0] != CODE:
        return None
    _, text, hint = reason
    ranks = tuple(deaf)
    stopped = tuple(s.rank for s in samples if s.stopped and s.rank in ranks)
    if stopped:
        verb, they = ("is", "it") if len(stopped) == 1 else ("are", "them")
        who = f"{rank_names.sentence_name(stopped)} {verb} stopped by a signal (SIGSTOP, or a debugger)"
        restart = f"%distributed restart {rank_names.compact(ranks)}"
        hint = (
            f"{who}. SIGCONT resumes {they}; or replace {they}: {restart}"
            if stopped == ranks
            else f"{who}; SIGCONT resumes {they}. {hint}"
        )
    return Verdict(
        id=f"{CODE}-{rank_names.compact(ranks)}",
        kind="stuck",
        code=CODE,
        values={"ranks": rank_names.compact(ranks), "count": len(ranks)},
        text=text,
        ranks=ranks,
        since_s=since_s,
        hint=hint,
        actions=("interrupt", "stacks", "restart"),
    )
