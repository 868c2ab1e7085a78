"""Data that a job copies to each node's own disk: what its names are there, and where."""

from __future__ import annotations

import os.path
from collections.abc import Mapping, Sequence

from dtrain_lab.errors import BadRequest

VARIABLE = "DTRAIN_STAGED"
"""Folder of the copy, in ranks."""
INDEX = ".index.json"
"""In that folder: path of the original → name of its copy."""


def names(paths: Sequence[str]) -> dict[str, str]:
    """What each path is called in the copy: its last part.

    Raises:
        BadRequest: a path is not absolute, or two have the same last part.
    """
    found: dict[str, str] = {}
    for path in paths:
        plain = os.path.normpath(path)
        name = os.path.basename(plain)
        whole = path.startswith(("/", "~/")) and not any(ord(c) < 32 for c in path)
        if not whole or not name or name.startswith(("~", ".")):
            raise BadRequest(
                f'stage: "{path}" can\'t be copied to the nodes.',
                "Give the whole path of a file or folder, /data/cifar10.",
                code="bad_stage",
                details={"field": "stage"},
            )
        if name in found:
            raise BadRequest(
                f'stage: {found[name]} and {path} are both called "{name}".',
                "Name the folder around them.",
                code="bad_stage",
                details={"field": "stage"},
            )
        found[name] = plain
    return found


def find(path: str, folder: str, index: Mapping[str, str]) -> str:
    """Where the copy of a path lies; the path itself where none was made.

    Args:
        path: of the original, or below it; absolute.
        folder: of the copy.
        index: path of an original → name of its copy.
    """
    plain = os.path.normpath(path)
    for original, name in index.items():
        if plain == original or plain.startswith(original.rstrip("/") + "/"):
            return os.path.normpath(os.path.join(folder, name, os.path.relpath(plain, original)))
    return path
