"""Chooses the next parameters, and the trials to stop early, with Optuna.

Optuna keeps no state: a study is built from the sweep's record each time, so no restart can lose it.
"""

from __future__ import annotations

import inspect
import itertools
import math
import warnings
from typing import Any

from dtrain_lab.errors import EnvironmentUnfit
from dtrain_lab.sweeps.rungs import FACTOR
from dtrain_lab.sweeps.space import Choices, LogUniform, RandInt, Space, parse, points, values_of
from dtrain_lab.wire.sweeps import SweepRecord, SweepRequest, TrialRecord

ATTEMPTS = 8
"""Number of attempts to get a new point of a finite space from the sampler."""


def load() -> Any:
    """Import Optuna.

    Raises:
        EnvironmentUnfit: It is not installed.
    """
    try:
        import optuna
    except ImportError as error:
        raise EnvironmentUnfit(
            "Optuna, which chooses the trials of a sweep, is not installed.",
            'Install it: pip install "dtrain-lab[sweep]". A grid without early stopping does not need it.',
            code="no_optuna",
        ) from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def needed(request: SweepRequest) -> bool:
    """Whether a sweep needs Optuna."""
    return request.sampler != "grid" or request.pruner is not None


def suggest(record: SweepRecord) -> dict[str, Any] | None:
    """Return the parameters of the next trial; None if all points of the space were tried.

    The same record gives the same answer.
    """
    space = parse(record.request.space)
    tried = [trial.parameters for trial in record.trials]
    count = points(space)
    if record.request.sampler == "grid":
        return _untried(space, tried)
    attempts = 1 if count is None else ATTEMPTS
    for attempt in range(attempts):
        values = _ask(record, space, record.seed + len(tried) * ATTEMPTS + attempt)
        if values not in tried:
            return values
    return values if count is None else _untried(space, tried)


def falls_behind(record: SweepRecord, number: int) -> bool:
    """Whether a trial that has reached a rung has to be stopped there, because it is not among the best.

    Args:
        record: The sweep.
        number: Number of the trial.
    """
    optuna = load()
    trial = record.trials[number]
    if record.first_rung is None or not trial.rungs:
        return False
    with _quietly():
        study = optuna.create_study(
            direction=record.request.direction,
            sampler=optuna.samplers.RandomSampler(seed=0),
            pruner=optuna.pruners.SuccessiveHalvingPruner(
                min_resource=record.first_rung, reduction_factor=FACTOR
            ),
        )
        for other in record.trials:
            if other.number != number:
                _replay(study, other)
        return _replay(study, trial)


def shares(record: SweepRecord, names: list[str], best: float) -> dict[str, float]:
    """Return how much each parameter decides whether a trial is among the best; safe in a thread.

    Args:
        record: The sweep; at least two of its trials are done.
        names: The parameters.
        best: How many trials are the best, a share of those done.

    Raises:
        EnvironmentUnfit: Optuna is not installed.
    """
    optuna = load()
    space = parse(record.request.space)
    distributions = {name: _distribution(optuna, domain) for name, domain in space.items()}
    done = [trial for trial in record.trials if trial.state == "succeeded"]
    study = optuna.create_study(direction=record.request.direction)
    study.add_trials([t for trial in done if (t := _frozen(optuna, trial, distributions))])
    # Made without the wrapper that warns of experimental features: servers call this in a thread, and a
    # warnings filter would apply to all threads.
    kind = optuna.importance.PedAnovaImportanceEvaluator
    evaluator = kind.__new__(kind)
    inspect.unwrap(kind.__init__)(evaluator, target_quantile=best)
    by_name: dict[str, float] = evaluator.evaluate(study, params=names)
    return by_name


def _replay(study: Any, trial: TrialRecord) -> bool:
    replayed = study.ask()
    behind = False
    for report in trial.rungs:
        if trial.rungs[-1] is not report and report.value is None:
            continue
        replayed.report(math.nan if report.value is None else report.value, report.step)
        behind = bool(replayed.should_prune())
    return behind


def _ask(record: SweepRecord, space: Space, seed: int) -> dict[str, Any]:
    optuna = load()
    distributions = {name: _distribution(optuna, domain) for name, domain in space.items()}
    with _quietly():
        if record.request.sampler == "random":
            sampler = optuna.samplers.RandomSampler(seed=seed)
        else:
            # running trials count as bad ones; otherwise concurrent trials would be alike
            sampler = optuna.samplers.TPESampler(seed=seed, constant_liar=True)
        study = optuna.create_study(direction=record.request.direction, sampler=sampler)
        study.add_trials([t for trial in record.trials if (t := _frozen(optuna, trial, distributions))])
        values: dict[str, Any] = study.ask(distributions).params
    return values


def _frozen(optuna: Any, trial: TrialRecord, distributions: dict[str, Any]) -> Any:
    states = optuna.trial.TrialState
    kept: dict[str, Any] = {"params": trial.parameters, "distributions": distributions}
    if trial.state == "succeeded" and trial.value is not None:
        return optuna.trial.create_trial(state=states.COMPLETE, value=trial.value, **kept)
    if trial.state == "pruned" and trial.value is not None:
        reported = {trial.step or 0: trial.value}
        return optuna.trial.create_trial(
            state=states.PRUNED, value=trial.value, intermediate_values=reported, **kept
        )
    if trial.state in ("waiting", "running", "resumed"):
        return optuna.trial.create_trial(state=states.RUNNING, **kept)
    return None


def _distribution(optuna: Any, domain: Any) -> Any:
    kinds = optuna.distributions
    if isinstance(domain, Choices):
        return kinds.CategoricalDistribution(domain.values)
    if isinstance(domain, RandInt):
        return kinds.IntDistribution(domain.low, domain.high)
    return kinds.FloatDistribution(domain.low, domain.high, log=isinstance(domain, LogUniform))


def _untried(space: Space, tried: list[dict[str, Any]]) -> dict[str, Any] | None:
    lists = [values_of(domain) or () for domain in space.values()]
    grid = (dict(zip(space, values, strict=True)) for values in itertools.product(*lists))
    return next((point for point in grid if point not in tried), None)


def _quietly() -> warnings.catch_warnings:
    """Hide Optuna's warnings about experimental features; only for processes that are wholly ours."""
    return warnings.catch_warnings(action="ignore")
