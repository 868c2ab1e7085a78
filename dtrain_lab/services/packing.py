"""What travels with a job: the code and the small files of the notebook's folder."""

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
    """`files`: path in the job's folder → contents. `left`: paths that stay behind."""

    files: dict[str, bytes]
    left: tuple[str, ...]


def pack(folder: Path) -> Packed:
    """Files of a folder that are small enough; hidden ones, notebooks and what `.dtrainignore` names stay.

    A home folder is no project: of that only Python files go.
    """
    patterns = _patterns(folder)
    home = folder in (Path.home(), Path("/"))
    files: dict[str, bytes] = {}
    left: list[str] = []
    size = 0
    for path in sorted(_walk(folder, "", patterns, 1 if home else DEEPEST)):
        source = folder / path
        try:
            length = source.stat().st_size
            wanted = not home or path.endswith(".py")
            if not wanted or length > LARGEST or size + length > ALL or len(files) >= MOST_FILES:
                left.append(path)
                continue
            files[path] = source.read_bytes()
        except OSError:  # gone, or not for us to read
            left.append(path)
            continue
        size += length
    return Packed(files, tuple(left))


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
    if {"job.json", "job.sh"} <= {entry.name for entry in entries}:  # an earlier job's own folder
        return
    for entry in entries:
        path = f"{below}{entry.name}"
        if entry.name.startswith(".") or _ignored(path, entry.name, patterns):
            continue
        if entry.is_dir(follow_symlinks=False):
            if depth > 1:
                yield from _walk(folder, f"{path}/", patterns, depth - 1)
        elif entry.is_file():
            yield path


def _ignored(path: str, name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatch(name, p) or fnmatch.fnmatch(path, p) for p in patterns)
