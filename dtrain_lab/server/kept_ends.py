"""Keeps ends of clusters beyond this server, and finds those that nobody has seen while there was none."""

from __future__ import annotations

import asyncio
from collections.abc import Collection

from dtrain_lab.server.ended_clusters import MOST_ENDED, EndedClusters
from dtrain_lab.services import endings
from dtrain_lab.services.connection import head_records
from dtrain_lab.services.worlds import last_states
from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.wire.endings import Ending


class KeptEnds:
    """Reads and writes what `EndedClusters` has to know of an earlier server.

    Args:
        ended: The clusters that have ended lately.
    """

    def __init__(self, ended: EndedClusters) -> None:
        self._ended = ended
        self._recalled: dict[str, Cluster] | None = None
        """Clusters of an earlier server whose fate is not known yet; None until they are read."""
        self._recalling = asyncio.Lock()
        self._noted: set[str] = set()

    async def recall(self, watched: Collection[str]) -> None:
        """Look what has become of the clusters of an earlier server.

        Args:
            watched: Ids of clusters that this server watches: it learns of their ends by itself.
        """
        async with self._recalling:
            if self._recalled is None:
                kept = await asyncio.to_thread(last_states.kept)
                noted = await asyncio.to_thread(endings.recent, MOST_ENDED)
                self._ended.recall_endings(noted)
                self._noted.update(noted)
                self._ended.recall(kept.values())
                self._recalled = kept
            for identity in self._recalled.keys() & watched:
                del self._recalled[identity]
            if self._recalled:
                fates = await asyncio.to_thread(last_states.fates, tuple(self._recalled))
                self._ended.stopped(fates.settled)
                for identity, ending in fates.ended.items():
                    self._ended.gone_before(identity, ending)
                for identity in (*fates.settled, *fates.ended):
                    del self._recalled[identity]

    def noted(self, identity: str) -> Ending | None:
        """Return how a cluster whose head is gone has ended; None if its head has said it, or nobody knows.

        It reads small files at once, so that the frame without the cluster tells of its end.
        """
        return None if identity in self._ended.summaries else head_records.ending_of(identity)

    async def save(self) -> None:
        """Keep what pages are to be told for the next server; note which clusters their idle limit ended."""
        if changed := self._ended.unsaved():
            await asyncio.to_thread(last_states.save, changed)
        for identity, summary in self._ended.summaries.items():
            if summary.values["by"] == "idle" and identity not in self._noted:  # no client has noted it
                self._noted.add(identity)
                ending = Ending("idle", None, summary.values["at"], summary.values["idle_s"])
                await asyncio.to_thread(endings.note, identity, ending)
