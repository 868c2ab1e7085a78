"""Recovery of a lost or damaged job index from the records in the jobs' folders."""

from __future__ import annotations

import asyncio
import getpass
import logging
import os
import posixpath
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from dtrain_lab.backends.hosts.ssh_transport import SshTransport
from dtrain_lab.errors import DtrainError, NotFound
from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.services.index.store import Filed
from dtrain_lab.services.policy import backends
from dtrain_lab.services.profiles import files as profiles
from dtrain_lab.wire.codec import lenient
from dtrain_lab.wire.jobs.job import JobRecord
from dtrain_lab.wire.profile import Profile

log = logging.getLogger(__name__)


class Rebuilt(Struct, frozen=True):
    """Result of a rebuild. `found`: job folders; `added`: jobs new to the index; `problems`: sentences."""

    found: int
    added: int
    problems: tuple[str, ...] = ()


def bound(folder: str, data: bytes) -> Filed:
    """Decode the record of a folder; if the folder was moved, the record's paths are updated.

    Args:
        folder: Folder in which the record was found.
        data: Content of its `job.json`.

    Raises:
        msgspec.DecodeError: This version can't read the record.
        ValueError: The record belongs to another job.
    """
    record = lenient.decode(data, JobRecord)
    if record.id != posixpath.basename(folder):  # a copied folder: acting on it would act on the original job
        raise ValueError(f"it has the record of the job {record.id}")
    fields: dict[str, Any] = msgspec.json.decode(data)
    if record.directory != folder:
        old, new = posixpath.dirname(record.directory), posixpath.dirname(folder)
        fields["directory"] = folder
        fields["plan"]["directory"] = f"{folder}/{job_files.CODE}"
        if record.checkpoints.startswith(f"{old}/"):
            fields["checkpoints"] = new + record.checkpoints.removeprefix(old)
    if record.owner != getpass.getuser():  # the handle names another user's processes
        fields["handle"] = None
    bound = msgspec.json.encode(fields)
    return lenient.decode(bound, JobRecord), bound


def below(base: Path) -> Iterator[Filed | str]:
    """Yield the jobs below a folder of this machine; for one that can't be used, a sentence that says why."""
    try:
        folders = sorted(entry.path for entry in os.scandir(base) if entry.is_dir(follow_symlinks=False))
    except OSError:
        return
    for folder in folders:
        path = Path(folder) / job_files.JOB
        try:
            if path.is_symlink() or path.stat().st_uid != os.getuid():
                continue
            yield bound(folder, path.read_bytes())
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            yield f"{folder}: {error}"


def nearby() -> Iterator[Filed]:
    """Yield the jobs in all folders of this machine that profiles name."""
    for base in bases():
        for entry in below(base):
            if isinstance(entry, str):
                log.warning("not taken into the index: %s", entry)
            else:
                yield entry


async def filed(folder: Path | None) -> tuple[dict[str, Filed], tuple[str, ...]]:
    """Return jobs by id, read from their folders, and a sentence for each folder that can't be used.

    Args:
        folder: Parent of the jobs' folders; by default those of all profiles, on all their machines.

    Raises:
        NotFound: There is no such folder.
    """
    if folder is not None and not folder.is_dir():
        raise NotFound(f"There is no folder {folder}.", "Name the folder that contains the jobs' folders.")
    parents = [folder] if folder is not None else await asyncio.to_thread(bases)
    entries = [entry for base in parents for entry in await asyncio.to_thread(lambda b: [*below(b)], base)]
    problems = [entry for entry in entries if isinstance(entry, str)]
    jobs = {entry[0].id: entry for entry in entries if not isinstance(entry, str)}
    if folder is None:
        there, silent = await far()
        jobs = {record.id: (record, data) for record, data in there} | jobs
        problems += silent
    return jobs, tuple(problems)


def bases() -> list[Path]:
    """Return the folders of this machine that contain jobs' folders."""
    folders = [Path.home() / ".dtrain-lab" / "jobs"]
    folders += [Path(p.workdir) / "jobs" for p in _profiles() if p.workdir is not None and not _logins(p)]
    return list(dict.fromkeys(folders))


async def far() -> tuple[list[Filed], list[str]]:
    """Return jobs in the folders of other machines that profiles name, and what could not be read."""
    places = {(transport.host, p.workdir): transport for p in _profiles() for transport in _logins(p)}
    by_id: dict[str, Filed] = {}
    problems = []
    for (host, workdir), transport in sorted(places.items(), key=str):
        try:
            base = f"{workdir or '.dtrain-lab'}/jobs"
            base = base if base.startswith("/") else f"{await transport.home()}/{base}"
            files = await transport.read_matching(base, (f"*/{job_files.JOB}",)) or {}
        except DtrainError as error:
            problems.append(str(error))
            continue
        for name, data in files.items():
            folder = f"{base}/{posixpath.dirname(name)}"
            try:
                record, data = bound(folder, data)
            except ValueError as error:
                problems.append(f"{host}: {folder}: {error}")
                continue
            by_id.setdefault(record.id, (record, data))
    return list(by_id.values()), problems


def _profiles() -> list[Profile]:
    return [listed.profile for listed in profiles.listing() if listed.profile is not None]


def _logins(profile: Profile) -> list[SshTransport]:
    """Return the other machines that have jobs of a profile; empty if the profile is unusable."""
    with suppress(DtrainError):
        transports = backends.backend(profile.backend).roots(profile)
        return [transport for transport in transports if isinstance(transport, SshTransport)]
    return []
