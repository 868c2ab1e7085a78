"""Stacks of ranks as text: where each rank is in its cell, and equal stacks once. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath

from msgspec import Struct

from dtrain_lab.text import rank_names
from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.wire.jobs.job import Job
from dtrain_lab.wire.stacks import Stack, StackFrame

IDLE = "idle"
ELSEWHERE = "not in the notebook's code"
"""Text for a job's rank without a frame of the user's: no cell waits there for a user."""
_PACKAGE = re.compile(r"(?:site|dist)-packages/([\w-]+)")


class Waiting(Struct, frozen=True):
    """Ranks that others wait for, and ranks that wait in a collective."""

    blamed: frozenset[int] = frozenset()
    waiting: frozenset[int] = frozenset()


NONE_WAIT = Waiting()


def waiting(of: Cluster | Job) -> Waiting:
    """Find which ranks of a cluster or a job wait, and for which."""
    blamed = frozenset(rank for verdict in of.metrics.verdicts if verdict.peers for rank in verdict.ranks)
    return Waiting(blamed, frozenset(r.rank for r in of.ranks if r.state == "in collective") - blamed)


class StackTexts(dict[int, str]):
    """Stacks of all threads, by rank. Printed as a whole, equal stacks are folded.

    Args:
        stacks: Stacks of the ranks.
        waiting_ranks: Which ranks wait.
        idle: Text for a rank without a frame of the user's.
    """

    def __init__(self, stacks: Sequence[Stack], waiting_ranks: Waiting, idle: str = IDLE) -> None:
        super().__init__({stack.rank: stack.text or stack.error or "" for stack in stacks})
        self._folded = "\n\n".join(folded(stacks, waiting_ranks, idle))

    def __repr__(self) -> str:
        return self._folded


def position(stack: Stack) -> str:
    """Return where a rank is in the user's code, in one line; that it is idle, if no cell runs on it.

    Args:
        stack: Its stack.
    """
    if not stack.frames:
        return stack.error or IDLE
    return _words((_own(stack) or stack.frames)[-1])


def folded(stacks: Sequence[Stack], waiting_ranks: Waiting = NONE_WAIT, idle: str = IDLE) -> list[str]:
    """Return paragraphs, one for all ranks whose main threads are at the same place.

    Ranks that others wait for come first, ranks in a collective last, else small groups first. Libraries'
    frames are left out but for the name of the innermost function. Other threads are left out: those of
    different ranks are never quite equal, and most are ours.

    Args:
        stacks: Stacks of the ranks.
        waiting_ranks: Which ranks wait.
        idle: Text for a rank without a frame of the user's.
    """
    groups: dict[tuple[bool, str], list[int]] = {}
    for stack in stacks:
        groups.setdefault((stack.rank in waiting_ranks.blamed, _text(stack, idle)), []).append(stack.rank)

    def order(group: tuple[tuple[bool, str], list[int]]) -> tuple[bool, bool, int, list[int]]:
        (blamed, _), ranks = group
        return not blamed, waiting_ranks.waiting.issuperset(ranks), len(ranks), ranks

    texts = []
    for (blamed, text), ranks in sorted(groups.items(), key=order):
        name = f"{rank_names.sentence_name(ranks)}{', which others wait for' if blamed else ''}"
        texts.append(f"{name}: {text}" if "\n" not in text else f"{name}:{text}")
    return texts


def _text(stack: Stack, idle: str) -> str:
    """Text of a stack: one line, or lines that begin with a line break."""
    if not stack.frames:
        return stack.error or idle
    frames = _own(stack)
    lines = [""]
    for frame in frames or stack.frames:
        lines.append(f"  {_words(frame)}")
        lines += [f"    {frame.source.strip()}"] if frame.source.strip() else []
    inner = stack.frames[-1]
    if frames and inner.library:
        lines.append(f"  in {_package(inner.where.file or '')}: {inner.where.function}")
    return "\n".join(lines)


def _own(stack: Stack) -> tuple[StackFrame, ...]:
    return tuple(frame for frame in stack.frames if not frame.library)


def _package(file: str) -> str:
    match = _PACKAGE.search(file)
    return match[1] if match else PurePath(file).stem


def _words(frame: StackFrame) -> str:
    at = frame.where
    file = f"cell {at.cell}" if at.cell else f'File "{at.file}"'
    return f"{file}, line {at.line}, in {at.function}"
