"""Creation of a sweep: checks it, and copies the notebook."""

from __future__ import annotations

import asyncio
import getpass
import secrets
import socket
import sys
import time
from pathlib import Path

from msgspec.structs import replace

from dtrain_lab.machine import processes
from dtrain_lab.machine.folders import private
from dtrain_lab.services.index import sweep_names
from dtrain_lab.services.jobs.jobs import Jobs
from dtrain_lab.services.jobs.linked_files import link_rest
from dtrain_lab.services.jobs.submission import Warned
from dtrain_lab.services.plans import packing
from dtrain_lab.services.plans.blocking_findings import refuse
from dtrain_lab.services.sweeps import check
from dtrain_lab.services.sweeps import folder as folders
from dtrain_lab.sweeps.space import written
from dtrain_lab.wire.jobs.job import JobSize
from dtrain_lab.wire.sweeps import SweepRecord, SweepRequest


async def create(jobs: Jobs, request: SweepRequest, file: Path, warned: Warned | None = None) -> Path:
    """Check a sweep and write its folder; nothing is submitted.

    Args:
        jobs: Jobs of this user.
        request: The user's request.
        file: Path of the notebook.
        warned: Called with the check's warnings, if there are any, before anything is written.

    Returns:
        The sweep's folder.

    Raises:
        DtrainError: The sweep can't run: its space, notebook, objective, size or name.
    """
    checked = await check.check_sweep(jobs, request, file, strict=True)
    plan = checked.plan
    refuse(plan.findings)
    warnings = tuple(finding for finding in plan.findings if finding.severity == "warning")
    if warnings and warned is not None:
        warned(warnings)
    record = SweepRecord(
        id=secrets.token_hex(6),
        name=checked.name,
        request=replace(request, space=written(checked.space)),
        file="",
        size=plan.size or JobSize(1, 1),
        total=plan.total,
        parallel=plan.parallel or 1,
        seed=secrets.randbelow(1 << 30),
        owner=getpass.getuser(),
        host=socket.gethostname(),
        system=processes.system(),
        python=sys.executable,
        created_at=time.time(),
        source=str(file.expanduser().absolute()),
    )
    return await asyncio.to_thread(_write, record, file, checked.text)


def _write(record: SweepRecord, file: Path, text: str) -> Path:
    """Write the folder, with copies of the notebook and the files beside it, which all trials run."""
    folder = private(sweep_names.base() / record.id)
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
