"""The check of a sweep: reports everything that would fail later, without running anything."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from dtrain_lab.errors import BadRequest, Conflict, DtrainError, EnvironmentUnfit
from dtrain_lab.jobs.notebook.source import read as cells_of
from dtrain_lab.services import names
from dtrain_lab.services.index import sweep_names
from dtrain_lab.services.jobs.jobs import Jobs
from dtrain_lab.services.plans.notebook_files import read_notebook
from dtrain_lab.services.sweeps.trial import trial_request
from dtrain_lab.sweeps import objective, study
from dtrain_lab.sweeps.notebook_parameters import check_names, check_values
from dtrain_lab.sweeps.space import Space, first_of, parse, points
from dtrain_lab.wire.jobs.finding import Finding, problems
from dtrain_lab.wire.jobs.job import JobSize
from dtrain_lab.wire.plan import Facts, HostsFacts, NodeFacts
from dtrain_lab.wire.sweeps import SweepPlan, SweepRequest

USUAL_TRIALS = 16
MOST_TRIALS = 10_000
OF_SCHEDULER = 4
"""Number of concurrent trials if a scheduler allocates the slots and the user names no number."""
LONGEST_NAME = 50
OF_SWEEP = (BadRequest, Conflict, EnvironmentUnfit)
"""Refusals that a check collects, to report all of them together."""


class CheckedSweep(NamedTuple):
    """Result of the check. `text`: content of the notebook's file."""

    plan: SweepPlan
    space: Space
    name: str
    text: str


async def check_sweep(
    jobs: Jobs, request: SweepRequest, file: Path, *, strict: bool, ask: bool = False
) -> CheckedSweep:
    """Check a sweep; nothing is written and nothing is submitted.

    Args:
        jobs: Jobs of this user.
        request: The user's request.
        file: Path of the notebook.
        strict: Raise the first refusal, instead of collecting all of them.
        ask: Also ask the scheduler for a forecast of a trial.

    Raises:
        DtrainError: A trial can't be planned; with `strict`, the sweep can't begin.
    """
    refused: list[DtrainError] = []

    async def collect(call: Callable[..., Any], *arguments: Any, otherwise: Any = None) -> Any:
        try:
            return await asyncio.to_thread(call, *arguments)
        except OF_SWEEP as error:
            if strict:
                raise
            refused.append(error)
            return otherwise

    space: Space = await collect(parse, request.space, otherwise={})
    await collect(_fields, request, space)
    total = await collect(_total, request, space, otherwise=USUAL_TRIALS)
    if study.needed(request):
        await collect(study.load)
    text = await asyncio.to_thread(read_notebook, file)
    cells = cells_of(text, str(file))
    await collect(check_names, cells, tuple(space), file.name)
    strings = await collect(check_values, cells, space, request.parameters, otherwise=[])
    name = await collect(_name, request, file, otherwise="")
    plan, planned = await jobs.planned(trial_request(request, first_of(space), None), file, ask=ask)
    finding = await asyncio.to_thread(objective.finding, planned.code.everything, request.objective)
    usual = _at_once(planned.facts, plan.size or JobSize(1, 1))
    # parameter values of all trials were checked above
    of_trial = [f for f in plan.findings if f.field != "parameters"]
    findings = (
        *(f for f in of_trial if f.severity == "problem"),
        *map(_finding, refused),
        *((finding,) if finding is not None and objective.can_be(request.objective) else ()),
        *strings,
        *(f for f in of_trial if f.severity != "problem"),
    )
    wanted = request.parallel if request.parallel and request.parallel > 0 else usual
    parallel = None if problems(findings) else min(total, wanted)
    shown = {**msgspec.structs.asdict(plan), "findings": findings}
    return CheckedSweep(SweepPlan(**shown, total=total, parallel=parallel), space, name, text)


def _finding(error: DtrainError) -> Finding:
    field, parameter = error.details.get("field"), error.details.get("parameter")
    return Finding("problem", error.code, error.message, error.hint, field=field, parameter=parameter)


def _fields(request: SweepRequest, space: Space) -> None:
    both = sorted(space.keys() & request.parameters.keys())
    if both:
        details = {"field": "space", "parameter": both[0]}
        raise BadRequest(f"{both[0]} is both fixed and varied.", "Remove one of the two.", details=details)
    if not objective.can_be(request.objective):
        raise BadRequest(
            f'The objective "{request.objective}" is not a name that dt.log takes.',
            "Name a value that the notebook logs, as in dt.log(step, loss=loss).",
            details={"field": "objective"},
        )
    for field, least, most in (("trials", 1, MOST_TRIALS), ("parallel", 1, MOST_TRIALS)):
        given = getattr(request, field)
        if given is not None and not least <= given <= most:
            message = f"{field} is {given}; it must be {least} to {most}."
            raise BadRequest(message, "Choose another number.", details={"field": field})


def _total(request: SweepRequest, space: Space) -> int:
    count = points(space)
    if request.sampler == "grid" and count is None:
        endless = next(name for name, domain in space.items() if points({name: domain}) is None)
        raise BadRequest(
            f"A grid needs a list of values for {endless}; {space[endless]} has infinitely many.",
            "Give a list, or use the sampler tpe or random.",
            code="no_grid",
            details={"field": "space", "parameter": endless},
        )
    usual = count if request.sampler == "grid" and count is not None else USUAL_TRIALS
    given = request.trials or 0  # other values are refused, and the check continues
    wanted = given if 1 <= given <= MOST_TRIALS else min(usual, MOST_TRIALS)
    return wanted if count is None else min(wanted, count)


def _name(request: SweepRequest, file: Path) -> str:
    every = map(sweep_names.identify, sweep_names.all_of())
    taken = {known.name for known in every if not known.ended}  # also of versions that can't be read
    of_name = {"field": "name"}
    if request.name is not None:
        if len(request.name) > LONGEST_NAME:
            raise BadRequest(
                "The name is too long.",
                f"Use up to {LONGEST_NAME} letters.",
                code="bad_name",
                details=of_name,
            )
        names.check(request.name, spaces=True)
        if request.name in taken:
            raise Conflict(
                f'A sweep "{request.name}" already exists.',
                "Choose another name, or stop it.",
                details=of_name,
            )
        return request.name
    plain = re.sub(r"[^\w .-]", "-", file.stem[:40]).lstrip("_ .-") or "sweep"
    numbered = (f"{plain}-{number}" for number in range(2, len(taken) + 3))
    return next(name for name in (plain, *numbered) if name not in taken)


def _at_once(facts: Facts, size: JobSize) -> int:
    """Return the number of concurrent trials: as many as fit on the GPUs, or on the cores without GPUs.

    Args:
        facts: What the nodes have.
        size: Size of a trial; one that is larger than all slots runs alone.
    """
    ranks = size.nodes * size.ranks_per_node
    if not isinstance(facts, NodeFacts | HostsFacts):
        return OF_SCHEDULER
    nodes = facts.nodes if isinstance(facts, HostsFacts) else (facts,)
    return max(1, sum(node.gpus or node.cpus for node in nodes) // ranks)
