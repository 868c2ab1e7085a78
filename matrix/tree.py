"""Which tree was run: rows of a table are of several days, and of several commits."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

WRITTEN = ("docs/matrix.md", "matrix/found.json", "docs/gallery.md", "gallery/found.json")
"""What runs of the matrix and the gallery write themselves: no change of what they run."""
NONE = "–"


def commit(root: Path) -> str:
    """The commit of a checkout.

    Args:
        root: its folder.

    Returns:
        Such as "15762ad"; "15762ad+" where files differ from it or are not in it; "–" where there is no git.
    """
    try:
        name = _git(root, "rev-parse", "--short=7", "HEAD").strip()
        changed = _git(root, "status", "--porcelain", "--", ".", *(f":!{path}" for path in WRITTEN))
    except (OSError, subprocess.CalledProcessError):
        return NONE
    return f"{name}+" if changed else name


def told(ran: Mapping[str, Any], parts: Iterable[str]) -> str:
    """The commits of a row, in the order of its parts; "–" where none was noted.

    Args:
        ran: the last runs of its parts, with `commits` by the names of parts.
        parts: their names.
    """
    noted = ran.get("commits", {})
    return ", ".join(dict.fromkeys(noted[part] for part in parts if part in noted)) or NONE


def _git(root: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=root, check=True, capture_output=True, text=True)
    return done.stdout
