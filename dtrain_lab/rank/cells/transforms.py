"""Spares most cells IPython's search for magics, which tokenizes the whole cell."""

from __future__ import annotations

from typing import Any

SIGNS = frozenset("%!?")
"""One of these is in each magic, shell command and request for help."""
FIRST = (",", ";", "/")
"""Signs that are commands at the beginning of a line only."""


def quick_transforms(manager: Any) -> None:
    """Make IPython's manager of input transformers return cells of plain Python as they are.

    Args:
        manager: the shell's; with transformers of others, it goes on to tokenize all cells.
    """
    usual = manager.do_token_transforms
    own = list(manager.token_transformers)

    def transform(lines: list[str]) -> Any:
        if manager.token_transformers == own and not any(map(_may_be_magic, lines)):
            return lines
        return usual(lines)

    manager.do_token_transforms = transform


def _may_be_magic(line: str) -> bool:
    return not SIGNS.isdisjoint(line) or line.lstrip().startswith(FIRST)
