"""`dt.advise()`: advice on the cluster of this notebook."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dtrain_lab.api.cluster import Cluster
from dtrain_lab.api.start import clusters
from dtrain_lab.errors import BadRequest, NotFound

_current: list[Callable[[], Cluster]] = []
"""In a notebook's kernel: returns the cluster that the notebook uses."""


def set_current_cluster(current: Callable[[], Cluster]) -> None:
    """Make `advise` use the notebook's cluster. Called by the kernel's extension."""
    _current[:] = [current]


def advise() -> list[dict[str, Any]]:
    """Return advice on the training of this notebook's cluster; elsewhere, of the only one that runs.

    Returns:
        As `Cluster.advise`.

    Raises:
        NotFound: No cluster is running.
        BadRequest: Several clusters are running, and this process is not a notebook's kernel.
    """
    if _current:
        return _current[0]().advise()
    running = clusters()
    if not running:
        raise NotFound("No cluster is running.", "Start one: dt.start(ranks=2)")
    if len(running) > 1:
        names = ", ".join(cluster.name for cluster in running)
        raise BadRequest(f"Several clusters are running: {names}.", "Ask one of them: cluster.advise()")
    return running[0].advise()
