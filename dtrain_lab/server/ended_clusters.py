"""Clusters that have ended lately: who has stopped each, and which ones ended while no page was open."""

from __future__ import annotations

import time
from typing import TypeVar

from msgspec.structs import replace

from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.wire.kinds import ENDING
from dtrain_lab.wire.summary import Summary

T = TypeVar("T")
MOST_ENDED = 20
MOST_UNTOLD = 5
UNASKED = ("", "idle")
"""Who has ended a cluster that nobody has stopped: its idle limit, or what its reason says."""
BEFORE = ("pending", "starting", "connecting")
"""States of a cluster that has not run yet."""


class EndedClusters:
    """The last states of clusters that have ended lately."""

    def __init__(self) -> None:
        self.summaries: dict[str, Summary] = {}
        """The last state of clusters, by id, oldest first."""
        self._last: dict[str, Cluster] = {}
        self._ran: set[str] = set()
        self._untold: dict[str, Cluster] = {}

    @property
    def untold(self) -> tuple[Cluster, ...]:
        """Clusters that ended by themselves while no page was open, in their last states, oldest first."""
        return tuple(self._untold.values())

    def seen(self, cluster: Cluster) -> None:
        """Store a state of a cluster."""
        again = [old.id for old in self._untold.values() if old.name == cluster.name]
        for identity in again:  # it was started again
            del self._untold[identity]
        if cluster.state in ENDING:
            if cluster.summary.values.get("at"):
                self.summaries = _latest(self.summaries, cluster.id, cluster.summary, MOST_ENDED)
        elif cluster.state not in BEFORE:
            self._ran.add(cluster.id)
        self._last[cluster.id] = replace(cluster, ranks=(), running=(), may=())

    def gone(self, identity: str, *, told: bool) -> None:
        """Note that a cluster's head has ended.

        Args:
            identity: Id of the cluster.
            told: A page is open, which tells it.
        """
        last = self._last.pop(identity, None)
        ran = identity in self._ran
        self._ran.discard(identity)
        if last is None or told or not ran:
            return
        if last.state == "failed":
            shown = last
        elif (summary := self.summaries.get(identity)) is None:  # its head was killed
            shown = replace(last, summary=Summary("stopping", {"by": "", "at": time.time()}, "Stopped."))
        elif summary.values.get("by") in UNASKED:
            shown = replace(last, summary=summary)
        else:
            return
        self._untold = _latest(self._untold, identity, shown, MOST_UNTOLD)


def _latest(known: dict[str, T], identity: str, value: T, most: int) -> dict[str, T]:
    """Return what is known with one more as the latest, and without the oldest beyond `most`."""
    return dict([*((i, v) for i, v in known.items() if i != identity), (identity, value)][-most:])
