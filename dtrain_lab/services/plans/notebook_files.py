"""A notebook that was read for a job: its cells, the files beside it, and what they and it do."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

from msgspec import Struct

from dtrain_lab.errors import BadNotebook, NotFound
from dtrain_lab.jobs.notebook.source import Cell, read
from dtrain_lab.services.plans import packing
from dtrain_lab.services.plans.answer_cache import AnswerCache
from dtrain_lab.services.plans.inputs import PlanInputs
from dtrain_lab.services.plans.notebook_code import Code

LARGEST_NOTEBOOK = 64 << 20


class NotebookFiles(Struct, frozen=True):
    """A notebook that was read. `runs`: number of cells that run. `packed`: the files beside it. `code`: what
    it and they do."""

    text: str
    cells: tuple[Cell, ...]
    runs: int
    packed: packing.Packed
    code: Code


async def read_book(file: Path, sources: PlanInputs, recent: AnswerCache) -> NotebookFiles:
    """Read a notebook and the files beside it.

    Args:
        file: Path of the notebook.
        sources: Current sources of the plan, which name the files.
        recent: Cache of packed files.

    Raises:
        NotFound: There is no such file.
        BadNotebook: It can't be read, or has no code.
    """
    text = await asyncio.to_thread(read_notebook, file)
    cells = read(text, str(file))
    runs = sum(cell.runs for cell in cells)
    if not runs:
        raise BadNotebook(f"{file.name} has no code that would run.", "Write a cell, or remove its tags.")
    packed = await recent.ask(
        ("files", str(file.parent), sources.files),
        partial(asyncio.to_thread, packing.pack, file.parent, sources.files),
    )
    return NotebookFiles(
        text, cells, runs, packed, await asyncio.to_thread(Code.of, cells, packed, file.parent)
    )


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
