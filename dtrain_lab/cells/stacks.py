"""Stacks of ranks as text: where each rank is in its cell, and equal stacks once. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from dtrain_lab.cells import rank_sets
from dtrain_lab.wire.stacks import Stack, StackFrame

IDLE = "idle"


def place(stack: Stack) -> str:
    """Return where a rank is in the user's code, in one line; that it is idle, if no cell runs on it.

    Args:
        stack: Its stack.
    """
    if not stack.frames:
        return stack.error or IDLE
    own = [frame for frame in stack.frames if not frame.library]
    return _words((own or stack.frames)[-1])


def folded(stacks: Sequence[Stack]) -> list[str]:
    """Return paragraphs, one for all ranks whose main threads are at the same place; small groups first.

    Other threads are left out: those of different ranks are never quite equal, and most are ours.

    Args:
        stacks: Stacks of the ranks.
    """
    groups: dict[tuple[str | None, tuple[StackFrame, ...]], list[int]] = {}
    for stack in stacks:
        groups.setdefault((stack.error, stack.frames), []).append(stack.rank)
    told = []
    for (error, frames), ranks in sorted(groups.items(), key=lambda group: (len(group[1]), group[1])):
        about = error or ("" if frames else IDLE)
        lines = [f"{rank_sets.sentence_name(ranks)}: {about}" if about else rank_sets.sentence_name(ranks)]
        for frame in frames:
            lines.append(f"  {_words(frame)}")
            lines += [f"    {frame.source.strip()}"] if frame.source.strip() else []
        told.append("\n".join(lines))
    return told


def _words(frame: StackFrame) -> str:
    at = frame.where
    file = f"cell {at.cell}" if at.cell else f'File "{at.file}"'
    return f"{file}, line {at.line}, in {at.function}"
