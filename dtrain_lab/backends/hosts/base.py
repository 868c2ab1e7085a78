"""What back-ends do on a host, this machine or another one: run commands, and read and write files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol


class Done(NamedTuple):
    """Exit code and output of a command that has ended."""

    code: int
    out: bytes
    err: str

    @property
    def why(self) -> str:
        """Why the command failed, as far as it said."""
        return next(iter(self.err.strip().splitlines()[-1:]), f"its answer was {self.code}")


class Transport(Protocol):
    """Runs commands and accesses files on one machine."""

    async def run(self, command: Sequence[str], stdin: bytes = b"", within_s: float = 60.0) -> Done:
        """Run a command and wait for its end.

        Args:
            command: Program and arguments.
            stdin: Standard input of the command.
            within_s: Timeout in seconds.

        Raises:
            NotFound: The machine has no such command.
            Unreachable: The machine can't be reached, or the command does not end in time.
        """

    async def home(self) -> str:
        """Return the user's home folder."""

    async def read(self, path: str, offset: int = 0, most: int | None = None) -> bytes | None:
        """Read a file or a piece of it.

        Args:
            path: Absolute path of the file.
            offset: Offset in bytes.
            most: Maximum number of bytes; None for no limit.

        Returns:
            The content; None if the file does not exist.

        Raises:
            Unreachable: The file exists and can't be read.
        """

    async def write(self, folder: str, files: Mapping[str, bytes]) -> None:
        """Create a folder that only the user can enter, with files that only the user can read.

        Args:
            folder: Absolute path of the folder.
            files: Name → content.
        """

    async def replace(self, path: str, data: bytes) -> None:
        """Replace a file atomically: readers see the old or the new content.

        Args:
            path: Absolute path of the file; its folder exists.
            data: The new content.
        """

    async def read_matching(
        self, folder: str, patterns: Sequence[str], within_s: float = 60.0
    ) -> dict[str, bytes] | None:
        """Read all small files of a folder that match the patterns.

        Args:
            folder: Absolute path of the folder.
            patterns: Shell patterns, relative to the folder.
            within_s: Timeout in seconds on another machine; ignored on this one.

        Returns:
            Relative path → content; None if the folder does not exist.

        Raises:
            Unreachable: The folder can't be read.
        """

    async def remove(self, folder: str) -> None:
        """Remove a folder and its contents; does nothing if it does not exist.

        Raises:
            Unreachable: The folder can't be removed, or only in part.
        """

    async def size(self, path: str) -> int:
        """Return the size of a file in bytes; 0 if it does not exist."""

    async def find(self, path: str, text: bytes, offset: int, before: bytes = b"") -> int | None:
        """Find the first line that contains a text, from an offset on.

        With `before`, the text is searched for, in any case, in what the line shows in the end
        (`cells.merge.last_state`); without, as it is in all that the line has.

        Args:
            path: The file.
            text: The text.
            offset: Where a line begins.
            before: Regular expression that the line matches from its start, before what it shows; only what
                Python and POSIX (extended) have in common; empty for any start.

        Returns:
            Where that line begins; None if there is no such line.

        Raises:
            Unreachable: The file can't be read.
        """

    async def count(self, path: str, text: bytes, offset: int, before: bytes) -> tuple[int, int]:
        """Count the lines that show a text, in any case.

        Args:
            path: The file.
            text: The text.
            offset: Where a line begins.
            before: As in `find`.

        Returns:
            The numbers of those that begin before the offset, and of the others; zeros without the file.

        Raises:
            Unreachable: The file can't be read.
        """

    async def clock_offset_s(self) -> float:
        """Return the seconds by which the machine's clock is ahead of the local one."""
