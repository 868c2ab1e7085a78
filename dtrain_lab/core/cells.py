"""Cells: their names, their failures in words, and rank labels on their output."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import cache

from IPython.core.inputtransformer2 import TransformerManager
from msgspec.structs import replace

from dtrain_lab.core import ranks as rank_names
from dtrain_lab.core.cluster import Failure, Frame
from dtrain_lab.errors import BadCell


def check_source(code: str) -> None:
    """Refuse what no rank could run, before anything is sent.

    Raises:
        BadCell: nothing to run, or a syntax error; its details carry the line of `code` and the offset.
    """
    if not code.strip():
        raise BadCell("The cell is empty.", "Write the code below the %%distributed line.")
    try:
        plain = _transformer().transform_cell(code)
        compile(plain, "cell", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except SyntaxError as error:
        raise BadCell(
            f"SyntaxError: {error.msg}",
            "The cell was not sent to any rank.",
            code="syntax_error",
            details={"line": error.lineno, "offset": error.offset, "text": (error.text or "").rstrip()},
        ) from error
    except ValueError as error:  # a null byte
        raise BadCell(f"The cell can't be compiled: {error}.", "It was not sent to any rank.") from error


@cache
def _transformer() -> TransformerManager:
    return TransformerManager()


def label(count: int) -> str:
    """Name of a cell by its execution count: 7 is "[7]"."""
    return f"[{count}]"


CONNECTION_ERRORS = (
    "connection closed by peer",
    "connection reset by peer",
    "connection was aborted",
    "broken pipe",
    "connection of the ranks was given up",
    "nccl communicator was aborted",
    "process group has been aborted",
)


NO_ANSWER = "NoAnswer"
"""Type of the failure of a rank that does not answer an interrupt."""


def blame(failures: Sequence[Failure]) -> tuple[Failure, ...]:
    """Tell who is at fault from whom they took along.

    A rank whose peer ended, raised or was interrupted gets "Connection closed by peer" from its
    collective. That is an effect: it becomes *aborted*. Where nothing but such errors is known, they stay.
    """
    effects = [f for f in failures if f.kind == "raised" and _lost_connection(f)]
    causes = [f for f in failures if f not in effects]
    if not causes:
        return tuple(sorted(failures, key=lambda f: f.rank))
    aborted = [replace(f, kind="aborted") for f in effects]
    return tuple(sorted((*causes, *aborted), key=lambda f: f.rank))


def _lost_connection(failure: Failure) -> bool:
    return lost_connection(failure.message)


def lost_connection(message: str) -> bool:
    """Whether an error says no more than that a peer has gone."""
    text = message.lower()
    return any(known in text for known in CONNECTION_ERRORS)


def failure_sentence(failures: Sequence[Failure], ranks: Sequence[int]) -> str:
    """What became of a cell that failed: who is at fault first, then whom it took along.

    Args:
        failures: of the ranks that did not end well.
        ranks: all that ran the cell.
    """
    parts = []
    lost = [f for f in failures if f.kind == "lost"]
    raised = [f for f in failures if f.kind == "raised"]
    silent = [f for f in failures if f.type == NO_ANSWER]
    taken = [f for f in failures if f.kind in ("aborted", "interrupted") and f not in silent]
    if lost:
        verb = "was" if len(lost) == 1 else "were"
        ways = sorted({f.message for f in lost})
        parts.append(f"{_who(lost)} {verb} lost: {'; '.join(ways)}.")
    if raised:
        kinds = sorted({f"{f.type}: {f.message}" if f.message else f.type for f in raised})
        more = "" if len(kinds) == 1 else f" (and {len(kinds) - 1} other)"
        parts.append(f"{_who(raised)} failed: {_one_line(kinds[0])}{more}.")
    if silent:
        verb = "does" if len(silent) == 1 else "do"
        restart = f"%distributed restart {rank_names.compact(f.rank for f in silent)}"
        parts.append(f"{_who(silent)} {verb} not answer the interrupt: wait, or {restart}.")
    if taken:
        parts.append(_taken(taken))
    return " ".join(parts) if parts else f"{rank_names.sentence_name(ranks)} ended."


def _one_line(text: str, most: int = 200) -> str:
    first = text.strip().splitlines()[0].rstrip(".") if text.strip() else ""
    return first if len(first) <= most else f"{first[: most - 1]}…"


def _taken(taken: Sequence[Failure]) -> str:
    verb = "was" if len(taken) == 1 else "were"
    inside = [f for f in taken if f.operation]
    operations = sorted({f.operation for f in inside if f.operation})
    where = f" in {' and '.join(operations)}" if operations else ""
    if inside and len(inside) < len(taken):
        where = f" ({rank_names.name(f.rank for f in inside)}{where})"
    return f"{_who(taken)} {verb} interrupted{where}; variables are kept."


def _who(failures: Sequence[Failure]) -> str:
    return rank_names.sentence_name([f.rank for f in failures])


def render_failure(failures: Sequence[Failure], sentence: str) -> list[str]:
    """A failed cell as text: its sentence, then each different traceback once, with its ranks.

    Aborted and interrupted ranks have none: their place is in the sentence.
    """
    lines = [sentence]
    groups: dict[tuple[str, str, tuple[Frame, ...]], list[int]] = {}
    for failure in failures:
        if failure.kind == "raised":
            groups.setdefault((failure.type, failure.message, failure.frames), []).append(failure.rank)
    for (kind, message, frames), members in groups.items():
        lines += ["", f"{rank_names.sentence_name(members)}: {kind}: {message}".rstrip(": ")]
        lines += render_frames(frames)
    return lines


def render_frames(frames: Sequence[Frame]) -> list[str]:
    """A traceback: cells by their name, runs of library frames folded to one line."""
    lines: list[str] = []
    folded = 0
    for index, frame in enumerate(frames):
        if is_library(frame) and index < len(frames) - 1:
            folded += 1
            continue
        if folded:
            lines.append(f"  … {folded} library frame{'s' if folded > 1 else ''}")
            folded = 0
        place = f"cell {frame.cell}, line {frame.line}" if frame.cell else f"{frame.file}:{frame.line}"
        inside = "" if frame.function in ("<module>", "") else f", in {frame.function}"
        lines.append(f"  {place}{inside}")
        if frame.source:
            lines.append(f"----> {frame.line} {frame.source}")
    return lines


def is_library(frame: Frame) -> bool:
    """Not the user's own code."""
    return frame.cell is None and (
        "site-packages" in frame.file or "/lib/python" in frame.file or frame.file.startswith("<frozen")
    )
