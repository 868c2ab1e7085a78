"""Paths of notebooks in JupyterLab: those of jobs and sweeps that any client submitted, from any folder."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from msgspec.structs import replace

from dtrain_lab.wire.jobs.job import Job
from dtrain_lab.wire.sweeps import Sweep

T = TypeVar("T", Job, Sweep)


def with_path(made: T, root: str) -> T:
    """Return a job or sweep with the path that its notebook has in JupyterLab.

    Args:
        made: The job or sweep.
        root: The server's root.
    """
    return replace(made, notebook_path=path_below(root, made.source, made.notebook))


def path_below(root: str, source: str, notebook: str) -> str | None:
    """Return a notebook's path below a server's root; None if it is outside.

    Args:
        root: The server's root; it and folders of the notebook may be links.
        source: Absolute path of the notebook; empty in records of earlier versions.
        notebook: Its path as the client wrote it, which only such records need.
    """
    at, real = _roots(root)
    file = source or (notebook if os.path.isabs(notebook) else f"{at}/{notebook}")
    file = os.path.normpath(file)
    for base in (at, real):
        if file.startswith(f"{base.rstrip('/')}/"):
            return file[len(base.rstrip("/")) + 1 :]
    file = _real(file)
    return file[len(real.rstrip("/")) + 1 :] if file.startswith(f"{real.rstrip('/')}/") else None


@lru_cache(maxsize=8)
def _roots(root: str) -> tuple[str, str]:
    at = str(Path(root).expanduser().absolute())
    return os.path.normpath(at), os.path.realpath(at)


@lru_cache(maxsize=4096)
def _real(file: str) -> str:
    """Resolve a path once: frames with all jobs are sent several times a second."""
    return os.path.realpath(file)
