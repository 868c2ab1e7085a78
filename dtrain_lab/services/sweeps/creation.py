"""Creation of a sweep: everything that would fail later is checked now, and the notebook is copied."""

from __future__ import annotations

import asyncio
import getpass
import re
import secrets
import socket
import sys
import time
from pathlib import Path

from msgspec.structs import replace

from dtrain_lab.backends import registry
from dtrain_lab.errors import BadRequest, BadSize, Conflict
from dtrain_lab.jobs.notebook.source import read as cells_of
from dtrain_lab.machine import private, processes
from dtrain_lab.placement import slots
from dtrain_lab.services import names
from dtrain_lab.services.jobs.handover import link_rest
from dtrain_lab.services.jobs.jobs import Jobs
from dtrain_lab.services.jobs.request import as_asked
from dtrain_lab.services.plans import packing
from dtrain_lab.services.plans.planning import read_notebook
from dtrain_lab.services.plans.plans import refuse
from dtrain_lab.services.policy import limits
from dtrain_lab.services.profiles import files as profiles
from dtrain_lab.services.sweeps import folder as folders
from dtrain_lab.sweeps import study
from dtrain_lab.sweeps.notebook import check_names
from dtrain_lab.sweeps.space import Space, first_of, parse, points, written
from dtrain_lab.wire.jobs.job import JobRequest, JobSize
from dtrain_lab.wire.plan import HostsFacts, NodeFacts
from dtrain_lab.wire.sweeps import SWEEP_ENDED, SweepRecord, SweepRequest

USUAL_TRIALS = 16
MOST_TRIALS = 10_000
OF_SCHEDULER = 4
"""Trials at once where a scheduler gives the slots and the user does not say."""
LONGEST_NAME = 50


async def create(jobs: Jobs, request: SweepRequest, file: Path) -> Path:
    """Check a sweep and write its folder; nothing is submitted.

    Args:
        jobs: Jobs of this user.
        request: The user's request.
        file: Path of the notebook.

    Returns:
        The sweep's folder.

    Raises:
        DtrainError: The sweep can't run: its space, notebook, objective, size or name.
    """
    space = parse(request.space)
    total = _total(request, space)
    if study.needed(request):
        await asyncio.to_thread(study.load)
    text = await asyncio.to_thread(read_notebook, file)
    check_names(cells_of(text, str(file)), (*space, *request.parameters), file.name)
    name = await asyncio.to_thread(_name, request, file)
    plan = await jobs.plan(trial_request(request, first_of(space), None), file)
    refuse(plan.findings)
    size = plan.size or JobSize(1, 1)
    usual = await _at_once(request, size)
    record = SweepRecord(
        id=secrets.token_hex(6),
        name=name,
        request=replace(request, space=written(space)),
        file="",
        size=size,
        total=total,
        parallel=min(total, request.parallel or usual),
        seed=secrets.randbelow(1 << 30),
        owner=getpass.getuser(),
        host=socket.gethostname(),
        system=processes.system(),
        python=sys.executable,
        created_at=time.time(),
    )
    return await asyncio.to_thread(_write, record, file, text)


def trial_request(
    request: SweepRequest,
    parameters: dict[str, object],
    name: str | None,
    sweep: str | None = None,
    at_once: int = 1,
) -> JobRequest:
    """Return the request of a trial's job.

    Args:
        request: The sweep's request.
        parameters: The trial's own.
        name: Name of the job.
        sweep: Id of the sweep.
        at_once: How many trials run at once.
    """
    fields = {field: getattr(request, field) for field in JobRequest.__struct_fields__}
    fields |= {"parameters": {**request.parameters, **parameters}, "name": name}
    fields |= {"sweep": sweep, "at_once": at_once}
    return JobRequest(**fields)


def _total(request: SweepRequest, space: Space) -> int:
    both = sorted(space.keys() & request.parameters.keys())
    if both:
        raise BadRequest(f"{both[0]} is fixed, and it varies.", "Leave out one of the two.")
    if not request.objective.isidentifier():
        raise BadRequest(
            f'The objective "{request.objective}" is no name that dt.log could be called with.',
            "Name a value that the notebook logs, as in dt.log(step, loss=loss).",
            details={"field": "objective"},
        )
    for field, least, most in (("trials", 1, MOST_TRIALS), ("parallel", 1, MOST_TRIALS)):
        given = getattr(request, field)
        if given is not None and not least <= given <= most:
            message = f"{field} is {given}; it has to be {least} to {most}."
            raise BadRequest(message, "Choose another number.", details={"field": field})
    count = points(space)
    if request.sampler == "grid" and count is None:
        endless = next(name for name, domain in space.items() if points({name: domain}) is None)
        raise BadRequest(
            f"A grid needs a list of values for {endless}; {space[endless]} has no end of them.",
            "Give a list, or choose the sampler tpe or random.",
            code="no_grid",
            details={"field": "space", "parameter": endless},
        )
    usual = count if request.sampler == "grid" and count is not None else USUAL_TRIALS
    wanted = request.trials or min(usual, MOST_TRIALS)
    return wanted if count is None else min(wanted, count)


def _name(request: SweepRequest, file: Path) -> str:
    taken = {record.name for _, record in folders.readable() if record.state not in SWEEP_ENDED}
    if request.name is not None:
        names.check(request.name, spaces=True)
        if len(request.name) > LONGEST_NAME:
            raise BadRequest("The name is too long.", f"Use up to {LONGEST_NAME} letters.", code="bad_name")
        if request.name in taken:
            raise Conflict(f'A sweep "{request.name}" is there already.', "Choose another name, or stop it.")
        return request.name
    plain = re.sub(r"[^\w .-]", "-", file.stem[:40]).lstrip("_ .-") or "sweep"
    numbered = (f"{plain}-{number}" for number in range(2, len(taken) + 3))
    return next(name for name in (plain, *numbered) if name not in taken)


async def _at_once(request: SweepRequest, size: JobSize) -> int:
    """Return how many trials run at once: as many as GPUs, or cores without GPUs, have room for.

    Raises:
        BadSize: One trial is larger than all slots.
    """
    profile = profiles.load(request.profile)
    traits = registry.backend(profile.backend).traits
    allowed = limits.allowed(as_asked(profile, request, traits), request)
    facts = await allowed.backend.facts(allowed.profile)
    ranks = size.nodes * size.ranks_per_node
    if not isinstance(facts, NodeFacts | HostsFacts):
        return OF_SCHEDULER
    nodes = facts.nodes if isinstance(facts, HostsFacts) else (facts,)
    most = sum(slots.total(node) for node in nodes)
    if ranks > most:
        raise BadSize(
            f"A trial of {ranks} ranks is larger than all slots: there are {most}.",
            "Ask for fewer ranks a trial, or another profile.",
            details={"most": most, "field": "ranks_per_node"},
        )
    return max(1, sum(node.gpus or node.cpus for node in nodes) // ranks)


def _write(record: SweepRecord, file: Path, text: str) -> Path:
    """Write the folder; all trials run the notebook, and the files beside it, as they are now."""
    folder = private(folders.base() / record.id)
    code = private(folder / folders.CODE)
    if record.request.files:
        packed = packing.pack(file.parent)
        for path, data in packed.files.items():
            (code / path).parent.mkdir(parents=True, exist_ok=True)
            (code / path).write_bytes(data)
        link_rest(file.parent, code, packed.left)
    copy = code / file.name
    copy.write_text(text, encoding="utf-8")
    folders.write(folder, replace(record, file=str(copy)))
    return folder
