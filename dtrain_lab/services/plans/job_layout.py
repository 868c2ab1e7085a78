"""Where the ranks of a job run, by its notebook, its request and profile, and what the nodes have."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from dtrain_lab.errors import BadSize, DtrainError
from dtrain_lab.jobs.check import frameworks as framework_check
from dtrain_lab.jobs.check import parameter_values
from dtrain_lab.jobs.notebook.script import Script, convert
from dtrain_lab.placement import layout
from dtrain_lab.placement.frameworks import adapter as frameworks
from dtrain_lab.services.plans import facts
from dtrain_lab.services.plans.answer_cache import AnswerCache
from dtrain_lab.services.plans.facts import PlanFacts
from dtrain_lab.services.plans.inputs import PlanInputs
from dtrain_lab.services.plans.notebook_files import NotebookFiles, read_book
from dtrain_lab.services.plans.requests.request import Settings, settings
from dtrain_lab.services.plans.requests.request_errors import of_usual_size
from dtrain_lab.services.policy import backends
from dtrain_lab.services.policy.limits import Allowed
from dtrain_lab.wire.jobs.framework import FrameworkPlan
from dtrain_lab.wire.jobs.job import JobRecord, JobRequest
from dtrain_lab.wire.plan import Plan, Request
from dtrain_lab.wire.profile import Profile


class JobLayout(Struct, frozen=True):
    """Which ranks of a job run where, and what the decision is based on.

    `wanted`: the size that was asked for. `refused`: why that size is impossible; `plan` has the profile's
    then. `never`: as in `Planned`. `framework`: what its ranks need for theirs; None for torch.
    """

    request: JobRequest
    file: Path
    sources: PlanInputs
    book: NotebookFiles
    script: Script
    settings: Settings
    found: PlanFacts
    wanted: Request
    plan: Plan
    framework: FrameworkPlan | None = None
    refused: BadSize | None = None
    never: DtrainError | None = None


async def lay_out(
    request: JobRequest, file: Path, sources: PlanInputs, recent: AnswerCache, first: JobRecord | None
) -> JobLayout:
    """Decide where the ranks of a job run.

    Args:
        request: The user's request.
        file: Path of the notebook.
        sources: Current sources of the plan.
        recent: Cache of answers from hosts and environments.
        first: Record of the job that has to succeed first.

    Raises:
        DtrainError: The notebook or the profile is unusable, or a node can't be asked.
        BadSize: Neither the size nor the profile's is possible.
    """
    book = await read_book(file, sources, recent)
    request = replace(request, parameters=parameter_values.whole(book.cells, request.parameters))
    merged = settings(request, sources.profile, backends.backend(sources.profile.backend))
    allowed = merged.allowed
    framework = allowed.profile.framework or "torch"
    found = await facts.find(allowed, request, recent, first)
    script = convert(
        book.cells,
        title=file.name,
        parameters=request.parameters,
        framework=framework,
        accelerator=allowed.profile.accelerator,
        local_torch_text=book.code.torch_text,
        makes_group=book.code.makes_group,
    )
    use = framework_check.TensorFlowUse()
    if framework == "tensorflow":
        use = framework_check.tensorflow_use(book.code.everything)
    per_node = ranks_per_node(request, allowed.profile, one_process=use.one_process)
    wanted = Request(request.profile, request.ranks, request.nodes, per_node, monitor=request.monitor)
    plan, refused, never = _planned(allowed, found, wanted)
    return JobLayout(
        request=request,
        file=file,
        sources=sources,
        book=book,
        script=script,
        settings=merged,
        found=found,
        wanted=wanted,
        plan=layout.among(plan, request.at_once, found.facts),
        framework=frameworks.plan(framework, use.strategy, plan.size, evaluates=use.evaluates),
        refused=refused,
        never=never,
    )


def _planned(
    allowed: Allowed, found: PlanFacts, wanted: Request
) -> tuple[Plan, BadSize | None, BadSize | None]:
    """Plan the size that was asked for, or the nearest that can be shown.

    Returns:
        The plan; why the size is impossible, if it is the profile's instead; and why it can never start, if
        it is a plan without a time limit.
    """
    try:
        return allowed.plan(found.facts, wanted, python=found.python, directory=""), None, None
    except BadSize as error:
        if error.code != "too_long":
            return of_usual_size(allowed, found.facts, wanted, found.python, error), error, None
        # its script can still be shown, with the offending line
        unlimited = Allowed(allowed.backend.without_time_limit(allowed.profile), allowed.backend)
        return unlimited.plan(found.facts, wanted, python=found.python, directory=""), None, error


def ranks_per_node(request: JobRequest, profile: Profile, *, one_process: bool) -> int | None:
    """Return the ranks per node that a request asks for.

    Args:
        request: The user's request.
        profile: The profile, which may give a size as well.
        one_process: The notebook trains in one process: without any size, it gets one rank.

    Returns:
        The number of ranks; None to leave it to the profile and the nodes.
    """
    given = request.ranks or request.ranks_per_node or profile.ranks_per_node
    return 1 if one_process and not given else request.ranks_per_node
