"""The back-ends of this process: one instance of each, under the administrator's and the user's limits."""

from __future__ import annotations

from functools import cache

from msgspec import Struct

from dtrain_lab.backends import registry
from dtrain_lab.backends.base import Backend
from dtrain_lab.services.policy import options


@cache
def backend(name: str) -> Backend:
    """Return the back-end of a name; one instance per process, so that connections and queries are shared.

    Raises:
        NotFound: No back-end of that name is installed, or it can't be loaded.
    """
    loaded = registry.load(name)
    loaded.poll_floor_s = options.poll_floor_s
    return loaded


def section(name: str) -> type[Struct] | None:
    """Return the type of a back-end's own table in a profile; None if it has none, or isn't installed.

    Args:
        name: Name of the back-end.

    Raises:
        NotFound: It can't be loaded.
    """
    return None if name in registry.OURS or not registry.has(name) else backend(name).section
