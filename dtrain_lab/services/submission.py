"""From a notebook and a request to everything that a job is, before anything is handed over."""

from __future__ import annotations

import asyncio
import difflib
import getpass
import secrets
import socket
import time
from collections.abc import Collection
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from dtrain_lab.backends import hosts, registry
from dtrain_lab.backends.jobs import job_backend
from dtrain_lab.core import jobfiles, slurm, staged
from dtrain_lab.core import policy as core_policy
from dtrain_lab.core.check import Around, check, imports
from dtrain_lab.core.finding import Finding
from dtrain_lab.core.job import Choice, JobPlan, JobRecord, JobRequest, JobSize, PlannedFile
from dtrain_lab.core.kinds import JobLauncher
from dtrain_lab.core.notebook.script import Script, convert
from dtrain_lab.core.notebook.source import read
from dtrain_lab.core.plan import Facts, HostsFacts, Plan, Request, SlurmFacts
from dtrain_lab.core.profile import Profile, environment_of
from dtrain_lab.errors import BadNotebook, BadProfile, BadRequest, BadSize, DtrainError, NotFound
from dtrain_lab.services import environment, packing, policy, profiles
from dtrain_lab.services.worlds import check_name

MOST_TEXT = 200_000
LARGEST_NOTEBOOK = 64 << 20


class Submission(Struct, frozen=True):
    """A job that could be handed over: its record, and the files of its folder."""

    record: JobRecord
    files: dict[str, bytes]
    findings: tuple[Finding, ...]
    left: tuple[str, ...] = ()
    never: DtrainError | None = None
    """Why it would never start, where it can be shown all the same."""
    partitions: tuple[Choice, ...] = ()
    cells: int = 0
    modules: int | None = None


async def prepare(request: JobRequest, file: Path, first_host: str | None = None) -> Submission:
    """Make a job of a notebook; nothing is written or handed over.

    Args:
        request: of a person.
        file: the notebook.
        first_host: the one that has to have rank 0, where hosts are chosen here.

    Raises:
        DtrainError: the notebook, profile, size, name or environment is no good.
    """
    text = await asyncio.to_thread(_read, file)
    cells = read(text, str(file))
    if not any(cell.runs for cell in cells):
        raise BadNotebook(f"{file.name} has no code that would run.", "Write a cell, or remove its tags.")
    profile = _asked(profiles.load(request.profile), request)
    core_policy.check(policy.current(), profile)
    for host in (*profile.ssh.hosts, *filter(None, (profile.ssh.login,))):
        hosts.forget_refusal(host)
    _check_request(request)
    script = convert(cells, title=file.name, parameters=request.parameters)
    python = request.python or environment.kernel_python(request.kernel)
    backend = registry.backend(profile.backend)
    wanted = Request(
        request.profile,
        request.ranks,
        request.nodes,
        request.ranks_per_node,
        monitor=request.monitor,
    )
    facts = await backend.facts(profile)
    if isinstance(facts, HostsFacts):
        facts = replace(facts, first=first_host)
    never = None
    try:
        plan = backend.plan(facts, profile, wanted, python=python, directory="")
    except BadSize as error:
        if error.code != "too_long":
            raise
        never = error  # its script can be shown, with the line that is wrong
        unlimited = replace(profile, slurm=replace(profile.slurm, time=None))
        plan = backend.plan(facts, unlimited, wanted, python=python, directory="")
    packed = await asyncio.to_thread(packing.pack, file.parent) if request.files else packing.Packed({}, ())
    record = await _record(request, profile, plan, file)
    imported = imports(cells)
    missing = await _missing(imported, record, packed, python)
    around = Around(
        ranks=plan.size,
        kernel=frozenset(request.names) if request.names is not None else None,
        missing=missing,
        files=frozenset(packed.files),
        shared=profile.backend == "local",
        parameters=frozenset(request.parameters),
    )
    findings = check(cells, around) + script.findings + _to_stage(request, profile)
    if never is not None:
        field, value = never.details["field"], never.details["value"]
        first = Finding("problem", never.code, never.message, never.hint, field=field, value=value)
        findings = (first, *findings)
    return Submission(
        record,
        _files(record, text, script, packed),
        findings,
        packed.left,
        never,
        _choices(facts),
        sum(cell.runs for cell in cells),
        len(imported) - len(missing) if profile.backend == "local" else None,
    )


def preview(made: Submission, before: str | None = None) -> JobPlan:
    """A submission as a person looks at it.

    Args:
        made: by `prepare`.
        before: the script of this notebook's last job.
    """
    record = made.record
    main = made.files[f"{jobfiles.CODE}/{jobfiles.MAIN}"].decode()
    changes = ""
    if before is not None and before != main:
        changes = "\n".join(
            difflib.unified_diff(
                before.splitlines(), main.splitlines(), "last job", "this job", lineterm="", n=1
            )
        )
    node = record.plan.nodes[0]
    return JobPlan(
        files=tuple(_planned(path, data) for path, data in sorted(made.files.items(), key=_order)),
        command=job_backend(record.plan.backend).command(record),
        findings=made.findings,
        size=JobSize(len(record.plan.nodes), node.ranks),
        changes=changes,
        gpu_hours=_gpu_hours(record),
        partitions=made.partitions,
        environment=_environment(record),
        cells=made.cells,
        modules=made.modules,
    )


def refuse(findings: tuple[Finding, ...], never: DtrainError | None = None) -> None:
    """Raise where something would fail.

    Args:
        findings: of the check.
        never: why it would never start.

    Raises:
        DtrainError: that it would never start.
        BadNotebook: the first problem in words; all of them in the details.
    """
    if never is not None:
        raise never
    found = [f for f in findings if f.severity == "problem"]
    if not found:
        return
    first = found[0]
    place = f"cell {first.cell}, line {first.line}: " if first.cell else ""
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    raise BadNotebook(
        f"{place}{first.message}{more}".replace("cell", "Cell", 1) if place else first.message,
        first.fix,
        code="notebook_problems",
        details={"findings": msgspec.to_builtins(found)},
    )


def files_of(record: JobRecord) -> dict[str, bytes]:
    """The scripts and the record, as they lie in the job's folder."""
    scripts = job_backend(record.plan.backend).scripts(record)
    made = {name: text.encode() for name, text in scripts.items()}
    return {**made, jobfiles.JOB: msgspec.json.encode(record)}


def new_id() -> str:
    """An id that no other job has."""
    return secrets.token_hex(6)


# ----


def _read(file: Path) -> str:
    try:
        if file.stat().st_size > LARGEST_NOTEBOOK:
            raise BadNotebook(f"{file.name} is larger than 64 MiB.", "Clear its outputs and save it.")
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise NotFound(f"There is no notebook {file}.", "Save it first.", code="no_notebook") from None
    except (IsADirectoryError, PermissionError, UnicodeDecodeError) as error:
        raise BadNotebook(f"{file} can't be read: {error}.", "Choose a notebook.") from error


def _check_request(request: JobRequest) -> None:
    if request.name is not None:
        check_name(request.name)
    if not 0 <= request.retries <= 100:
        raise BadRequest(f"retries is {request.retries}.", "Give 0 to 100.")
    if not 0 <= request.warn_s <= 86400:
        raise BadRequest(f"warn_s is {request.warn_s}.", "Give 0 to 86400 seconds.")
    if request.mail is not None and not _is_mail(request.mail):
        raise BadRequest(
            f'mail: "{request.mail}" is no address.', "Write it as name@host.", details={"field": "mail"}
        )
    if request.time is not None:
        slurm.time_s(request.time)
    staged.names(request.stage)


def _to_stage(request: JobRequest, profile: Profile) -> tuple[Finding, ...]:
    """What is not there of the data that nodes are to copy, where this machine sees what they see."""
    if profile.backend == "ssh" or profile.ssh.login:
        return ()
    gone = [path for path in request.stage if not Path(path).expanduser().exists()]
    return tuple(
        Finding(
            "problem",
            "no_data",
            f"There is no {path} to copy to the nodes.",
            "Name data that is there, or leave it out.",
            field="stage",
        )
        for path in gone
    )


def _is_mail(text: str) -> bool:
    return text.count("@") == 1 and not any(c.isspace() or c in "\"'`$;&|<>\\" for c in text)


async def _record(request: JobRequest, profile: Profile, plan: Plan, file: Path) -> JobRecord:
    backend = job_backend(plan.backend)
    identity = new_id()
    base = await backend.base(profile.workdir)
    if not base.startswith("/"):
        base = f"{await _home(profile)}/{base}"
    directory = f"{base}/{identity}"
    return _draft(request, profile, plan, identity, directory, file)


def _draft(
    request: JobRequest, profile: Profile, plan: Plan, identity: str, directory: str, file: Path
) -> JobRecord:
    return JobRecord(
        id=identity,
        request=request,
        profile=profile,
        plan=replace(plan, directory=f"{directory}/{jobfiles.CODE}"),
        name=request.name or file.stem[:40],
        directory=directory,
        owner=getpass.getuser(),
        host=socket.gethostname(),
        created_at=time.time(),
        launcher=_launcher(request, profile),
        checkpoints=f"{directory}/{jobfiles.CHECKPOINTS}",
    )


async def _home(profile: Profile) -> str:
    from dtrain_lab.backends.transport import transport

    if profile.backend == "ssh":
        return await transport(profile.ssh.hosts[0]).home()
    return await transport(profile.ssh.login).home()


def _asked(profile: Profile, request: JobRequest) -> Profile:
    """The profile, with what the request puts in its place."""
    if (request.partition or request.options) and profile.backend != "slurm":
        raise BadRequest(
            f'partition and options are for Slurm; the profile "{profile.name}" has none.',
            "Leave them out.",
            details={"field": "partition" if request.partition else "options"},
        )
    theirs = profile.slurm
    theirs = replace(
        theirs,
        partition=request.partition or theirs.partition,
        time=request.time or theirs.time,
        options=(*theirs.options, *request.options),
    )
    network = replace(profile.network, interface=request.interface or profile.network.interface)
    environment = profile.environment
    if request.environment is not None:
        environment = environment_of(request.environment, environment)
    return replace(profile, slurm=theirs, network=network, environment=environment)


def _choices(facts: Facts) -> tuple[Choice, ...]:
    if not isinstance(facts, SlurmFacts):
        return ()
    return tuple(
        Choice(
            partition.name,
            len(partition.nodes),
            max((node.gpus for node in partition.nodes), default=0),
            slurm.time_text(partition.time_s) if partition.time_s is not None else None,
        )
        for partition in facts.partitions
    )


def _environment(record: JobRecord) -> str:
    environment = record.profile.environment
    if environment.kind == "current":
        return record.plan.python
    return f"{environment.kind}: {environment.path}" if environment.path else environment.kind


def _launcher(request: JobRequest, profile: Profile) -> JobLauncher:
    if profile.backend != "slurm":
        if request.launcher in ("srun", "torchrun"):
            raise BadRequest(
                f'launcher = "{request.launcher}" is for Slurm; the profile "{profile.name}" has none.',
                "Leave it out.",
            )
        return "agents"
    wanted = request.launcher or profile.slurm.launcher or "srun"
    if wanted not in ("srun", "torchrun"):
        raise BadProfile(f'[slurm] launcher = "{wanted}".', "Use srun or torchrun.")
    return "torchrun" if wanted == "torchrun" else "srun"


async def _missing(
    imported: Collection[str], record: JobRecord, packed: packing.Packed, python: str
) -> frozenset[str]:
    """Modules that the environment lacks, where it can be asked at once."""
    if record.plan.backend != "local":
        return frozenset()
    await environment.check(python)
    own = {path.split("/")[0].removesuffix(".py") for path in packed.files}
    wanted = sorted(name for name in imported if name not in own)
    if not wanted:
        return frozenset()
    return frozenset(await environment.missing_modules(python, tuple(wanted)))


def _files(record: JobRecord, text: str, script: Script, packed: packing.Packed) -> dict[str, bytes]:
    notebook = record.request.notebook.rpartition("/")[2]
    code = {
        **{f"{jobfiles.CODE}/{path}": data for path, data in packed.files.items()},
        f"{jobfiles.CODE}/{notebook}": text.encode(),
        f"{jobfiles.CODE}/{jobfiles.MAIN}": script.text.encode(),
    }
    if script.installs:
        code["requirements.txt"] = "".join(f"{line}\n" for line in script.installs).encode()
    return {**code, **files_of(record)}


def _order(item: tuple[str, bytes]) -> tuple[int, str]:
    name = item[0].rpartition("/")[2]
    known = [jobfiles.MAIN, jobfiles.BATCH]
    return (known.index(name) if name in known else len(known), item[0])


def _planned(path: str, data: bytes) -> PlannedFile:
    shown = path.endswith((".py", ".sh", ".txt")) and len(data) < MOST_TEXT
    return PlannedFile(path, len(data), data.decode("utf-8", "replace") if shown else None)


def _gpu_hours(record: JobRecord) -> float | None:
    limit = slurm.time_s(record.profile.slurm.time) if record.profile.slurm.time else None
    gpus = sum(min(node.ranks, node.gpus) for node in record.plan.nodes)
    return gpus * limit / 3600 if limit is not None and gpus else None
