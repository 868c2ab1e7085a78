"""A notebook's code: its cells, and the files beside it that they import."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct

from dtrain_lab.jobs.check import local_modules, portability
from dtrain_lab.jobs.check.notebook import imports, running
from dtrain_lab.jobs.check.parsed_cells import Parsed
from dtrain_lab.jobs.notebook import process_group
from dtrain_lab.jobs.notebook.source import Cell
from dtrain_lab.services.plans.packing import LARGEST, Packed


class Code(Struct, frozen=True):
    """A notebook's code.

    Attributes:
        everything: cells and files.
        files: files that the cells import, also through one another.
        imported: modules that the cells import, with cell and line.
        everywhere: those that the files import, too.
        torch_text: text of the files, if the imports show that the notebook trains with torch; else None.
        makes_group: whether cells or files create torch's process group themselves.
        absent: files that the cells read and that do not exist on this machine.
    """

    everything: tuple[Parsed, ...]
    files: tuple[local_modules.Module, ...]
    imported: dict[str, tuple[str, int]]
    everywhere: dict[str, tuple[str, int]]
    torch_text: str | None
    makes_group: bool
    absent: frozenset[str] = frozenset()

    @classmethod
    def of(cls, cells: Sequence[Cell], packed: Packed, folder: Path | None = None) -> Code:
        """Read the files that a job takes along.

        Args:
            cells: cells of the notebook.
            packed: files of its folder.
            folder: that folder, to find files that are absent.
        """

        def read(path: str) -> str | None:
            data = packed.files.get(path)
            return None if data is None else data.decode("utf-8", "replace")

        return cls._of(cells, read, folder)

    @classmethod
    def local_files(cls, cells: Sequence[Cell], folder: Path) -> Code:
        """Read the files of a notebook's folder.

        Args:
            cells: cells of the notebook.
            folder: folder of the notebook.
        """

        return cls._of(cells, partial(_text_of, folder.resolve()))

    @classmethod
    def _of(
        cls, cells: Sequence[Cell], read: Callable[[str], str | None], folder: Path | None = None
    ) -> Code:
        parsed, imported = running(cells), imports(cells)
        wanted = portability.read_only(parsed) if folder is not None else ()
        absent = frozenset(path for path in wanted if not os.path.exists(os.path.join(folder or "", path)))
        files = local_modules.modules(parsed, read)
        everywhere = local_modules.imported(imported, files)
        return cls(
            (*parsed, *(file.parsed for file in files)),
            files,
            imported,
            everywhere,
            local_modules.torch_text(parsed, files, everywhere),
            process_group.makes_group(
                [
                    *(process_group.Code(code.tree, as_main=True) for code in parsed),
                    *(process_group.Code(file.tree, as_main=not file.name) for file in files),
                ]
            ),
            absent,
        )


def _text_of(folder: Path, path: str) -> str | None:
    """Return the text of a regular file below a folder; None for anything else, and for a large one.

    A cell may name any path: reading a pipe would block forever, and a device has no end.
    """
    try:
        file = (folder / path).resolve()
        if not file.is_relative_to(folder):  # by its path, or by a link
            return None
        number = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(number, "rb") as stream:
            if not stat.S_ISREG(os.fstat(number).st_mode):
                return None
            data = stream.read(LARGEST + 1)
        return data.decode("utf-8") if len(data) <= LARGEST else None
    except (OSError, ValueError, RuntimeError):  # RuntimeError: links in a circle
        return None
