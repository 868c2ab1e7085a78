"""Amounts as a person reads them."""

from __future__ import annotations


def size_text(size: int) -> str:
    """Bytes: "3.1 MB"."""
    value = float(size)
    for unit in ("bytes", "kB", "MB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "bytes" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.2f} GB"
