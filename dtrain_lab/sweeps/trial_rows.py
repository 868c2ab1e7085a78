"""Trials as rows of a table: those of the terminal, and those that Python displays."""

from __future__ import annotations

from dtrain_lab.sweeps.view import trial_word
from dtrain_lab.text.units import duration
from dtrain_lab.wire.sweeps import Sweep, Trial

Row = tuple[str, str, str, str, str, str, str, str]
NONE = "–"


def header(objective: str) -> Row:
    """Return the headings of the columns.

    Args:
        objective: Name of the objective.
    """
    return "trial", "state", "parameters", objective, "step", "time", "job", ""


def row(trial: Trial) -> Row:
    """Return the cells of a trial; the last one says why it is in its state."""
    return (
        str(trial.number),
        trial_word(trial),
        parameters(trial),
        NONE if trial.value is None else f"{trial.value:.6g}",
        NONE if trial.step is None else str(trial.step),
        NONE if trial.ran_s is None else duration(trial.ran_s),
        trial.job or NONE,
        trial.reason.text if trial.reason is not None else "",
    )


def parameters(trial: Trial) -> str:
    """Return a trial's parameters in a line, as "lr 0.003, width 64"."""
    shown = {n: f"{v:.4g}" if isinstance(v, float) else str(v) for n, v in trial.parameters.items()}
    return ", ".join(f"{name} {value}" for name, value in shown.items())


def best_first(sweep: Sweep) -> list[Trial]:
    """Return the trials of a sweep: those that are done first, the best of them first."""
    sign = 1 if sweep.direction == "minimize" else -1
    return sorted(
        sweep.trials,
        key=lambda t: (t.state != "succeeded", t.value is None, sign * (t.value or 0.0), t.number),
    )
