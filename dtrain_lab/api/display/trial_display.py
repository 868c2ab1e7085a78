"""How trials are displayed in a notebook, and in IPython's terminal: as a table instead of nested dicts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import msgspec

from dtrain_lab.sweeps.trial_rows import Row, best_first, header, row
from dtrain_lab.wire.codec.encode import as_json
from dtrain_lab.wire.sweeps import Sweep, Trial

TRIAL_FIELDS = (
    "number", "state", "reason", "parameters", "value", "step", "curve", "job", "jobs",
    "started_at", "ended_at", "ran_s", "resumes", "resumed_step", "checkpoint_step",
)  # fmt: skip
"""Fields of a trial in Python, which `Sweep.trials` documents."""
MOST_ROWS = 50
"""Rows of a table; the list itself has all trials."""


class TrialFields(dict[str, Any]):
    """A trial as a dict, which is displayed as a table.

    What pictures on the page need is left out; it is in `Sweep.info()`. A dict that no longer has the fields
    of a trial is displayed as a dict.

    Args:
        trial: The trial.
        objective: Name of the objective.
    """

    def __init__(self, trial: Trial, objective: str) -> None:
        fields = as_json(trial)
        super().__init__((field, fields[field]) for field in TRIAL_FIELDS)
        self._objective = objective

    def _repr_html_(self) -> str | None:
        rows = _as_trials([self])
        return None if rows is None else html_table(self._objective, rows)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        rows = _as_trials([self])
        printer.text(repr(self) if rows is None else text_table(self._objective, rows))


class TrialList(list[dict[str, Any]]):
    """Trials as a list of dicts, which is displayed as a table.

    The table has what the list contains now: users sort lists, and remove trials from them. A list that
    contains something else, too, is displayed as a list.

    Args:
        fields: The dicts.
        sweep: Their sweep.
    """

    def __init__(self, fields: Iterable[dict[str, Any]], sweep: Sweep) -> None:
        super().__init__(fields)
        self._objective, self._best = sweep.objective, sweep.best

    def _repr_html_(self) -> str | None:
        rows = _as_trials(self)
        return None if rows is None else html_table(self._objective, rows, self._best)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        rows = _as_trials(self)
        printer.text(repr(self) if rows is None else text_table(self._objective, rows))


def _as_trials(fields: Iterable[Any]) -> list[Trial] | None:
    """Return the trials that dicts describe; None if one was changed, and describes no trial."""
    try:
        return [msgspec.convert(each, Trial) for each in fields]
    except msgspec.ValidationError:
        return None


def html_sweep(sweep: Sweep) -> str:
    """Return a sweep as HTML: its name and state, and its trials, the best first.

    Args:
        sweep: The sweep.
    """
    lead = f"<p><b>{escape(sweep.name)}</b>: {escape(sweep.summary.text)}</p>"
    return lead + (html_table(sweep.objective, best_first(sweep), sweep.best) if sweep.trials else "")


def html_table(objective: str, trials: Sequence[Trial], best: Trial | None = None) -> str:
    """Return trials as a table in HTML.

    Args:
        objective: Name of the objective.
        trials: The trials, in the order of the rows.
        best: The one whose row is emphasized.
    """

    def line(cells: Row, start: str, end: str) -> str:
        return f"<tr>{''.join(f'{start}{escape(cell)}{end}' for cell in cells)}</tr>"

    leader = None if best is None else best.number
    rows = [
        line(row(trial), *(("<td><b>", "</b></td>") if trial.number == leader else ("<td>", "</td>")))
        for trial in trials[:MOST_ROWS]
    ]
    more = f"<p>{left}</p>" if (left := _left(trials)) else ""
    head = line(header(objective), "<th>", "</th>")
    return f"<table><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>{more}"


def text_table(objective: str, trials: Sequence[Trial]) -> str:
    """Return trials as a table in plain text.

    Args:
        objective: Name of the objective.
        trials: The trials, in the order of the rows.
    """
    rows = [header(objective), *(row(trial) for trial in trials[:MOST_ROWS])]
    widths = [max(len(cells[column]) for cells in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(c.ljust(w) for c, w in zip(cells, widths, strict=True)).rstrip() for cells in rows]
    return "\n".join([*lines, *filter(None, [_left(trials)])])


def _left(trials: Sequence[Trial]) -> str:
    left = len(trials) - MOST_ROWS
    return f"… and {left} more; trials() has all of them." if left > 0 else ""
