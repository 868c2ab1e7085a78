"""The transport of this machine: local commands and files."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from dtrain_lab.backends.hosts import line_counts, text_search
from dtrain_lab.backends.hosts.base import Done
from dtrain_lab.errors import NotFound, Unreachable
from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.machine import atomic_files
from dtrain_lab.machine.folders import RUNTIME_VARIABLE

Found = TypeVar("Found")
SMALL = 4 << 20
"""Bytes; files that describe a job's state are smaller."""
ALLOWED = (
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "TZ",
    "SLURM_CONF",
    "LD_LIBRARY_PATH",
    RUNTIME_VARIABLE,
)
ALLOWED_PREFIXES = ("LC_", "MODULE", "LMOD_")


def filtered_environment() -> dict[str, str]:
    """Return the environment for a job: an allow-list of variables, so that the server's secrets stay out."""
    return {k: v for k, v in os.environ.items() if k in ALLOWED or k.startswith(ALLOWED_PREFIXES)}


END_WITHIN_S = 2.0
"""Time for a command to end after a signal."""


async def _end(process: asyncio.subprocess.Process) -> None:
    """End a command with the processes of its session; `srun` cancels its step at SIGTERM, not at SIGKILL."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        # it ends for asyncio once its pipes are closed, which a process outside of its session may hold open
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(END_WITHIN_S):
                await process.wait()
                return


class LocalTransport:
    """Transport of this machine."""

    async def run(self, command: Sequence[str], stdin: bytes = b"", within_s: float = 60.0) -> Done:
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=filtered_environment(),
                # an interrupt of a kernel or terminal goes to its process group, and ends no command
                start_new_session=True,
            )
        except FileNotFoundError:
            raise NotFound(
                f"This machine has no command {command[0]}.",
                "Set [ssh] login in the profile to a machine that has it installed.",
                code="no_command",
            ) from None
        try:
            async with asyncio.timeout(within_s):
                out, err = await process.communicate(stdin)
        except TimeoutError:
            raise Unreachable(
                f"{command[0]} did not answer in {within_s:.0f} s.",
                "Is the scheduler up?",
                code="slow_command",
            ) from None
        finally:
            if process.returncode is None:  # also if this call was cancelled: nobody would wait for it
                await _end(process)
        return Done(process.returncode or 0, out, err.decode("utf-8", "replace"))

    async def home(self) -> str:
        return str(Path.home())

    async def read(self, path: str, offset: int = 0, most: int | None = None) -> bytes | None:
        return await asyncio.to_thread(_read, path, offset, most)

    async def write(self, folder: str, files: Mapping[str, bytes]) -> None:
        await asyncio.to_thread(_write, Path(folder), files)

    async def replace(self, path: str, data: bytes) -> None:
        await asyncio.to_thread(_replace, Path(path), data)

    async def read_matching(
        self, folder: str, patterns: Sequence[str], within_s: float = 60.0
    ) -> dict[str, bytes] | None:
        return await asyncio.to_thread(_small, Path(folder), patterns)

    async def remove(self, folder: str) -> None:
        await asyncio.to_thread(_remove, folder)

    async def size(self, path: str) -> int:
        return await asyncio.to_thread(_size, path)

    async def find(self, path: str, text: bytes, offset: int, before: bytes = b"") -> int | None:
        return await asyncio.to_thread(_search, text_search.find, path, text, offset, before)

    async def count(self, path: str, text: bytes, offset: int, before: bytes) -> tuple[int, int]:
        return await asyncio.to_thread(_search, line_counts.count, path, text, offset, before)

    async def clock_offset_s(self) -> float:
        return 0.0


def _read(path: str, offset: int, most: int | None) -> bytes | None:
    try:
        with open(path, "rb") as file:
            file.seek(offset)
            return file.read() if most is None else file.read(most)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unreadable(path, error) from error


def private_folders(path: Path) -> None:
    """Create a folder and its missing parents, which only this user can enter.

    Raises:
        OSError: A folder can't be created.
    """
    if not path.is_dir():
        private_folders(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)


def _replace(path: Path, data: bytes) -> None:
    try:
        atomic_files.replace(path, data)
    except OSError as error:
        raise Unreachable(
            f"{path} can't be written: {error.strerror}.",
            "Check the disk's free space and who owns the folder.",
        ) from error


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise _unreadable(path, error) from error


def _remove(folder: str) -> None:
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:
        if not os.path.lexists(folder):
            return
        _remove(folder)  # an entry disappeared meanwhile
    except OSError as error:
        raise Unreachable(
            f"{folder} can't be removed: {error.strerror}: {error.filename}.",
            "Check who owns it, and whether it is in use.",
        ) from error


def _search(
    search: Callable[[str, bytes, int, bytes], Found], path: str, text: bytes, offset: int, before: bytes
) -> Found:
    try:
        return search(path, text, offset, before)
    except OSError as error:
        raise _unreadable(path, error) from error


def _small(folder: Path, patterns: Sequence[str]) -> dict[str, bytes] | None:
    contents = {}
    try:
        if not folder.is_dir():
            return None
        # opening the folder makes a network file system drop its cache of names that did not exist
        with os.scandir(folder):
            pass
        for pattern in patterns:
            for path in folder.glob(pattern):
                try:
                    if path.is_file() and path.stat().st_size < SMALL:
                        contents[str(path.relative_to(folder))] = path.read_bytes()
                except FileNotFoundError:  # replaced meanwhile
                    continue
    except OSError as error:
        raise _unreadable(str(folder), error) from error
    return contents


def _unreadable(path: str, error: OSError) -> Unreachable:
    return Unreachable(
        f"{path} can't be read: {error.strerror}.", "Check that it exists and that you may read it."
    )


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    try:
        private_folders(folder)
        for name, data in files.items():
            private_folders((folder / name).parent)
            descriptor = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
            with open(descriptor, "wb") as file:
                file.write(data)
                if name == job_files.JOB:  # the authoritative record of the job
                    file.flush()
                    os.fsync(file.fileno())
        atomic_files.sync_folder(folder)
        atomic_files.sync_folder(folder.parent)
    except OSError as error:
        raise Unreachable(
            f"{folder} can't be written: {error.strerror}.",
            "Set workdir in the profile to a folder of yours.",
        ) from error
