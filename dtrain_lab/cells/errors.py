"""Cell errors: syntax check before sending, failures as sentences, tracebacks by cell and line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from dtrain_lab.cells import left_frames
from dtrain_lab.text import cluster_endings, rank_names
from dtrain_lab.text.lists import listed
from dtrain_lab.text.units import counted
from dtrain_lab.wire.cells import Failure
from dtrain_lab.wire.endings import Ending
from dtrain_lab.wire.stacks import Frame
from dtrain_lab.wire.summary import Summary

CONNECTION_ERRORS = (
    "connection closed by peer",
    "connection reset by peer",
    "connection was aborted",
    "broken pipe",
    "connection of the ranks was given up",
    "nccl communicator was aborted",
    "process group has been aborted",
    "ended on this rank, too",  # errors.PeerFailed
)


NO_ANSWER = "NoAnswer"
"""`Failure.type` of a rank that does not answer an interrupt."""


DEVICE_ERRORS = (
    "device-side assert triggered",
    "illegal memory access",
    "misaligned address",
    "illegal instruction",
    "invalid program counter",
    "hardware stack error",
    "unspecified launch failure",
    "the launch timed out",
    "uncorrectable ecc error",
)
"""Errors of CUDA that "leave the process in an inconsistent state and any further CUDA work will return the
same error" (CUDA Runtime API, cudaError)."""


def blame(failures: Sequence[Failure], *, restarted: bool = False) -> tuple[Failure, ...]:
    """Separate the ranks that caused a failure from the ranks that failed because of them.

    A rank whose peer ended, raised or was interrupted gets "Connection closed by peer" from its
    collective. That is an effect, so its failure becomes *aborted*. If all failures are such errors,
    the cause is unknown and they stay as they are.

    Args:
        failures: one per rank that failed.
        restarted: whether ranks of the cell were restarted meanwhile. That is the cause then, and ranks that
            saw the connection close before the interrupt reached them count as *interrupted*.

    Returns:
        The failures in the order of their ranks.
    """
    effects = [f for f in failures if f.kind == "raised" and _lost_connection(f)]
    causes = [f for f in failures if f not in effects]
    if not causes and restarted:
        return tuple(sorted((replace(f, kind="interrupted") for f in effects), key=lambda f: f.rank))
    if not causes:
        return tuple(sorted(failures, key=lambda f: f.rank))
    aborted = [replace(f, kind="aborted") for f in effects]
    return tuple(sorted((*causes, *aborted), key=lambda f: f.rank))


def _lost_connection(failure: Failure) -> bool:
    return lost_connection(failure.message)


def lost_connection(message: str) -> bool:
    """Whether an error message only reports a closed connection to a peer."""
    text = message.lower()
    return any(part in text for part in CONNECTION_ERRORS)


STOPPED = "the cluster was stopped"
"""Message of ranks that ended because somebody stopped their cluster."""


def failure_parts(
    failures: Sequence[Failure], ranks: Sequence[int], ending: Ending | None = None
) -> tuple[Summary, ...]:
    """Describe a failed cell: the ranks at fault first, then the ranks interrupted because of them.

    Args:
        failures: one per rank that failed.
        ranks: all ranks that ran the cell.
        ending: who has stopped the cluster, if somebody has and it is known.

    Returns:
        One sentence each on ranks that were lost, raised, don't answer, and were interrupted.
    """
    parts = []
    lost = [f for f in failures if f.kind in ("lost", "stopped")]
    raised = [f for f in failures if f.kind == "raised"]
    silent = [f for f in failures if f.type == NO_ANSWER]
    taken = [f for f in failures if f.kind in ("aborted", "interrupted") and f not in silent]
    if own_stop(lost):
        text = f"The cluster was stopped{cluster_endings.stopped_by(ending)}."
        parts.append(_part("stopped", lost, text, **cluster_endings.values(ending)))
    elif lost:
        verb = "was" if len(lost) == 1 else "were"
        how = "; ".join(sorted({f.message for f in lost}))
        parts.append(_part("lost", lost, f"{_who(lost)} {verb} lost: {how}.", how=how))
    if raised:
        kinds = sorted({f"{f.type}: {f.message}" if f.message else f.type for f in raised})
        others = len(kinds) - 1
        more = f" (and {others} {'other' if others == 1 else 'others'})" if others else ""
        error = _one_line(kinds[0])
        text = f"{_who(raised)} failed: {error}{more}."
        parts.append(_part("raised", raised, text, error=error, others=others))
    if broken := [f for f in raised if broke_device(f.message)]:
        restart = f"%distributed restart {rank_names.compact(f.rank for f in broken)}"
        text = f"CUDA fails on {rank_names.name(f.rank for f in broken)} until you replace "
        text += f"{'it' if len(broken) == 1 else 'them'}: {restart}."
        parts.append(_part("device", broken, text, restart=restart))
    if silent:
        verb = "does" if len(silent) == 1 else "do"
        restart = f"%distributed restart {rank_names.compact(f.rank for f in silent)}"
        text = f"{_who(silent)} {verb} not answer the interrupt: wait, or {restart}."
        parts.append(_part("no_answer", silent, text, restart=restart))
    if taken:
        parts.append(_taken(taken))
    return tuple(parts) or (Summary("ended", {}, f"{rank_names.sentence_name(ranks)} ended."),)


def broke_device(message: str) -> bool:
    """Whether every further CUDA call fails in the same process after an error."""
    text = message.lower()
    return "cuda error" in text and any(part in text for part in DEVICE_ERRORS)


def joined(parts: Sequence[Summary]) -> str:
    """Join sentences to a text."""
    return " ".join(part.text for part in parts)


def _part(code: str, failures: Sequence[Failure], text: str, **values: Any) -> Summary:
    return Summary(code, {"ranks": rank_names.compact(f.rank for f in failures), **values}, text)


def own_stop(failures: Sequence[Failure]) -> bool:
    """Whether a cell ended only because somebody stopped its cluster."""
    return bool(failures) and all(f.kind == "stopped" for f in failures)


def own_interrupt(failures: Sequence[Failure]) -> bool:
    """Whether a cell ended by an interrupt alone: no rank raised, was lost or failed to answer."""
    return any(f.kind == "interrupted" for f in failures) and all(
        f.kind in ("interrupted", "aborted") and f.type != NO_ANSWER for f in failures
    )


def _one_line(text: str, most: int = 200) -> str:
    first = text.strip().splitlines()[0].rstrip(".") if text.strip() else ""
    return first if len(first) <= most else f"{first[: most - 1].rsplit(' ', 1)[0]} …"


def _taken(taken: Sequence[Failure]) -> Summary:
    verb = "was" if len(taken) == 1 else "were"
    inside = [f for f in taken if f.operation]
    operations = sorted({f.operation for f in inside if f.operation})
    where = f" in {listed(operations)}" if operations else ""
    partly = bool(inside) and len(inside) < len(taken)
    if partly:
        where = f" ({rank_names.name(f.rank for f in inside)}{where})"
    text = f"{_who(taken)} {verb} interrupted{where}; variables are kept."
    some = rank_names.compact(f.rank for f in inside) if partly else ""
    return _part("interrupted", taken, text, operations=operations, inside=some)


def _who(failures: Sequence[Failure]) -> str:
    return rank_names.sentence_name([f.rank for f in failures])


def render_failure(failures: Sequence[Failure], sentence: str) -> list[str]:
    """Render a failed cell: its sentence, then each distinct traceback once, with its ranks.

    Aborted and interrupted ranks get no traceback: the sentence names the collective they were in.

    Args:
        failures: one per rank that failed.
        sentence: the parts of `failure_parts`, joined.

    Returns:
        Lines of text.
    """
    lines = [sentence]
    groups: dict[tuple[str, str, tuple[Frame, ...], tuple[str, ...]], list[int]] = {}
    for failure in failures:
        if failure.kind == "raised":
            key = (failure.type, failure.message, failure.frames, failure.detail)
            groups.setdefault(key, []).append(failure.rank)
    for (kind, message, frames, detail), members in groups.items():
        lines += ["", f"{rank_names.sentence_name(members)}: {kind}: {message}".rstrip(": ")]
        lines += [*render_frames(frames), *detail]
    return lines


def render_frames(frames: Sequence[Frame]) -> list[str]:
    """Render a traceback with cells by name and consecutive library frames folded into one line."""
    lines: list[str] = []
    folded = 0
    for index, frame in enumerate(frames):
        if is_library(frame) and index < len(frames) - 1:
            folded += 1 + frame.repeated + frame.left
            continue
        if folded:
            lines.append(f"  … {counted(folded, 'library frame')}")
            folded = 0
        place = f"cell {frame.cell}, line {frame.line}" if frame.cell else f"{frame.file}:{frame.line}"
        inside = "" if frame.function in ("<module>", "") else f", in {frame.function}"
        lines.append(f"  {place}{inside}")
        if frame.source:
            number = str(frame.line)
            arrow = "-" * max(1, _MARGIN - len(number) - 2) + "> " + number
            first = frame.line - len(frame.before)
            lines += [f"{first + i:>{_MARGIN}} {text}".rstrip() for i, text in enumerate(frame.before)]
            lines.append(f"{arrow} {frame.source}")
        lines += left_frames.row(frame)
    return lines


PACKAGES = (
    "cells",
    "debugger",
    "jobs",
    "machine",
    "metrics",
    "node",
    "placement",
    "rank",
    "sweeps",
    "text",
    "training",
    "wire",
    "world",
)
OURS = tuple(f"/dtrain_lab/{package}/" for package in PACKAGES)
"""Our own code that runs in a rank; matched by path, since a checkout is not in `site-packages`."""
PYDEVD = ("_pydevd_bundle/", "_pydevd_frame_eval/", "_pydevd_sys_monitoring/", "/debugpy/_vendored/")
"""Folders of the debugger in a rank. Its compiled modules name their files without any other folder."""
_MARGIN = 7
"""Width of the line-number column, including the arrow."""


def is_library(frame: Frame) -> bool:
    """Whether a frame is library code rather than the user's own."""
    return frame.cell is None and (
        "site-packages" in frame.file
        or "/lib/python" in frame.file
        or frame.file.startswith("<")
        or is_ours(frame)
        or is_pydevd(frame.file)
    )


def is_ours(frame: Frame) -> bool:
    """Whether a frame is one of our hooks, between the user's code and the library it calls."""
    return frame.cell is None and any(part in frame.file for part in OURS)


def is_pydevd(file: str) -> bool:
    """Whether a file is part of the debugger in a rank, in which an interrupt may be raised."""
    return any(part in file for part in PYDEVD)


def cells_frame(frames: Sequence[Frame]) -> Frame | None:
    """Return the innermost frame of a cell; None outside of cells."""
    return next((f for f in reversed(frames) if f.cell is not None), None)


def users_frame(frames: Sequence[Frame]) -> Frame | None:
    """Return the innermost frame of the user's own code; None if every frame is library code."""
    return next((f for f in reversed(frames) if not is_library(f)), None)
