"""Formats sizes and durations for people."""

from __future__ import annotations

from dtrain_lab.wire.metrics.thresholds import VAGUE_SHARE

UNSTEADY = "too unsteady to tell"


def counted(number: int, one: str, many: str = "") -> str:
    """Format a number of things, as "1 batch" or "1,200 batches".

    Args:
        number: the number.
        one: singular noun.
        many: plural noun; empty for an added "s".
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def size_text(size: int) -> str:
    """Format a number of bytes, as "3.1 MB"."""
    if abs(size) < 1000:
        return counted(size, "byte")
    value = size / 1e3
    for unit in ("kB", "MB"):
        if value < 999.95:
            return f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.2f} GB"


def duration(seconds: float) -> str:
    """Format seconds, as "3.8 s", "41 s", "6 min 12 s" or "2 h 14 min"; parts that are 0 are left out."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s" if whole % 60 else f"{whole // 60} min"
    minutes = whole % 3600 // 60
    return f"{whole // 3600} h {minutes} min" if minutes else f"{whole // 3600} h"


def share_text(share: float, error: float) -> str:
    """A share with its error, as the page writes it: "44 % ± 6", and "at most 30 %" for 10 ± 20.

    Args:
        share: 0 to 1.
        error: its error; a small one is not rounded to 0. If it leads below 0 or above 100 %, which no share
            is, only the other end is named.
    """
    percent, off = round(share * 100), max(1, round(error * 100))
    if percent < off:
        return f"at most {min(100, percent + off)} %"
    return f"at least {percent - off} %" if percent + off > 100 else f"{percent} % ± {off}"


def precise_share(share: float, error: float) -> str:
    """A share as precisely as it is known: `share_text`, "too unsteady to tell", or "44 %" without an error.

    Args:
        share: 0 to 1.
        error: its error; 0 if there is none.
    """
    if error >= VAGUE_SHARE:
        return UNSTEADY
    return share_text(share, error) if error else least_share(share, "")


def least_share(share: float | None, bound: str, error: float | None = None) -> str:
    """A share as text for a table: "4 %", "≥ 4 %" for a lower bound, "–" if unknown, "too unsteady to tell".

    Args:
        share: 0 to 1; None if unknown.
        bound: "lower" if it is a lower bound.
        error: its error, which is not written; None if unknown.
    """
    if share is None:
        return "–"
    if error is not None and error >= VAGUE_SHARE:
        return UNSTEADY
    return f"{'≥ ' if bound else ''}{share * 100:.0f} %"
