"""The cluster that a notebook used last, and the options of its start; remembered after the kernel ends.

What a kernel uses now is recorded for the server, too: the kernel may be busy when a page asks. The server
records where a renamed notebook is now: its kernel, and so its cluster, only knows the path that it had when
the kernel started.
"""

from __future__ import annotations

import hashlib
from collections.abc import Container
from pathlib import Path

import msgspec

from dtrain_lab.machine import atomic_files
from dtrain_lab.services import paths
from dtrain_lab.wire.site import KernelUse


class UsedCluster(msgspec.Struct, frozen=True):
    """The cluster that a notebook used last. `monitor`: the option of its start.

    `begun`: the panel has started it for this notebook, whose kernel has not used it yet. `taken`: the
    notebook had none, and a cell ran on the only one.
    """

    cluster: str
    monitor: bool | None = None
    begun: bool = False
    taken: bool = False


def _path(notebook: str) -> Path:
    return _record(notebook, "notebook")


def _record(name: str, kind: str) -> Path:
    return paths.records() / f"{hashlib.sha256(name.encode()).hexdigest()[:32]}.{kind}"


def remember(notebook: str, used: UsedCluster) -> None:
    """Remember which cluster a notebook uses, also under its path of now, which its next kernel knows.

    Args:
        notebook: Path of the notebook when its kernel started.
        used: The cluster, and how the notebook got it.
    """
    for path in {notebook, path_now(notebook)}:
        atomic_files.swap(_path(path), msgspec.json.encode(used))


def last(notebook: str) -> UsedCluster | None:
    """Return the cluster that a notebook used last; None if unknown."""
    try:
        return msgspec.json.decode(_path(notebook).read_bytes(), type=UsedCluster)
    except (OSError, msgspec.MsgspecError):
        return None


def tell(kernel: str, use: KernelUse) -> None:
    """Record what a kernel calls its notebook, and which cluster it used last.

    Args:
        kernel: The kernel's id on its Jupyter server.
        use: The notebook and the cluster.
    """
    atomic_files.swap(_record(kernel, "kernel"), msgspec.json.encode(use))


def forget(kernel: str) -> None:
    """Remove the record of a kernel that ends."""
    _record(kernel, "kernel").unlink(missing_ok=True)


def note_path(notebook: str, now: str) -> None:
    """Record where a notebook is now; it keeps its cluster there.

    Args:
        notebook: Its path when its kernel started.
        now: Its path on disk.
    """
    record = _record(notebook, "path")
    moved = path_now(notebook) != now
    if now != notebook:
        atomic_files.swap(record, now.encode())
        if moved and (used := last(notebook)) is not None:
            remember(notebook, used)
    elif record.exists():
        record.unlink(missing_ok=True)


def path_now(notebook: str) -> str:
    """Return the current path of a notebook, given the path that it had when its kernel started."""
    try:
        return _record(notebook, "path").read_text()
    except FileNotFoundError:
        return notebook


def of_kernel(kernel: str, running: Container[str]) -> KernelUse:
    """Return what a kernel has recorded; nothing if it has not loaded the magics.

    A cluster that the panel has started for its notebook since is the one that it takes next; else, after a
    restart, the one that the notebook used before.

    Args:
        kernel: The server's id of the kernel.
        running: Ids of the clusters that run.
    """
    try:
        use = msgspec.json.decode(_record(kernel, "kernel").read_bytes(), type=KernelUse)
    except (OSError, msgspec.MsgspecError):
        return KernelUse()
    used = last(use.notebook) if use.notebook is not None else None
    if used is None or used.cluster not in running or not (used.begun or use.cluster is None):
        return use
    return KernelUse(use.notebook, used.cluster)
