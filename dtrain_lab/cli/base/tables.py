"""Tables that fit the terminal's width; if another program reads them, nothing is cut off."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Collection, Sequence

from rich.cells import cell_len

from dtrain_lab.cli.base.show import console

BETWEEN = "  "
BELOW = "    "
"""Indentation of columns that are printed below their row."""
NARROWEST = 30
NO_BREAK = "\0"
"""Placeholder of a space at which a line must not be wrapped."""


def print_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], *, right: Collection[str] = ()
) -> None:
    """Print a table as wide as the terminal at most; if another program reads it, a row is one line.

    Args:
        columns: Names of the columns; empty for a column of sentences.
        rows: Texts of each row, one for each column.
        right: Columns that are aligned to the right.
    """
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    head, *lines = table_lines(columns, rows, width, right=right)
    console.print(head, style="bold")
    for line in lines:
        console.print(line)


def table_lines(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    width: int | None,
    *,
    right: Collection[str] = (),
) -> list[str]:
    """Return the lines of a table; no text is truncated.

    Columns that don't fit are below their row, each with its name; long sentences are wrapped there.

    Args:
        columns: Names of the columns; empty for a column of sentences.
        rows: Texts of each row, one for each column.
        width: Width of the terminal; None for no limit.
        right: Columns that are aligned to the right.
    """
    rows = [[" ".join(text.split()) for text in row] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(columns, *rows, strict=True)]
    beside = len(columns) if width is None else _fitting(widths, width)

    def line(texts: Sequence[str]) -> str:
        padded = (
            f"{' ' * (wide - cell_len(text))}{text}"
            if name in right
            else f"{text}{' ' * (wide - cell_len(text))}"
            for name, text, wide in zip(columns[:beside], texts, widths, strict=False)
        )
        return BETWEEN.join(padded).rstrip()

    lines = [line(columns)]
    for row in rows:
        lines.append(line(row))
        below = [(n, t) for n, t in zip(columns[beside:], row[beside:], strict=True) if t]
        # a name and its value stay together; sentences are wrapped
        named = [f"{n} {t}".replace(" ", NO_BREAK) if n else t for n, t in below]
        wrapped = textwrap.wrap(
            " · ".join(named),
            max(width or 0, NARROWEST),
            initial_indent=BELOW,
            subsequent_indent=BELOW,
            break_long_words=False,
            break_on_hyphens=False,
        )
        lines += [text.replace(NO_BREAK, " ") for text in wrapped]
    return lines


def _fitting(widths: Sequence[int], width: int) -> int:
    """Return how many of the first columns fit beside one another; the first one always counts."""
    used = -len(BETWEEN)
    for number, wide in enumerate(widths):
        used += len(BETWEEN) + wide
        if used > width and number > 0:
            return number
    return len(widths)
