"""Planning: makes a job's record and files from a notebook and a request, without submitting anything."""

from __future__ import annotations

import asyncio
import getpass
import secrets
import socket
import time
import unicodedata
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from dtrain_lab.backends import registry
from dtrain_lab.backends.base import Backend
from dtrain_lab.errors import BadNotebook, BadSize, DtrainError, EnvironmentUnfit, NotFound
from dtrain_lab.jobs import files as job_files
from dtrain_lab.jobs.check import check, checkpoints
from dtrain_lab.jobs.check import frameworks as framework_check
from dtrain_lab.jobs.check.notebook import Around
from dtrain_lab.jobs.notebook.script import Script, convert
from dtrain_lab.jobs.notebook.source import Cell, read
from dtrain_lab.machine import processes
from dtrain_lab.placement import layout
from dtrain_lab.placement.frameworks import adapter as frameworks
from dtrain_lab.placement.frameworks import names
from dtrain_lab.services.plans import facts, folder_files, interface, packing, sharing
from dtrain_lab.services.plans.answer_cache import Recent
from dtrain_lab.services.plans.code import Code
from dtrain_lab.services.plans.inputs import Sources
from dtrain_lab.services.plans.refused import as_finding, of_usual_size
from dtrain_lab.services.plans.request import settings
from dtrain_lab.services.policy.limits import Allowed
from dtrain_lab.services.profiles import environment
from dtrain_lab.wire.jobs.finding import Finding
from dtrain_lab.wire.jobs.job import JobRecord, JobRequest
from dtrain_lab.wire.kinds import Framework
from dtrain_lab.wire.plan import Facts, Request

LARGEST_NOTEBOOK = 64 << 20


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
    sources: Sources
    code: Code
    left: tuple[str, ...] = ()
    never: DtrainError | None = None
    """Why the job could never start, if its plan can be shown nevertheless."""
    cells: int = 0
    modules: int | None = None


async def prepare(
    request: JobRequest,
    file: Path,
    sources: Sources,
    recent: Recent,
    first: JobRecord | None,
    refused: list[DtrainError],
) -> Planned:
    """Plan a job; nothing is written or submitted.

    Args:
        request: The user's request.
        file: Path of the notebook.
        sources: Current sources of the plan.
        recent: Cache of answers from hosts and environments.
        first: Record of the job that has to succeed first.
        refused: Gets the error of a size that is impossible: the plan has the profile's then.

    Raises:
        DtrainError: The notebook, profile, size, name or environment is unusable.
    """
    book = await _read(file, sources, recent)
    backend = registry.backend(sources.profile.backend)
    asked = settings(request, sources.profile, backend)
    profile, framework = asked.allowed.profile, asked.allowed.profile.framework or "torch"
    found = await facts.find(asked.allowed, request, recent, first)
    script = convert(
        book.cells,
        title=file.name,
        parameters=request.parameters,
        framework=framework,
        accelerator=profile.accelerator,
        local_torch_text=book.code.torch_text,
        makes_group=book.code.makes_group,
    )
    strategy = framework_check.strategy(book.code.everything) if framework == "tensorflow" else None
    per_node = frameworks.ranks_per_node(strategy, request, profile)
    wanted = Request(request.profile, request.ranks, request.nodes, per_node, monitor=request.monitor)
    never = None
    try:
        plan = asked.allowed.plan(found.facts, wanted, python=found.python, directory="")
    except BadSize as error:
        if error.code == "too_long":
            never = error  # its script can still be shown, with the offending line
            unlimited = replace(profile, slurm=replace(profile.slurm, time=None))
            plan = Allowed(unlimited, backend).plan(found.facts, wanted, python=found.python, directory="")
        else:
            plan = of_usual_size(asked.allowed, found.facts, wanted, found.python, error)
            refused.append(error)
    evaluates = framework_check.evaluates(book.code.everything)
    adapter = frameworks.plan(framework, strategy, plan.size, evaluates=evaluates)
    plan = layout.among(plan, request.at_once, found.facts)
    identity = new_id()
    directory = f"{found.jobs}/{identity}"
    record = JobRecord(
        id=identity,
        request=request,
        profile=profile,
        plan=replace(plan, directory=f"{directory}/{job_files.CODE}"),
        name=request.name or file.stem[:40],
        directory=directory,
        owner=getpass.getuser(),
        host=socket.gethostname(),
        created_at=time.time(),
        launcher=asked.launcher,
        checkpoints=f"{directory}/{job_files.CHECKPOINTS}",
        framework=adapter,
        system=processes.system(),
        source=str(file.absolute()),
    )
    missing, no_torch = await _missing(book.code, record, book.packed, recent)
    findings = _checked(book, record, missing, no_torch=no_torch) + script.findings + found.findings
    findings += interface.lacking(plan, found.facts)
    if not refused:
        findings += sharing.shared(plan, found.facts, wanted)
    if never is not None:
        findings = (as_finding(never), *findings)
    record = replace(record, begins_again=checkpoints.told(findings))
    return Planned(
        record,
        backend,
        file.expanduser().absolute(),
        _files(record, backend, book, script),
        findings,
        found.facts,
        sources,
        book.code,
        book.packed.left,
        never,
        sum(cell.runs for cell in book.cells),
        len(book.code.imported) - len(missing) if backend.traits.one_machine else None,
    )


def new_id() -> str:
    """Return a unique job id."""
    return secrets.token_hex(6)


def read_notebook(file: Path) -> str:
    """Return the text of a notebook's file.

    Raises:
        NotFound: There is no such file.
        BadNotebook: It is too large, or can't be read.
    """
    try:
        if file.stat().st_size > LARGEST_NOTEBOOK:
            raise BadNotebook(f"{file.name} is larger than 64 MiB.", "Clear its outputs and save it.")
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise NotFound(
            f"There is no notebook {file}.",
            "Check its path; a new notebook has to be saved first.",
            code="no_notebook",
        ) from None
    except (OSError, ValueError) as error:  # a folder, unreadable, not UTF-8, an impossible name
        why = error.strerror if isinstance(error, OSError) else error
        raise BadNotebook(f"{str(file)[:300]} can't be read: {why}.", "Choose a notebook.") from error


# ----


class _Book(Struct, frozen=True):
    """A notebook that was read. `packed`: the files beside it. `code`: what it and they do."""

    text: str
    cells: tuple[Cell, ...]
    packed: packing.Packed
    code: Code


async def _read(file: Path, sources: Sources, recent: Recent) -> _Book:
    text = await asyncio.to_thread(read_notebook, file)
    cells = read(text, str(file))
    if not any(cell.runs for cell in cells):
        raise BadNotebook(f"{file.name} has no code that would run.", "Write a cell, or remove its tags.")
    packed = await recent.ask(
        ("files", str(file.parent), sources.files),
        lambda: asyncio.to_thread(packing.pack, file.parent, sources.files),
    )
    return _Book(text, cells, packed, await asyncio.to_thread(Code.of, cells, packed, file.parent))


def _checked(
    book: _Book, record: JobRecord, missing: frozenset[str], *, no_torch: bool
) -> tuple[Finding, ...]:
    """Return what the check of the notebook found.

    Args:
        book: The notebook.
        record: Record of the job.
        missing: Modules that the environment lacks.
        no_torch: Whether torch is one of them.
    """
    request, plan, profile = record.request, record.plan, record.profile
    around = Around(
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
    code: Code, record: JobRecord, packed: packing.Packed, recent: Recent
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
            lambda: environment.check(python, named, jobs=True, asked=asked),
        )

    no_torch = False
    try:
        await fits(record.profile.framework)
    except EnvironmentUnfit as error:
        told = names.imported(code.everywhere)
        if record.profile.framework is not None or told is None or told[0] == "torch":
            raise
        if error.code != "package_missing":
            raise
        await fits(told[0])
        no_torch = True
    imported = code.imported
    own = {path.split("/")[0].removesuffix(".py") for path in packed.files}
    own |= {file.name.split(".")[0] for file in code.files}  # in folders on sys.path
    wanted = sorted(name for name in imported if name not in own)
    if not wanted:
        return frozenset(), no_torch
    missing = await recent.ask(
        ("modules", python, *wanted), lambda: environment.missing_modules(python, tuple(wanted))
    )
    return frozenset(missing), no_torch


def _files(record: JobRecord, backend: Backend, book: _Book, script: Script) -> dict[str, bytes]:
    notebook = record.request.notebook.rpartition("/")[2]
    code = {
        **{f"{job_files.CODE}/{path}": data for path, data in book.packed.files.items()},
        f"{job_files.CODE}/{notebook}": book.text.encode(),
        f"{job_files.CODE}/{job_files.MAIN}": script.text.encode(),
    }
    if script.installs:
        code["requirements.txt"] = "".join(f"{line}\n" for line in script.installs).encode()
    return {**code, **folder_files.files_of(record, backend)}
