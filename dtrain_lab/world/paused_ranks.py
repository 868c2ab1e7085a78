"""The sentence about ranks that the debugger has paused, with the error that has stopped them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from dtrain_lab.cells.errors import lost_connection
from dtrain_lab.text import rank_names
from dtrain_lab.text.lists import listed


class StopError(NamedTuple):
    """An error at which paused ranks have stopped, as one line, and the ranks that raised it."""

    text: str
    ranks: tuple[int, ...]


def stop_error(paused: Mapping[int, str]) -> StopError | None:
    """Return the error to name: of several different ones, that of the lowest rank; None without any.

    An error that only follows from another rank's is not named, unless no rank has one that it follows from.

    Args:
        paused: rank that the debugger has paused → the error that it has stopped at, if any.
    """
    errors = [paused[rank] for rank in sorted(paused) if paused[rank] and not _is_interrupt(paused[rank])]
    text = next((error for error in errors if not lost_connection(error)), errors[0] if errors else "")
    return StopError(text, tuple(r for r in sorted(paused) if paused[r] == text)) if text else None


def interrupted_ranks(paused: Mapping[int, str]) -> tuple[int, ...]:
    """Return the ranks that stand where they were interrupted, by the user or by another rank's error.

    Args:
        paused: rank that the debugger has paused → the error that it has stopped at, if any.
    """
    error = stop_error(paused)
    follows = error is not None and not lost_connection(error.text)
    return tuple(
        r for r, text in sorted(paused.items()) if _is_interrupt(text) or (follows and lost_connection(text))
    )


def paused_sentence(
    paused: Mapping[int, str],
    waiting: Mapping[int, str],
    at: str = "",
    inside: Mapping[int, str] | None = None,
) -> str:
    """Describe which ranks are paused, where, at which error, and which ranks wait for them.

    Args:
        paused: rank that the debugger has paused → the error that it has stopped at, if any.
        waiting: other ranks that wait in a collective → name of the collective.
        at: name of the line that all of the paused ranks have stopped at; empty without one.
        inside: rank → name of the collective that it was interrupted in, if that is known.
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
    if interrupted := interrupted_ranks(paused):
        names = interrupted_in(interrupted, inside or {})
        where = f" in {listed(names)}" if names else ""
        verb = "was" if len(interrupted) == 1 else "were"
        text += f" {rank_names.sentence_name(interrupted)} {verb} interrupted{where}."
    if waiting:
        operations = listed(sorted(set(waiting.values())))
        verb = "waits" if len(waiting) == 1 else "wait"
        text += f" {rank_names.sentence_name(sorted(waiting))} {verb} in {operations}."
    return text


def interrupted_in(ranks: Sequence[int], inside: Mapping[int, str]) -> tuple[str, ...]:
    """Return the names of the collectives that ranks were interrupted in; empty unless all were in one.

    Args:
        ranks: the ranks.
        inside: rank → name of the collective that it was interrupted in, if that is known.
    """
    return tuple(sorted({inside[r] for r in ranks})) if all(r in inside for r in ranks) else ()


def _is_interrupt(error: str) -> bool:
    return error.partition(":")[0] == KeyboardInterrupt.__name__


def _closed(text: str) -> str:
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."
