"""Environment variables in which Jupyter passes a kernel its server's pid and its notebook's path."""

from __future__ import annotations

import os
from collections.abc import Mapping

SERVER = "JPY_PARENT_PID"
"""The server's pid, for kernels that a launcher started."""
NOTEBOOK = "JPY_SESSION_NAME"
"""A notebook's path, for the kernels of the server's sessions."""


def server(variables: Mapping[str, str] = os.environ) -> int | None:
    """Return the pid of a kernel's server; None if there is none."""
    text = variables.get(SERVER, "")
    return int(text) if text.isdecimal() else None


def notebook(variables: Mapping[str, str] = os.environ) -> str | None:
    """Return the path of a kernel's notebook; None if its server has no session for it."""
    return variables.get(NOTEBOOK)
