"""The transport of a remote host: commands and files through SSH."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping, Sequence

from dtrain_lab.backends.hosts import ssh_connections
from dtrain_lab.backends.hosts.base import Done
from dtrain_lab.backends.hosts.local_transport import SMALL
from dtrain_lab.backends.hosts.text_search import in_any_case
from dtrain_lab.errors import NotFound, Unreachable

ABSENT = 3
READABLE = '[ -e "$1" ] || exit 3; { [ -r "$1" ] && [ ! -d "$1" ]; } || { echo "not readable" >&2; exit 4; }'
"""Ends a command whose first argument is a file that is not there (`ABSENT`), or that can't be read."""
"""Exit code of dtrain-lab's own commands for "does not exist"; other codes don't tell whether it exists."""
READ = (0, 1, 2)
"""`tar` exits with 1 or 2 if a file was replaced or removed meanwhile; the archive has the other files."""
SYNC = "{{ sync -- {} 2> /dev/null || :; }}"
"""Flush a file to disk, if this `sync` accepts file names."""


class SshTransport:
    """Transport of a host through SSH.

    Args:
        host: Host name, as in the user's ssh configuration.
    """

    def __init__(self, host: str) -> None:
        self.host = host

    async def run(self, command: Sequence[str], stdin: bytes = b"", within_s: float = 60.0) -> Done:
        done = await ssh_connections.run(self.host, command, stdin, within_s)
        if done.code == 127:
            raise NotFound(
                f"{self.host} has no command {command[0]}.",
                "Is it a login node of the scheduler?",
                code="no_command",
            )
        return done

    async def home(self) -> str:
        return (await self.run(["pwd"])).out.decode().strip()

    async def read(self, path: str, offset: int = 0, most: int | None = None) -> bytes | None:
        line = 'test -e "$1" || exit 3; test -r "$1" || exit 4; tail -c "+$2" -- "$1"' + (
            "" if most is None else f" | head -c {most}"
        )
        done = await self.run(["bash", "-c", line, "bash", path, str(offset + 1)])
        if done.code == ABSENT:
            return None
        if done.code:  # unreadable does not mean missing
            raise self._failed(done, path)
        return done.out

    async def write(self, folder: str, files: Mapping[str, bytes]) -> None:
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as tar:
            for name, data in files.items():
                entry = tarfile.TarInfo(name)
                entry.size, entry.mode = len(data), 0o600
                tar.addfile(entry, io.BytesIO(data))
        line = 'umask 077; mkdir -p -- "$1" && tar -xof - --no-same-permissions -C "$1" && sync_'
        line = line.replace("sync_", SYNC.format('"$1/job.json" "$1"'))
        await self._must(["bash", "-c", line, "bash", folder], packed.getvalue())

    async def replace(self, path: str, data: bytes) -> None:
        # a name of its own for each call: two may replace the file at once
        line = 'umask 077; part="$1.$$.part"; cat > "$part" && ' + SYNC.format('"$part"')
        line += ' && mv -- "$part" "$1" && '
        line += SYNC.format('"${1%/*}"')
        await self._must(["bash", "-c", line, "bash", path], data)

    async def read_matching(
        self, folder: str, patterns: Sequence[str], within_s: float = 60.0
    ) -> dict[str, bytes] | None:
        # patterns are unquoted: they are dtrain-lab's own, and the remote shell expands them
        wanted = " ".join(patterns)
        line = f'cd -- "$1" 2> /dev/null || exit 3; shopt -s nullglob; set -- {wanted}; '
        line += f'[ $# = 0 ] || find "$@" -maxdepth 1 -type f -size -{SMALL >> 10}k -print0 '
        line += "| tar -cf - --null -T -"
        done = await self.run(["bash", "-c", line, "bash", folder], within_s=within_s)
        if done.code == ABSENT:
            return None
        if done.code not in READ or (done.code and not done.out):
            raise self._failed(done, folder)
        try:
            return _unpacked(done.out)
        except tarfile.TarError as error:
            raise Unreachable(
                f"{self.host}: the transfer of {folder} was cut off: {error}.", "Try again."
            ) from error

    async def remove(self, folder: str) -> None:
        await self._must(["rm", "-rf", "--", folder])

    async def size(self, path: str) -> int:
        done = await self.run(["stat", "-c", "%s", "--", path])
        return int(done.out) if done.code == 0 else 0

    async def find(self, path: str, text: bytes, offset: int, before: bytes = b"") -> int | None:
        how, pattern = ("-E", _shown(text, before)) if before else ("-F", text)
        line = f'tail -c "+$(($2 + 1))" -- "$1" | LC_ALL=C grep -a -b -m 1 {how} -f <(cat <&3) | cut -d: -f1'
        command = ["bash", "-c", f"{READABLE}; {{ {line}; }} 3<&0", "bash", path, str(offset)]
        done = await self.run(command, pattern + b"\n")
        if done.code == ABSENT:
            return None
        if done.code:
            raise self._failed(done, path)
        position = done.out.strip()
        return offset + int(position) if position.isdigit() else None

    async def count(self, path: str, text: bytes, offset: int, before: bytes) -> tuple[int, int]:
        # grep ends with 1 where it counts 0; the builtin printf keeps the text out of the list of processes
        line = f"""pattern=$(cat); {READABLE}
count() {{ LC_ALL=C grep -a -c -E -f <(printf '%s\\n' "$pattern"); }}
head -c "$2" -- "$1" | count; tail -c "+$(($2 + 1))" -- "$1" | count; true"""
        done = await self.run(["bash", "-c", line, "bash", path, str(offset)], _shown(text, before))
        if done.code == ABSENT:
            return 0, 0
        numbers = done.out.split()
        if done.code or len(numbers) != 2:
            raise self._failed(done, path)
        return int(numbers[0]), int(numbers[1])

    async def clock_offset_s(self) -> float:
        return await ssh_connections.ahead(self.host)

    def _failed(self, done: Done, path: str) -> Unreachable:
        return Unreachable(f"{self.host}: {path} can't be read: {done.why}.", "Check that the host is up.")

    async def _must(self, command: Sequence[str], stdin: bytes = b"") -> None:
        done = await self.run(command, stdin)
        if done.code:
            raise Unreachable(
                f"{self.host}: {done.err.strip()}", "Check that the folder exists, and who owns it."
            )


def _shown(text: bytes, before: bytes) -> bytes:
    """Return grep's expression for a line whose last state (`cells.merge.last_state`) has a text."""
    return b"^" + before + b"(.*\r)?[^\r]*" + in_any_case(text) + b"[^\r]*\r*$"


def _unpacked(data: bytes) -> dict[str, bytes]:
    """Return the files of an archive, by name; empty for an empty archive."""
    files: dict[str, bytes] = {}
    if data:
        with tarfile.open(fileobj=io.BytesIO(data)) as tar:
            for entry in tar:
                file = tar.extractfile(entry)
                if file is not None:
                    files[entry.name] = file.read()
    return files
