"""Registry of back-ends by name; a back-end is imported when it is loaded."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points

from dtrain_lab.backends.base import Backend
from dtrain_lab.errors import NotFound
from dtrain_lab.wire.profile import Profile

ENTRY_POINTS = "dtrain_lab.backends.v1"
OURS = {
    name: EntryPoint(name, value, ENTRY_POINTS)
    for name, value in (
        ("local", "dtrain_lab.backends.local.backend:LocalBackend"),
        ("slurm", "dtrain_lab.backends.slurm.backend:SlurmBackend"),
        ("ssh", "dtrain_lab.backends.ssh.backend:SshBackend"),
    )
}
"""Built-in back-ends, found without reading the entry points."""


def names() -> list[str]:
    """Return the names of installed back-ends."""
    return sorted({*OURS, *entry_points(group=ENTRY_POINTS).names})


def has(name: str) -> bool:
    """Return whether a back-end of this name is installed."""
    return name in OURS or name in names()


def load(name: str) -> Backend:
    """Make a back-end of a name.

    Raises:
        NotFound: No back-end of that name is installed, or it can't be loaded.
    """
    points = [OURS[name]] if name in OURS else list(entry_points(group=ENTRY_POINTS, name=name))
    if not points:
        raise NotFound(
            f'This version of dtrain-lab has no back-end "{name}".',
            f"It has: {', '.join(names())}. Change `backend` in the profile.",
            code="no_backend",
        )
    try:
        backend: Backend = points[0].load()()
        if backend.section is not None and name in Profile.__struct_fields__:
            raise TypeError(f'it can\'t have a table "{name}", which is a key of all profiles')
    except Exception as error:
        raise NotFound(
            f'The back-end "{name}" can\'t be loaded: {error}.',
            "Repair or remove its package.",
            code="no_backend",
        ) from error
    return backend
