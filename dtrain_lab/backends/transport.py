"""Commands and files of the machine where a scheduler is asked: this one, or a login node through SSH."""

from __future__ import annotations

import asyncio
import io
import mmap
import os
import shutil
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from dtrain_lab.backends import hosts
from dtrain_lab.backends.hosts import Done
from dtrain_lab.core import room as core_room
from dtrain_lab.core.room import Room
from dtrain_lab.errors import NotFound, Unreachable
from dtrain_lab.machine import RUNTIME_VARIABLE

SMALL = 4 << 20
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


class Transport(Protocol):
    """Where commands run."""

    async def run(self, words: Sequence[str], stdin: bytes = b"", within_s: float = 60.0) -> Done:
        """Run a command to its end."""

    async def home(self) -> str:
        """The user's home folder there."""

    async def read(self, path: str, offset: int = 0, most: int | None = None) -> bytes | None:
        """A file, or a piece of it; None where it is not there."""

    async def write(self, folder: str, files: dict[str, bytes]) -> None:
        """Make a folder that only its user can enter, with files that only its user can read."""

    async def replace(self, path: str, data: bytes) -> None:
        """Put a file in the place of another: readers see the old or the new one, never half of it."""

    async def small(
        self, folder: str, patterns: Sequence[str], within_s: float = 60.0
    ) -> dict[str, bytes] | None:
        """All small files of a folder whose names match; None where there is no such folder."""

    async def remove(self, folder: str) -> None:
        """Remove a folder with all that is in it."""

    async def size(self, path: str) -> int:
        """Bytes of a file; 0 where it is not there."""

    async def find(self, path: str, text: bytes, offset: int) -> int | None:
        """Offset of a text in a file, from another offset on; None where it is not."""

    async def ahead(self) -> float:
        """By how many seconds the clock there is ahead of ours."""


def allowed() -> dict[str, str]:
    """The environment that a job gets from ours: a list of names, and never the server's secrets."""
    return {k: v for k, v in os.environ.items() if k in ALLOWED or k.startswith(ALLOWED_PREFIXES)}


class Here:
    """This machine."""

    async def run(self, words: Sequence[str], stdin: bytes = b"", within_s: float = 60.0) -> Done:
        try:
            process = await asyncio.create_subprocess_exec(
                *words,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=allowed(),
            )
        except FileNotFoundError:
            raise NotFound(
                f"This machine has no command {words[0]}.",
                "Set [ssh] login in the profile to a machine that has it.",
                code="no_command",
            ) from None
        try:
            async with asyncio.timeout(within_s):
                out, err = await process.communicate(stdin)
        except TimeoutError:
            process.kill()
            await process.wait()
            raise Unreachable(
                f"{words[0]} did not answer in {within_s:.0f} s.", "Is the scheduler up?", code="slow_command"
            ) from None
        return Done(process.returncode or 0, out, err.decode("utf-8", "replace"))

    async def home(self) -> str:
        return str(Path.home())

    async def read(self, path: str, offset: int = 0, most: int | None = None) -> bytes | None:
        return await asyncio.to_thread(_read, path, offset, most)

    async def write(self, folder: str, files: dict[str, bytes]) -> None:
        await asyncio.to_thread(_write, Path(folder), files)

    async def replace(self, path: str, data: bytes) -> None:
        await asyncio.to_thread(_replace, Path(path), data)

    async def small(
        self, folder: str, patterns: Sequence[str], within_s: float = 60.0
    ) -> dict[str, bytes] | None:
        return await asyncio.to_thread(_small, Path(folder), patterns)

    async def remove(self, folder: str) -> None:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    async def size(self, path: str) -> int:
        try:
            return os.stat(path).st_size
        except FileNotFoundError:
            return 0

    async def find(self, path: str, text: bytes, offset: int) -> int | None:
        return await asyncio.to_thread(_find, path, text, offset)

    async def ahead(self) -> float:
        return 0.0


class Login:
    """A login node.

    Args:
        host: as the user's ssh knows it.
    """

    def __init__(self, host: str) -> None:
        self.host = host

    async def run(self, words: Sequence[str], stdin: bytes = b"", within_s: float = 60.0) -> Done:
        done = await hosts.run(self.host, words, stdin, within_s)
        if done.code == 127:
            raise NotFound(
                f"{self.host} has no command {words[0]}.",
                "Is it a login node of the scheduler?",
                code="no_command",
            )
        return done

    async def home(self) -> str:
        return (await self.run(["pwd"])).out.decode().strip()

    async def read(self, path: str, offset: int = 0, most: int | None = None) -> bytes | None:
        line = 'test -e "$1" || exit 3; tail -c "+$2" -- "$1"' + (
            "" if most is None else f" | head -c {most}"
        )
        done = await self.run(["bash", "-c", line, "bash", path, str(offset + 1)])
        return None if done.code else done.out

    async def write(self, folder: str, files: dict[str, bytes]) -> None:
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as tar:
            for name, data in files.items():
                entry = tarfile.TarInfo(name)
                entry.size, entry.mode = len(data), 0o600
                tar.addfile(entry, io.BytesIO(data))
        line = 'umask 077; mkdir -p -- "$1" && tar -xof - --no-same-permissions -C "$1"'
        await self._must(["bash", "-c", line, "bash", folder], packed.getvalue())

    async def replace(self, path: str, data: bytes) -> None:
        line = 'umask 077; cat > "$1.part" && mv -- "$1.part" "$1"'
        await self._must(["bash", "-c", line, "bash", path], data)

    async def small(
        self, folder: str, patterns: Sequence[str], within_s: float = 60.0
    ) -> dict[str, bytes] | None:
        # names only by pattern: the patterns are ours, and the shell expands them
        wanted = " ".join(patterns)
        line = f'cd -- "$1" 2> /dev/null || exit 3; shopt -s nullglob; set -- {wanted}; '
        line += f'[ $# = 0 ] || find "$@" -maxdepth 1 -type f -size -{SMALL >> 10}k -print0 '
        line += "| tar -cf - --null -T -"
        done = await self.run(["bash", "-c", line, "bash", folder], within_s=within_s)
        if done.code == 3:
            return None
        found: dict[str, bytes] = {}
        if done.out:
            with tarfile.open(fileobj=io.BytesIO(done.out)) as tar:
                for entry in tar:
                    file = tar.extractfile(entry)
                    if file is not None:
                        found[entry.name] = file.read()
        return found

    async def remove(self, folder: str) -> None:
        await self._must(["rm", "-rf", "--", folder])

    async def size(self, path: str) -> int:
        done = await self.run(["stat", "-c", "%s", "--", path])
        return int(done.out) if done.code == 0 else 0

    async def find(self, path: str, text: bytes, offset: int) -> int | None:
        line = 'tail -c "+$(($2 + 1))" -- "$1" | LC_ALL=C grep -a -b -m 1 -F -f <(cat <&3) | cut -d: -f1'
        done = await self.run(["bash", "-c", f"{{ {line}; }} 3<&0", "bash", path, str(offset)], text + b"\n")
        found = done.out.strip()
        return offset + int(found) if found.isdigit() else None

    async def ahead(self) -> float:
        return await hosts.ahead(self.host)

    async def _must(self, words: Sequence[str], stdin: bytes = b"") -> None:
        done = await self.run(words, stdin)
        if done.code:
            raise Unreachable(f"{self.host}: {done.err.strip()}", "Is the folder there, and yours?")


def transport(login: str | None) -> Transport:
    """To this machine, or to a login node."""
    return Here() if login is None else Login(login)


async def room(way: Transport, folder: str) -> Room:
    """How much may be written where a folder is, or would be."""
    done = await way.run(["bash", "-c", core_room.SCRIPT, "bash", folder])
    return core_room.read(done.out.decode(errors="replace"), folder)


def _read(path: str, offset: int, most: int | None) -> bytes | None:
    try:
        with open(path, "rb") as file:
            file.seek(offset)
            return file.read() if most is None else file.read(most)
    except FileNotFoundError:
        return None


def private_folders(path: Path) -> None:
    """Make a folder and what is missing above it; only its user can enter them.

    Raises:
        OSError: it can't be made.
    """
    if not path.is_dir():
        private_folders(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)


def _replace(path: Path, data: bytes) -> None:
    part = path.with_name(f".{path.name}.part")
    try:
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "wb") as file:
            file.write(data)
        part.rename(path)
    except OSError as error:
        raise Unreachable(
            f"{path} can't be written: {error.strerror}.", "Is there room, and is the folder yours?"
        ) from error


def _find(path: str, text: bytes, offset: int) -> int | None:
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as whole:
            found = whole.find(text, offset)
    except (FileNotFoundError, ValueError):  # an empty file can't be mapped
        return None
    return None if found < 0 else found


def _small(folder: Path, patterns: Sequence[str]) -> dict[str, bytes] | None:
    if not folder.is_dir():
        return None
    found = {}
    for pattern in patterns:
        for path in folder.glob(pattern):
            try:
                if path.is_file() and path.stat().st_size < SMALL:
                    found[str(path.relative_to(folder))] = path.read_bytes()
            except FileNotFoundError:  # replaced meanwhile
                continue
    return found


def _write(folder: Path, files: dict[str, bytes]) -> None:
    try:
        private_folders(folder)
        for name, data in files.items():
            private_folders((folder / name).parent)
            descriptor = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
            with open(descriptor, "wb") as file:
                file.write(data)
    except OSError as error:
        raise Unreachable(
            f"{folder} can't be written: {error.strerror}.",
            "Set workdir in the profile to a folder of yours.",
        ) from error
