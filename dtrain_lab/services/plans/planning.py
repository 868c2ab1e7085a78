"""Planning: makes a job's record and files from a notebook and a request, without submitting anything."""

from __future__ import annotations

import getpass
import secrets
import socket
import time
import unicodedata
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from dtrain_lab.backends.base import Backend
from dtrain_lab.errors import DtrainError, EnvironmentUnfit
from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.jobs.check import check, checkpoints
from dtrain_lab.jobs.check import frameworks as framework_check
from dtrain_lab.jobs.check.notebook import CheckContext, in_order
from dtrain_lab.jobs.notebook.script import Script
from dtrain_lab.machine import processes
from dtrain_lab.placement.frameworks import names
from dtrain_lab.services.plans import folder_files, node_findings, packing
from dtrain_lab.services.plans.answer_cache import AnswerCache
from dtrain_lab.services.plans.inputs import PlanInputs
from dtrain_lab.services.plans.job_layout import JobLayout
from dtrain_lab.services.plans.notebook_code import Code
from dtrain_lab.services.plans.notebook_files import NotebookFiles
from dtrain_lab.services.plans.requests.request_errors import as_finding
from dtrain_lab.services.profiles import environment
from dtrain_lab.wire.jobs.finding import Finding, problems
from dtrain_lab.wire.jobs.job import JobRecord
from dtrain_lab.wire.kinds import Framework
from dtrain_lab.wire.plan import Facts


class Planned(Struct, frozen=True):
    """A job that is ready to submit: its record, and the files of its folder.

    `backend`: the one that gets it. `facts`: what the nodes have. `sources`: what the plan was made from.
    `code`: the notebook's, with the files that the job takes along.
    """

    record: JobRecord
    backend: Backend
    file: Path
    files: dict[str, bytes]
    findings: tuple[Finding, ...]
    facts: Facts
    sources: PlanInputs
    code: Code
    left: tuple[str, ...] = ()
    never: DtrainError | None = None
    """Why the job could never start, if its plan can be shown nevertheless."""
    cells: int = 0
    modules: int | None = None


async def prepare(of: JobLayout, recent: AnswerCache) -> Planned:
    """Plan a job: check its notebook, and make its files; nothing is written or submitted.

    Args:
        of: Where its ranks run.
        recent: Cache of answers from hosts and environments.

    Raises:
        EnvironmentUnfit: Ranks can't run in the environment.
    """
    record, book = _record(of), of.book
    missing, no_torch = await _missing(book.code, record, book.packed, recent)
    findings = _checked(book, record, missing, no_torch=no_torch)
    findings = in_order(book.cells, findings + of.script.findings) + of.found.findings
    findings += node_findings.lacking(of.plan, of.found.facts)
    if of.refused is None:
        findings += node_findings.shared(of.plan, of.found.facts, of.wanted)
    if of.never is not None:
        findings = (as_finding(of.never), *findings)
    record = replace(record, begins_again=checkpoints.any_never_loaded(findings))
    backend = of.settings.allowed.backend
    return Planned(
        record=record,
        backend=backend,
        file=of.file.expanduser().absolute(),
        files=_files(record, backend, book, of.script),
        findings=findings,
        facts=of.found.facts,
        sources=of.sources,
        code=book.code,
        left=book.packed.left,
        never=of.never,
        cells=book.runs - len({f.cell for f in problems(findings) if f.cell is not None}),
        modules=len(book.code.imported) - len(missing) if backend.traits.one_machine else None,
    )


def _record(of: JobLayout) -> JobRecord:
    request, identity = of.request, new_id()
    directory = f"{of.found.jobs}/{identity}"
    return JobRecord(
        id=identity,
        request=request,
        profile=of.settings.allowed.profile,
        plan=replace(of.plan, directory=f"{directory}/{job_files.CODE}"),
        name=request.name or of.file.stem[:40],
        directory=directory,
        owner=getpass.getuser(),
        host=socket.gethostname(),
        created_at=time.time(),
        launcher=of.settings.launcher,
        checkpoints=f"{directory}/{job_files.CHECKPOINTS}",
        framework=of.framework,
        system=processes.system(),
        source=str(of.file.absolute()),
    )


def new_id() -> str:
    """Return a unique job id."""
    return secrets.token_hex(6)


# ----


def _checked(
    book: NotebookFiles, record: JobRecord, missing: frozenset[str], *, no_torch: bool
) -> tuple[Finding, ...]:
    """Return what the check of the notebook found.

    Args:
        book: The notebook.
        record: Record of the job.
        missing: Modules that the environment lacks.
        no_torch: Whether torch is one of them.
    """
    request, plan, profile = record.request, record.plan, record.profile
    around = CheckContext(
        ranks=plan.size,
        ranks_per_node=plan.nodes[0].ranks,
        kernel=frozenset(request.names) if request.names is not None else None,
        missing=missing,
        files=frozenset(book.packed.files),
        shared=plan.traits.one_machine,
        absent=book.code.absent,
        # Python normalizes identifiers in this way
        parameters={unicodedata.normalize("NFKC", name): value for name, value in request.parameters.items()},
        framework=framework_check.Chosen(
            profile.framework,
            plan.size,
            len(plan.nodes),
            profile.accelerator,
            profile.environment.variables,
            no_torch,
        ),
        modules=book.code.files,
    )
    return check(book.cells, around)


async def _missing(
    code: Code, record: JobRecord, packed: packing.Packed, recent: AnswerCache
) -> tuple[frozenset[str], bool]:
    """Return modules that the environment lacks, and whether torch is one, if it is on this machine.

    An environment without torch is refused, unless the notebook imports another framework that is there:
    the check proposes that one then.

    Raises:
        EnvironmentUnfit: Ranks can't run there.
    """
    if not record.plan.traits.one_machine:
        return frozenset(), False
    asked, python = record.profile.environment, record.plan.python

    async def fits(named: Framework | None) -> None:
        await recent.ask(
            ("fit", python, named or "", asked.kind),
            partial(environment.check, python, named, jobs=True, asked=asked),
        )

    no_torch = False
    try:
        await fits(record.profile.framework)
    except EnvironmentUnfit as error:
        framework = names.imported(code.everywhere)
        if record.profile.framework is not None or framework is None or framework[0] == "torch":
            raise
        if error.code != "package_missing":
            raise
        await fits(framework[0])
        no_torch = True
    imported = code.imported
    own_modules = {path.split("/")[0].removesuffix(".py") for path in packed.files}
    own_modules |= {file.name.split(".")[0] for file in code.files}  # in folders on sys.path
    wanted = sorted(name for name in imported if name not in own_modules)
    if not wanted:
        return frozenset(), no_torch
    missing = await recent.ask(
        ("modules", python, *wanted), partial(environment.missing_modules, python, tuple(wanted))
    )
    return frozenset(missing), no_torch


def _files(record: JobRecord, backend: Backend, book: NotebookFiles, script: Script) -> dict[str, bytes]:
    notebook = record.request.notebook.rpartition("/")[2]
    code = {
        **{f"{job_files.CODE}/{path}": data for path, data in book.packed.files.items()},
        f"{job_files.CODE}/{notebook}": book.text.encode(),
        f"{job_files.CODE}/{job_files.MAIN}": script.text.encode(),
    }
    if script.installs:
        code["requirements.txt"] = "".join(f"{line}\n" for line in script.installs).encode()
    return {**code, **folder_files.files_of(record, backend)}
