"""Paths of notebooks in JupyterLab: those of jobs and sweeps that any client submitted, from any folder."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from msgspec.structs import replace

from dtrain_lab.wire.jobs.job import Job
from dtrain_lab.wire.stacks import Stack
from dtrain_lab.wire.sweeps import Sweep

T = TypeVar("T", Job, Sweep)
FOLLOWED_FOR_S = 10.0
"""Time for which the target of links is kept: links move, and a list of jobs is made twice a second."""


def with_paths(made: Iterable[T], root: str) -> list[T]:
    """Return jobs or sweeps with the paths that their notebooks have in JupyterLab; blocks while disks do.

    Args:
        made: The jobs or sweeps.
        root: The server's root.
    """
    return [with_path(one, root) for one in made]


def with_path(item: T, root: str) -> T:
    """Return a job or sweep with the path that its notebook has in JupyterLab.

    Args:
        item: The job or sweep.
        root: The server's root.
    """
    return replace(item, notebook_path=path_below(root, item.source, item.notebook))


def stacks_with_path(stacks: Sequence[Stack], job: Job) -> list[Stack]:
    """Return a job's stacks with the path that its notebook has in JupyterLab; outside, its absolute one.

    The job's head knows only what the client wrote: in a terminal, a path from the folder in which it was.

    Args:
        stacks: The stacks as the head has answered.
        job: The job, as `with_path` returns it.
    """
    path = job.notebook_path or job.source or job.notebook
    return [
        replace(
            stack,
            frames=tuple(
                replace(frame, where=replace(frame.where, notebook=path)) if frame.where.notebook else frame
                for frame in stack.frames
            ),
        )
        for stack in stacks
    ]


def path_below(root: str, source: str, notebook: str) -> str | None:
    """Return a notebook's path below a server's root; None if it is outside.

    Args:
        root: The server's root; it and folders of the notebook may be links.
        source: Absolute path of the notebook; empty in records of earlier versions.
        notebook: Its path as the client wrote it, which only such records need.
    """
    at, real = _roots(root, _period())
    file = source or (notebook if os.path.isabs(notebook) else f"{at}/{notebook}")
    file = os.path.normpath(file)
    for base in (at, real):
        if file.startswith(f"{base.rstrip('/')}/"):
            return file[len(base.rstrip("/")) + 1 :]
    file = _real(file, _period())
    return file[len(real.rstrip("/")) + 1 :] if file.startswith(f"{real.rstrip('/')}/") else None


def _period() -> int:
    return int(time.monotonic() / FOLLOWED_FOR_S)


@lru_cache(maxsize=8)
def _roots(root: str, _period: int) -> tuple[str, str]:
    at = str(Path(root).expanduser().absolute())
    return os.path.normpath(at), os.path.realpath(at)


@lru_cache(maxsize=4096)
def _real(file: str, _period: int) -> str:
    return os.path.realpath(file)
