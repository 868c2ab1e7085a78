"""Importance of each parameter for a sweep's objective, by Optuna's PED-ANOVA.

Optuna's usual evaluator needs scikit-learn; this one needs Optuna alone.
"""

from __future__ import annotations

from dtrain_lab.errors import EnvironmentUnfit
from dtrain_lab.sweeps import study
from dtrain_lab.sweeps.space import parse, points
from dtrain_lab.wire.summary import Summary
from dtrain_lab.wire.sweeps import Importance, SweepRecord

LEAST_TRIALS = 10
"""Minimum number of trials that are done: among fewer, chance decides which parameter looks important."""
BEST_SHARE, LEAST_BEST = 0.1, 5
"""The best tenth of the trials is compared with all, and at least `LEAST_BEST`, as Optuna advises."""


def importance(record: SweepRecord) -> Importance:
    """Return the importance of a sweep's parameters, or why it is unknown.

    Returns:
        Shares that add up to 1, the largest first; the same for the same record.
    """
    space = parse(record.request.space)
    varied = [name for name in space if points({name: space[name]}) != 1]
    done = [trial for trial in record.trials if trial.state == "succeeded" and trial.value is not None]
    if not varied:
        return _not_computed("no_parameter", "No parameter varies.")
    if len(varied) == 1:
        return _not_computed("one_parameter", "Only one parameter varies, so there is nothing to compare.")
    if len(done) < LEAST_TRIALS:
        values = {"done": len(done), "least": LEAST_TRIALS}
        are = "is" if len(done) == 1 else "are"
        ended = record.ended_at is not None
        now = f"the sweep has ended with {len(done)}" if ended else f"{len(done)} {are} done"
        text = f"Importance needs {LEAST_TRIALS} trials that are done; {now}."
        return _not_computed("few_trials", text, values)
    if len({trial.value for trial in done}) == 1:
        return _not_computed("all_alike", "All trials have the same objective, so no parameter matters.")
    try:
        shares = study.shares(record, varied, max(BEST_SHARE, LEAST_BEST / len(done)))
    except EnvironmentUnfit as error:
        return _not_computed(error.code, f"{error.message} {error.hint}")
    except Exception as error:  # noqa: BLE001 # Optuna calls this interface experimental; a sweep does without
        return _not_computed("optuna_failed", f"Optuna could not compute the importance: {error!r}.")
    total = sum(shares.values())
    if not total:
        return _not_computed(
            "best_alike",
            "The best trials have the same parameters as the others, so no parameter stands out.",
        )
    return Importance({name: share / total for name, share in sorted(shares.items(), key=lambda i: -i[1])})


def sentence(importance: Importance) -> str:
    """Return an importance in one line, such as "lr 82 %, width 15 %", or why it is unknown."""
    if importance.missing is not None:
        return importance.missing.text
    return ", ".join(f"{name} {share:.0%}".replace("%", " %") for name, share in importance.shares.items())


def _not_computed(code: str, text: str, values: dict[str, int] | None = None) -> Importance:
    return Importance({}, Summary(code, dict(values or {}), text))
