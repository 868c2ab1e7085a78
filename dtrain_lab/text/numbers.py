"""Numbers as texts: with few digits, and with more where two would look the same."""

from __future__ import annotations

from collections.abc import Iterable

DIGITS = 6
"""Significant digits of a number in a text."""
MOST_DIGITS = 16
"""The same where fewer don't tell two numbers apart."""


def number(text: str) -> float | None:
    """Return the number that a text is; None if it is none."""
    try:
        return float(text)
    except ValueError:
        return None


def readable(text: str) -> str:
    """Return the text of a number with readable digits; other texts as they are."""
    value = number(text)
    if value is None or float(short := f"{value:.{DIGITS}g}") == value:
        return text
    return short


def told_apart(short: Iterable[str], exact: Iterable[str]) -> list[str]:
    """Return texts of values, with more digits where two would look the same.

    Args:
        short: The text of each value.
        exact: The same in full.
    """
    short, exact = list(short), list(exact)
    if len(set(short)) == len(short):
        return short
    numbers = [value for text in exact if (value := number(text)) is not None]
    for digits in range(DIGITS + 1, MOST_DIGITS + 1) if len(numbers) == len(exact) else ():
        longer = [f"{value:.{digits}g}" for value in numbers]
        if len(set(longer)) == len(longer):
            return longer
    return [full if short.count(text) > 1 else text for text, full in zip(short, exact, strict=True)]
