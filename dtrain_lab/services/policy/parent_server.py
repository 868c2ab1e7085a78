"""The Jupyter server between a kernel and its page, and what it forwards of the kernel's output."""

from __future__ import annotations

from typing import NamedTuple

from dtrain_lab.errors import Forbidden
from dtrain_lab.machine import jupyter_variables
from dtrain_lab.services.policy import policy
from dtrain_lab.wire.processes.settings import OutputLimits


class ParentServer(NamedTuple):
    """The server that forwards a kernel's output. `extension`: whether this package runs in it."""

    limits: OutputLimits
    extension: bool


def has_panel() -> bool:
    """Return whether the page of this kernel's server has the Distributed panel."""
    server = of_kernel()
    return server is not None and server.extension


def of_kernel() -> ParentServer | None:
    """Return this kernel's server; None if the process that started the kernel reads its output."""
    pid = jupyter_variables.server()
    try:
        settings = policy.published_by(pid) if pid is not None else None
    except Forbidden:
        return ParentServer(OutputLimits(), extension=True)
    if settings is not None:
        return ParentServer(settings.output, extension=True)
    in_session = jupyter_variables.notebook() is not None
    return ParentServer(OutputLimits(), extension=False) if in_session else None
