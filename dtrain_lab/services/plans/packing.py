"""Selects and reads the files that a job takes along: code and small files of the notebook's folder."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

IGNORE_FILE = ".dtrainignore"
LARGEST = 1 << 20
ALL = 32 << 20
MOST_FILES = 2000
DEEPEST = 6
NEVER = (
    "__pycache__",
    "node_modules",
    "*.pyc",
    "*.ipynb",
    "checkpoints",
    "*.pt",
    "*.ckpt",
    "*.safetensors",
    "executed.ipynb",
)


class Packed(Struct, frozen=True):
    """Files to send. `files`: path in the job's folder → content. `left`: paths left out, including links to
    folders."""

    files: dict[str, bytes]
    left: tuple[str, ...]


class Survey(Struct, frozen=True):
    """Files that `pack` would read. `files`: path, size (bytes), mtime (ns). `left`: as in `Packed`."""

    files: tuple[tuple[str, int, int], ...] = ()
    left: tuple[str, ...] = ()


def survey(folder: Path) -> Survey:
    """List the files of a folder that a job takes along, without reading them.

    Large and hidden files, notebooks and matches of `.dtrainignore` are left out. A home folder is not a
    project: only the Python files at its top are taken.
    """
    patterns = _patterns(folder)
    root = folder.resolve()
    home = folder in (Path.home(), Path("/"))
    files: list[tuple[str, int, int]] = []
    left: list[str] = []
    size = 0
    for path in sorted(_walk(folder, "", patterns, 1 if home else DEEPEST)):
        source = folder / path
        try:
            status = source.stat()
            wanted = source.is_file() and (not home or path.endswith(".py"))
            # a link out of the project may lead to private files: never send its target
            wanted = wanted and source.resolve().is_relative_to(root) and os.access(source, os.R_OK)
        except OSError:  # removed meanwhile
            wanted = False
        if not wanted or status.st_size > LARGEST or size + status.st_size > ALL or len(files) >= MOST_FILES:
            left.append(path)
            continue
        files.append((path, status.st_size, status.st_mtime_ns))
        size += status.st_size
    return Survey(tuple(files), tuple(left))


def pack(folder: Path, surveyed: Survey | None = None) -> Packed:
    """Read the files of a folder that a job takes along.

    Args:
        folder: Folder of the notebook.
        surveyed: A recent survey of it; made here by default.
    """
    surveyed = surveyed or survey(folder)
    files: dict[str, bytes] = {}
    left = list(surveyed.left)
    for path, _, _ in surveyed.files:
        try:
            files[path] = (folder / path).read_bytes()
        except OSError:  # removed, or not readable
            left.append(path)
    return Packed(files, tuple(sorted(left)))


def _patterns(folder: Path) -> tuple[str, ...]:
    try:
        lines = (folder / IGNORE_FILE).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return NEVER
    return (
        *NEVER,
        *(line.strip().rstrip("/") for line in lines if line.strip() and not line.startswith("#")),
    )


def _walk(folder: Path, below: str, patterns: tuple[str, ...], depth: int) -> Iterator[str]:
    try:
        entries = list(os.scandir(folder / below))
    except OSError:
        return
    if {"job.json", "job.sh"} <= {entry.name for entry in entries}:  # the folder of an earlier job
        return
    for entry in entries:
        path = f"{below}{entry.name}"
        if entry.name.startswith(".") or _ignored(path, entry.name, patterns):
            continue
        if entry.is_dir(follow_symlinks=False):
            if depth > 1:
                yield from _walk(folder, f"{path}/", patterns, depth - 1)
            elif below:  # too deep: left out as a whole, and named
                yield path
        elif entry.is_file() or (entry.is_symlink() and entry.is_dir()):
            yield path


def _ignored(path: str, name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatch(name, p) or fnmatch.fnmatch(path, p) for p in patterns)
