"""Planning: makes a job's record and files from a notebook and a request, without submitting anything."""

from __future__ import annotations

import asyncio
import getpass
import secrets
import socket
import time
import unicodedata
from functools import partial
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from dtrain_lab.backends import registry
from dtrain_lab.errors import BadNotebook, BadSize, DtrainError, EnvironmentUnfit, NotFound
from dtrain_lab.jobs import files as job_files
from dtrain_lab.jobs.check import check
from dtrain_lab.jobs.check import frameworks as framework_check
from dtrain_lab.jobs.check.notebook import Around
from dtrain_lab.jobs.notebook.script import Script, convert
from dtrain_lab.jobs.notebook.source import read
from dtrain_lab.machine import processes
from dtrain_lab.placement import layout
from dtrain_lab.placement.frameworks import adapter as frameworks
from dtrain_lab.placement.frameworks import names
from dtrain_lab.services.jobs import request as job_request
from dtrain_lab.services.jobs.request import as_asked, check_request, data_missing
from dtrain_lab.services.plans import packing
from dtrain_lab.services.plans.answer_cache import Recent
from dtrain_lab.services.plans.code import Code
from dtrain_lab.services.plans.inputs import Sources
from dtrain_lab.services.policy import limits
from dtrain_lab.services.profiles import environment
from dtrain_lab.wire.jobs.finding import Finding
from dtrain_lab.wire.jobs.job import JobRecord, JobRequest
from dtrain_lab.wire.kinds import Framework
from dtrain_lab.wire.plan import Facts, HostsFacts, Plan, Request
from dtrain_lab.wire.profile import Profile

LARGEST_NOTEBOOK = 64 << 20


class Planned(Struct, frozen=True):
    """A job that is ready to submit: its record, and the files of its folder.

    `facts`: what the nodes have. `sources`: what the plan was made from. `code`: the notebook's, with the
    files that the job takes along.
    """

    record: JobRecord
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
    request: JobRequest, file: Path, sources: Sources, recent: Recent, first_host: str | None = None
) -> Planned:
    """Plan a job; nothing is written or submitted.

    Args:
        request: The user's request.
        file: Path of the notebook.
        sources: Current sources of the plan.
        recent: Cache of answers from hosts and environments.
        first_host: Host that has to run rank 0, for back-ends that choose hosts.

    Raises:
        DtrainError: The notebook, profile, size, name or environment is unusable.
    """
    text = await asyncio.to_thread(read_notebook, file)
    cells = read(text, str(file))
    if not any(cell.runs for cell in cells):
        raise BadNotebook(f"{file.name} has no code that would run.", "Write a cell, or remove its tags.")
    backend = registry.backend(sources.profile.backend)
    allowed = limits.allowed(as_asked(sources.profile, request, backend.traits), request)
    profile = allowed.profile
    check_request(request)
    framework = profile.framework or "torch"
    packed = await recent.ask(
        ("files", str(file.parent), sources.files),
        lambda: asyncio.to_thread(packing.pack, file.parent, sources.files),
    )
    read_code = await asyncio.to_thread(Code.of, cells, packed)
    script = convert(
        cells,
        title=file.name,
        parameters=request.parameters,
        framework=framework,
        accelerator=profile.accelerator,
        local_torch_text=read_code.torch_text,
        makes_group=read_code.makes_group,
    )
    python = request.python or environment.kernel_python(request.kernel)
    if backend.traits.one_machine:
        python = environment.of_machine(profile.environment, python)
    strategy = framework_check.strategy(read_code.everything) if framework == "tensorflow" else None
    wanted = Request(
        request.profile,
        request.ranks,
        request.nodes,
        frameworks.ranks_per_node(strategy, request, profile),
        monitor=request.monitor,
    )
    place = msgspec.json.encode(profile)
    facts = await recent.ask(("facts", place), partial(backend.facts, profile))
    root = await recent.ask(("root", place), partial(backend.root, profile))
    if isinstance(facts, HostsFacts):
        facts = replace(facts, first=first_host)
    never = None
    try:
        plan = allowed.plan(facts, wanted, python=python, directory="")
    except BadSize as error:
        if error.code != "too_long":
            raise
        never = error  # its script can still be shown, with the offending line
        unlimited = replace(profile, slurm=replace(profile.slurm, time=None))
        plan = limits.Allowed(unlimited, backend).plan(facts, wanted, python=python, directory="")
    plan = layout.among(plan, request.at_once, facts)
    evaluates = framework_check.evaluates(read_code.everything)
    adapter = frameworks.plan(framework, strategy, plan.size, evaluates=evaluates)
    record = replace(_draft(request, profile, plan, f"{root}/jobs", file), framework=adapter)
    missing, no_torch = await _missing(read_code, record, packed, python, recent)
    around = Around(
        ranks=plan.size,
        ranks_per_node=plan.nodes[0].ranks,
        kernel=frozenset(request.names) if request.names is not None else None,
        missing=missing,
        files=frozenset(packed.files),
        shared=backend.traits.one_machine,
        # Python normalizes identifiers in this way
        parameters=frozenset(unicodedata.normalize("NFKC", name) for name in request.parameters),
        framework=framework_check.Chosen(
            profile.framework,
            plan.size,
            len(plan.nodes),
            profile.accelerator,
            profile.environment.variables,
            no_torch,
        ),
        modules=read_code.files,
    )
    findings = check(cells, around) + script.findings + data_missing(request, profile, backend.traits)
    if never is not None:
        field, value = never.details["field"], never.details["value"]
        first = Finding("problem", never.code, never.message, never.hint, field=field, value=value)
        findings = (first, *findings)
    return Planned(
        record,
        file.expanduser().absolute(),
        _files(record, text, script, packed),
        findings,
        facts,
        sources,
        read_code,
        packed.left,
        never,
        sum(cell.runs for cell in cells),
        len(read_code.imported) - len(missing) if backend.traits.one_machine else None,
    )


def files_of(record: JobRecord) -> dict[str, bytes]:
    """Return the scripts and the record as files of the job's folder."""
    scripts = registry.backend(record.plan.backend).scripts(record)
    made = {name: text.encode() for name, text in scripts.items()}
    return {**made, job_files.JOB: msgspec.json.encode(record)}


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


def _draft(request: JobRequest, profile: Profile, plan: Plan, base: str, file: Path) -> JobRecord:
    identity = new_id()
    directory = f"{base}/{identity}"
    return JobRecord(
        id=identity,
        request=request,
        profile=profile,
        plan=replace(plan, directory=f"{directory}/{job_files.CODE}"),
        name=request.name or file.stem[:40],
        directory=directory,
        owner=getpass.getuser(),
        host=socket.gethostname(),
        created_at=time.time(),
        launcher=job_request.launcher(request, profile, plan.traits),
        checkpoints=f"{directory}/{job_files.CHECKPOINTS}",
        system=processes.system(),
        source=str(file.absolute()),
    )


async def _missing(
    code: Code, record: JobRecord, packed: packing.Packed, python: str, recent: Recent
) -> tuple[frozenset[str], bool]:
    """Return modules that the environment lacks, and whether torch is one, if it is on this machine.

    An environment without torch is refused, unless the notebook imports another framework that is there:
    the check proposes that one then.

    Raises:
        EnvironmentUnfit: Ranks can't run there.
    """
    if not record.plan.traits.one_machine:
        return frozenset(), False

    asked = record.profile.environment

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


def _files(record: JobRecord, text: str, script: Script, packed: packing.Packed) -> dict[str, bytes]:
    notebook = record.request.notebook.rpartition("/")[2]
    code = {
        **{f"{job_files.CODE}/{path}": data for path, data in packed.files.items()},
        f"{job_files.CODE}/{notebook}": text.encode(),
        f"{job_files.CODE}/{job_files.MAIN}": script.text.encode(),
    }
    if script.installs:
        code["requirements.txt"] = "".join(f"{line}\n" for line in script.installs).encode()
    return {**code, **files_of(record)}
