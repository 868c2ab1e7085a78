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
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s" if whole % 60 else f"{whole // 60} min"
    minutes = whole % 3600 // 60
    return f"{whole // 3600} h {minutes} min" if minutes else f"{whole // 3600} h"


def whole_duration(seconds: float) -> str:
    """Format seconds as `duration`, without decimals, which would change at each look."""
    return f"{int(seconds)} s" if seconds < 10 else duration(seconds)


def share_text(share: float, error: float) -> str:
    """A share with its error, as the page writes it: "44 % ± 6", and "at most 30 %" for 10 ± 20.

    Args:
        share: 0 to 1.
        error: its error; a small one is not rounded to 0. If it leads below 0 or above 100 %, which no share
            is, only the other end is named.
    """
    if bound := _bound_of(share, error):
        return f"{'at most' if bound[0] == '≤' else 'at least'} {bound[1]} %"
    return f"{round(share * 100)} % ± {max(1, round(error * 100))}"


def _bound_of(share: float, error: float) -> tuple[str, int] | None:
    """The known end of a share whose error leads below 0 or above 100 %: "≤" or "≥", and percent."""
    percent, off = round(share * 100), max(1, round(error * 100))
    if percent < off:
        return "≤", min(100, percent + off)
    return ("≥", percent - off) if percent + off > 100 else None


def known_share(share: float, error: float) -> str:
    """A share with its error, as of `share_text`; "44 %" without one.

    Args:
        share: 0 to 1.
        error: its error; 0 if there is none.
    """
    return share_text(share, error) if error else least_share(share, "")


def share_in_range(share: float, error: float, of: str) -> str:
    """A share with its error beside times that give the same share: "44 % ± 6 of a step".

    Where the error leads below 0 or above 100 %, both ends are named: "88 % of a step (63 to 100 %)". A bound
    alone, as of `share_text`, would contradict those times.

    Args:
        share: 0 to 1.
        error: its error.
        of: what it is a share of.
    """
    percent, off = round(share * 100), max(1, round(error * 100))
    if off <= percent <= 100 - off:
        return f"{percent} % ± {off} of {of}"
    return f"{percent} % of {of} ({max(0, percent - off)} to {min(100, percent + off)} %)"


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
    """A share as text for a table, as the panel's: "4 %", "≥ 4 %", "≤ 13 %", "–", "too unsteady to tell".

    Args:
        share: 0 to 1; None if unknown.
        bound: "lower" if it is a lower bound.
        error: its error, which is written only where it leads below 0 or above 100 %; None if unknown.
    """
    if share is None:
        return "–"
    if error is not None and error >= VAGUE_SHARE:
        return UNSTEADY
    if error and not bound and (known := _bound_of(share, error)):
        return f"{known[0]} {known[1]} %"
    return f"{'≥ ' if bound else ''}{share * 100:.0f} %"
