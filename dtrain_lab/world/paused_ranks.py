"""The sentence about ranks that the debugger has paused, with the error that has stopped them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from dtrain_lab.text import rank_names
from dtrain_lab.text.lists import listed


class StopError(NamedTuple):
    """An error at which paused ranks have stopped, as one line, and the ranks that raised it."""

    text: str
    ranks: tuple[int, ...]


def stop_error(paused: Mapping[int, str]) -> StopError | None:
    """Return the error to name: of several different ones, that of the lowest rank; None without any.

    Args:
        paused: rank that the debugger has paused → the error that it has stopped at, if any.
    """
    text = next((paused[rank] for rank in sorted(paused) if paused[rank]), "")
    return StopError(text, tuple(r for r in sorted(paused) if paused[r] == text)) if text else None


def paused_sentence(paused: Mapping[int, str], waiting: Mapping[int, str], at: str = "") -> str:
    """Describe which ranks are paused, where, at which error, and which ranks wait for them.

    Args:
        paused: rank that the debugger has paused → the error that it has stopped at, if any.
        waiting: other ranks that wait in a collective → name of the collective.
        at: name of the line that all of the paused ranks have stopped at; empty without one.
    """
    text = f"Paused on {rank_names.count(len(paused))}"
    if at:
        text += f" at {at}"
    error = stop_error(paused)
    if error is None:
        text += "."
    elif len(error.ranks) == len(paused):
        text += f": {_closed(error.text)}"
    else:
        text += f". {rank_names.sentence_name(error.ranks)} raised {_closed(error.text)}"
    if waiting:
        operations = listed(sorted(set(waiting.values())))
        verb = "waits" if len(waiting) == 1 else "wait"
        text += f" {rank_names.sentence_name(sorted(waiting))} {verb} in {operations}."
    return text


def _closed(text: str) -> str:
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."
