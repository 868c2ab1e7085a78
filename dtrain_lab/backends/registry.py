"""Back-ends by name; imported only when asked for."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.metadata import entry_points

from dtrain_lab.backends.base import Backend
from dtrain_lab.errors import NotFound

ENTRY_POINTS = "dtrain_lab.backends.v1"
OURS = {
    "local": "dtrain_lab.backends.local:LocalBackend",
    "slurm": "dtrain_lab.backends.slurm:SlurmBackend",
    "ssh": "dtrain_lab.backends.ssh:SshBackend",
}


def names() -> list[str]:
    """Back-ends that this installation has."""
    return sorted({*OURS, *(point.name for point in entry_points(group=ENTRY_POINTS))})


@cache
def backend(name: str) -> Backend:
    """The back-end of a name; one in a process, so that connections and questions are shared.

    Raises:
        NotFound: this installation has none of that name.
    """
    if name in OURS:
        module, _, kind = OURS[name].partition(":")
        made: Backend = getattr(import_module(module), kind)()
        return made
    for point in entry_points(group=ENTRY_POINTS, name=name):
        loaded: Backend = point.load()()
        return loaded
    raise NotFound(
        f'This version of dtrain-lab has no back-end "{name}".',
        f"It has: {', '.join(names())}. Change `backend` in the profile.",
        code="no_backend",
    )
