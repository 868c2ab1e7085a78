"""Facts that a job's plan needs besides the notebook: nodes, the folder of jobs, interpreter, data."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from dtrain_lab.services.plans.answer_cache import AnswerCache
from dtrain_lab.services.policy.limits import Allowed
from dtrain_lab.services.profiles import environment
from dtrain_lab.wire.jobs.finding import Finding
from dtrain_lab.wire.jobs.job import JobRecord, JobRequest
from dtrain_lab.wire.plan import Facts, HostsFacts


class PlanFacts(Struct, frozen=True):
    """Facts for a plan.

    Attributes:
        facts: Resources of the nodes.
        jobs: Path of the folder of jobs, on the nodes.
        python: Interpreter of the ranks.
        findings: Missing data.
    """

    facts: Facts
    jobs: str
    python: str
    findings: tuple[Finding, ...]


async def find(
    allowed: Allowed, request: JobRequest, recent: AnswerCache, first: JobRecord | None
) -> PlanFacts:
    """Gather the facts from the nodes and from this machine.

    Args:
        allowed: The job's profile, and its back-end.
        request: The user's request.
        recent: Cache of answers.
        first: Record of the job that has to succeed first: over SSH its exit file, which this one waits for,
            is on its first host.

    Raises:
        DtrainError: A host can't be asked, the environment can't be entered, or a path can't be staged.
    """
    profile, backend = allowed
    python = request.python or environment.kernel_python(request.kernel)
    if backend.traits.one_machine:
        python = environment.of_machine(profile.environment, python)
    place = msgspec.json.encode(profile)
    facts = await recent.ask(("facts", place), partial(backend.facts, profile))
    root = await recent.ask(("root", place), partial(backend.root, profile))
    if isinstance(facts, HostsFacts) and not backend.traits.shares_folder:
        here = first is not None and first.plan.backend == profile.backend
        facts = replace(facts, first=first.plan.nodes[0].name if first is not None and here else None)
    missing: tuple[Finding, ...] = ()
    if backend.sees_files(profile):
        missing = tuple(_no_data(path) for path in request.stage if not Path(path).expanduser().exists())
    return PlanFacts(facts, f"{root}/jobs", python, missing)


def _no_data(path: str) -> Finding:
    return Finding(
        "problem",
        "no_data",
        f"{path}, which is to be copied to the nodes, does not exist.",
        "Name data that exists, or leave it out.",
        field="stage",
    )
