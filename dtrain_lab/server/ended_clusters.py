"""Clusters that have ended lately: who has stopped each, and which ones ended while no page was open."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from msgspec.structs import replace

from dtrain_lab.text import cluster_endings
from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.wire.endings import Ending
from dtrain_lab.wire.kinds import ENDING
from dtrain_lab.wire.summary import Summary

T = TypeVar("T")
MOST_ENDED = 20
MOST_UNTOLD = 5
UNASKED = ("", "idle", "killed", "unknown", "away", "shutdown")
"""Who has ended a cluster that nobody has stopped: its idle limit, or what its reason says; or its head was
killed, or nobody has noted how it ended, "away" if there was no server then; or its server was stopped."""
BEFORE = ("pending", "starting", "connecting")
"""States of a cluster that has not run yet."""


class EndedClusters:
    """The last states of clusters that have ended lately.

    Every page is told of those in `untold`: its browser knows which ones it has shown. They are kept beyond
    this server (`unsaved`) until a page whose user may act on clusters has been told.
    """

    def __init__(self) -> None:
        self.summaries: dict[str, Summary] = {}
        """The last state of clusters, by id, oldest first."""
        self._last: dict[str, Cluster] = {}
        self._running: dict[str, list[str]] = {}
        """Ids of the notebook cells that ran or waited when each cluster was last seen."""
        self._ran: set[str] = set()
        self._untold: dict[str, Cluster] = {}
        self._told: set[str] = set()
        self._saved: dict[str, object] = {}
        """What was kept last of each cluster, see `_content`."""

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
            cells = [*(c.cell_id for c in cluster.running), *(c.cell_id for c in cluster.waiting)]
            self._running[cluster.id] = [cell for cell in cells if cell is not None]
        self._last[cluster.id] = replace(cluster, ranks=(), running=(), waiting=(), may=())

    def gone(self, identity: str, *, told: bool, ending: Ending | None = None) -> None:
        """Note that a cluster's head has ended.

        Args:
            identity: Id of the cluster.
            told: A page is open, which tells it.
            ending: How it has ended; None if nobody has noted it. What the head has said is preferred.
        """
        running = self._running.pop(identity, None)
        if identity not in self.summaries:
            summary = (
                _unnoted("unknown", at=time.time()) if ending is None else cluster_endings.summary(ending)
            )
            if running is not None and ending is not None and ending.by == "killed":
                # its head has not left how its cells ended: those that ran have ended with it
                summary = replace(summary, values={**summary.values, "running": running})
            self.summaries = _latest(self.summaries, identity, summary, MOST_ENDED)
        self._gone(identity, told=told)

    def recall_endings(self, noted: Mapping[str, Ending]) -> None:
        """Continue with the ends that were noted before, the latest last: a page may not know of them yet."""
        for identity, ending in noted.items():
            if identity not in self.summaries:
                summary = cluster_endings.summary(ending)
                self.summaries = _latest(self.summaries, identity, summary, MOST_ENDED)

    def gone_before(self, identity: str, ending: Ending | None) -> None:
        """Note that a cluster's head has ended while this server did not watch it.

        Args:
            identity: Id of the cluster.
            ending: How it has ended; None: nobody has noted it, so its time is not known, either.
        """
        if identity not in self.summaries:
            if ending is not None and ending.by == "killed":
                ending = replace(ending, at=0.0)  # it is when the end was found, by this server
            summary = _unnoted("away") if ending is None else cluster_endings.summary(ending)
            self.summaries = _latest(self.summaries, identity, summary, MOST_ENDED)
        self._gone(identity, told=False)

    def stopped(self, identities: Iterable[str]) -> None:
        """Note that the end of clusters was told by another server, or asked for: nobody has to be told."""
        self._ran.difference_update(identities)

    def recall(self, clusters: Iterable[Cluster]) -> None:
        """Continue with the states that an earlier server has kept; oldest first."""
        for cluster in clusters:
            self._saved[cluster.id] = _content(cluster)
            self._ran.add(cluster.id)
            self._last.setdefault(cluster.id, cluster)
            if cluster.summary.code == "stopping" and cluster.summary.values.get("at"):
                self.summaries.setdefault(cluster.id, cluster.summary)

    def tell(self) -> None:
        """Note that a page was told of all ends."""
        self._told.update(self._untold)

    def unsaved(self) -> dict[str, Cluster | None]:
        """Return what has to be kept for the next server since the last call; None: forgotten."""
        wanted = {i: last for i, last in self._last.items() if i in self._ran}
        wanted |= {i: last for i, last in self._untold.items() if i not in self._told}
        contents = {identity: _content(last) for identity, last in wanted.items()}
        changed: dict[str, Cluster | None] = {
            identity: wanted.get(identity)
            for identity in (self._saved | wanted)
            if self._saved.get(identity) != contents.get(identity)
        }
        self._saved = contents
        return changed

    def _gone(self, identity: str, *, told: bool) -> None:
        last = self._last.pop(identity, None)
        ran = identity in self._ran
        self._ran.discard(identity)
        if last is None or told or not ran:
            return
        summary = self.summaries[identity]
        if last.state == "failed":
            shown = last
        elif summary.values.get("by") in UNASKED:
            shown = replace(last, summary=summary)
        else:
            return
        self._untold = _latest(self._untold, identity, shown, MOST_UNTOLD)


def _unnoted(by: str, **values: Any) -> Summary:
    """Return the last state of a cluster of whose end nothing is known."""
    text = "Ended while the Jupyter server was not running." if by == "away" else "Ended."
    return Summary("stopping", {"by": by, **values}, text)


def _content(cluster: Cluster) -> object:
    """Return the part of a cluster's state whose change is kept: its figures change all the time."""
    ends = cluster.summary if cluster.state in ENDING or cluster.summary.code == "stopping" else None
    return cluster.name, cluster.world.size, ends


def _latest(known: dict[str, T], identity: str, value: T, most: int) -> dict[str, T]:
    """Return what is known with one more as the latest, and without the oldest beyond `most`."""
    return dict([*((i, v) for i, v in known.items() if i != identity), (identity, value)][-most:])
