"""Suggestions for a name that does not exist, with the same wording in cells, terminal and files. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

NEAR = 0.6
"""Similarity from which a known name is suggested, 0 to 1; difflib's own."""
NEAR_KEY = 0.5
"""The same for one of a few keys or values, where a worse guess still helps."""


def nearest(word: str, candidates: Iterable[str], similarity: float = NEAR) -> str | None:
    """Return the only known name that begins with a word, or else the most similar one; None without either.

    Args:
        word: What was written.
        candidates: The names that exist.
        similarity: How similar a name has to be, 0 to 1.
    """
    names = list(candidates)
    begun = [name for name in names if name.startswith(word)]
    if len(begun) == 1:
        return begun[0]
    return next(iter(difflib.get_close_matches(word, names, 1, similarity)), None)


def did_you_mean(word: str, candidates: Iterable[str], similarity: float = NEAR) -> str:
    """Return "Did you mean NAME?"; empty if no known name is similar.

    Args:
        word, candidates, similarity: As of `nearest`.
    """
    near = nearest(word, candidates, similarity)
    return f"Did you mean {near}?" if near is not None else ""


def refusal(prog: str, kind: str, word: str, candidates: Iterable[str]) -> str:
    """Return the error about a command or option that does not exist, with what was probably meant.

    Args:
        prog: The magic or command, such as "%distributed start".
        kind: "command" or "option".
        word: What was written.
        candidates: The commands or options that exist.
    """
    return f'{prog} has no {kind} "{word}". {did_you_mean(word, candidates)}'.rstrip()
