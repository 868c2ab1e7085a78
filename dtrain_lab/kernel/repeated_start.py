"""A start in a notebook that had a cluster: that one is kept if it fits the request, else mentioned."""

from __future__ import annotations

import sys

from dtrain_lab.api.cluster import Cluster
from dtrain_lab.api.portal import Portal
from dtrain_lab.api.start import connect
from dtrain_lab.errors import DtrainError
from dtrain_lab.kernel import cluster_choice
from dtrain_lab.services.notebook_clusters import UsedCluster
from dtrain_lab.services.profiles import environment
from dtrain_lab.services.profiles import files as profiles
from dtrain_lab.services.worlds import readiness
from dtrain_lab.wire.cluster import Cluster as ClusterInfo
from dtrain_lab.wire.kinds import ENDING
from dtrain_lab.wire.processes.head_record import HeadRecord

BEGINS = ("pending", "starting", "connecting")
"""States of a cluster that will be ready by itself."""


class RepeatedStart:
    """Starts in a notebook that had a cluster before.

    Args:
        portal: This process's portal.
        notebook: Path of the notebook; None in a terminal's IPython.
    """

    def __init__(self, portal: Portal, notebook: str | None) -> None:
        self._portal = portal
        self._notebook = notebook

    def reusable_cluster(
        self,
        used: UsedCluster | None,
        profile: str,
        *,
        name: str | None = None,
        ranks: int | None = None,
        nodes: int | None = None,
        ranks_per_node: int | None = None,
        monitor: bool | None = None,
    ) -> Cluster | None:
        """Return the notebook's cluster if a request describes it, and it can run cells.

        Args:
            used: The cluster that the notebook used last.
            profile, name, ranks, nodes, ranks_per_node, monitor: The request.
        """
        mine = self._record(used)
        if used is None or mine is None or name not in (None, mine.name) or monitor != used.monitor:
            return None
        try:
            requested = profiles.load(profile).environment
            if mine.remote is None:
                python = environment.of_machine(requested, sys.executable)
                if mine.environment != environment.key(python, requested):
                    return None
            info = self._portal.call(self._portal.worlds.info(mine))
        except DtrainError:  # a start says what is wrong
            return None
        if info is None:
            return None
        per_node = info.world.size // max(len(info.nodes), 1)
        alike = (
            info.profile == profile
            and ranks in (None, info.world.size)
            and nodes in (None, len(info.nodes))
            and ranks_per_node in (None, per_node)
        )
        if not alike or self._of_others(used, info):
            return None
        if used.begun and info.state in BEGINS:
            self._portal.call(self._ready(mine))
        elif info.state != "ready":
            return None
        return connect(mine.name)

    def left(self, used: UsedCluster | None, name: str, profile: str, ranks: int | None) -> str:
        """Return a sentence about the notebook's cluster so far, which goes on beside a new one; else "".

        Args:
            used: The cluster that the notebook used until then.
            name: Name of the new one.
            profile: Profile of the new one.
            ranks: Its number of ranks, if the user gave it.
        """
        record = self._record(used)
        info = self._portal.call(self._portal.worlds.info(record)) if record is not None else None
        if used is None or info is None or info.state in ENDING:
            return ""
        if self._of_others(used, info):
            return cluster_choice.switched(name, info, self._notebook)
        resizes = info.profile == profile and ranks != info.world.size
        return cluster_choice.left(info, ranks if resizes else None)

    def _record(self, used: UsedCluster | None) -> HeadRecord | None:
        return next((r for r in self._portal.worlds.running() if used and r.id == used.cluster), None)

    def _of_others(self, used: UsedCluster, info: ClusterInfo) -> bool:
        """Return whether the notebook only shares a cluster, or other notebooks use one begun for it."""
        return used.taken or (used.begun and bool(set(info.notebooks) - {self._notebook}))

    async def _ready(self, record: HeadRecord) -> None:
        worlds = self._portal.worlds
        await readiness.ready(await worlds.reach(record))
