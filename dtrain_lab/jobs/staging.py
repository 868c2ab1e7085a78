"""Staging: names and paths of the data that a job copies to each node's local disk."""

from __future__ import annotations

import os.path
from collections.abc import Mapping, Sequence

from dtrain_lab.errors import BadRequest

INDEX = ".index.json"
"""File in that folder: path of each original → name of its copy."""


def names(paths: Sequence[str]) -> dict[str, str]:
    """Name each path's copy by the path's last part.

    Args:
        paths: absolute paths of files and folders, or paths that begin with `~/`.

    Returns:
        Name of the copy → normalized path.

    Raises:
        BadRequest: a path is not absolute or can't be copied, or two have the same last part.
    """
    sources: dict[str, str] = {}
    for path in paths:
        plain = os.path.normpath(path)
        name = os.path.basename(plain)
        if plain in ("/", "//"):
            raise BadRequest(
                "The whole disk can't be copied to the nodes.",
                "Name the file or folder that the job reads, such as /data/cifar10.",
                code="bad_stage",
                details={"field": "stage"},
            )
        whole = path.startswith(("/", "~/")) and not any(ord(c) < 32 for c in path)
        if not whole or not name or name.startswith(("~", ".")):
            raise BadRequest(
                f'"{path}" can\'t be copied to the nodes.',
                "Give the whole path of a file or folder, such as /data/cifar10.",
                code="bad_stage",
                details={"field": "stage"},
            )
        if name in sources:
            raise BadRequest(
                f'{sources[name]} and {path} are both called "{name}".',
                "Name the folder around them.",
                code="bad_stage",
                details={"field": "stage"},
            )
        sources[name] = plain
    return sources


def find(path: str, folder: str, index: Mapping[str, str]) -> str:
    """Return the path of a copy, or the path itself if it was not copied.

    Args:
        path: absolute path of an original, or of a file below it.
        folder: folder of the copies.
        index: path of each original → name of its copy.
    """
    plain = os.path.normpath(path)
    for original, name in index.items():
        if plain == original or plain.startswith(original.rstrip("/") + "/"):
            return os.path.normpath(os.path.join(folder, name, os.path.relpath(plain, original)))
    return path
