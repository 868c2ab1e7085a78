"""Times and memory sizes, as profiles and requests write them. Pure."""

from __future__ import annotations

import re

from dtrain_lab.errors import BadProfile


def time_s(text: str) -> int | None:
    """Parse a time: "5" (minutes), "5:30", "02:00:00", "1-00", "1-12:00:00".

    Returns:
        Seconds; None for "infinite".

    Raises:
        BadProfile: not a time.
    """
    if text.lower() in ("infinite", "unlimited", "n/a"):
        return None
    match = re.fullmatch(r"(?:(\d{1,9})-)?(\d{1,9})(?::(\d{1,9}))?(?::(\d{1,9}))?", text, re.ASCII)
    if match is None:
        raise BadProfile(
            f'"{text[:80]}" is not a time.',
            'Write it as "02:00:00" or "1-00:00:00".',
            details={"field": "time"},
        )
    days, first, second, third = (int(g) if g else None for g in match.groups())
    if days is not None:  # days-hours[:minutes[:seconds]]
        return days * 86400 + (first or 0) * 3600 + (second or 0) * 60 + (third or 0)
    if third is not None:
        return (first or 0) * 3600 + (second or 0) * 60 + third
    return (first or 0) * 60 + (second or 0)


def time_text(seconds: int) -> str:
    """Format seconds in the same way: "1-00:00:00", "02:00:00"."""
    days, rest = divmod(seconds, 86_400)
    clock = f"{rest // 3600:02d}:{rest // 60 % 60:02d}:{rest % 60:02d}"
    return f"{days}-{clock}" if days else clock


def mib(text: str | None) -> int | None:
    """Parse a memory size such as "64G", in MiB.

    Raises:
        BadProfile: not a size.
    """
    if text is None:
        return None
    match = re.fullmatch(r"(\d+)([KMGT]?)B?", text.strip(), re.IGNORECASE)
    if match is None:
        raise BadProfile(f'memory_per_node: "{text}" is not a size.', 'Write it as "64G".')
    scale = {"K": 1 / 1024, "": 1, "M": 1, "G": 1024, "T": 1024 * 1024}
    return int(int(match[1]) * scale[match[2].upper()])
