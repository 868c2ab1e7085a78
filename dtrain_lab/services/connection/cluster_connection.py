"""A connection to the head of a cluster, on this machine or another, as its record says."""

from __future__ import annotations

from dtrain_lab.services.connection.connection import Connection
from dtrain_lab.services.connection.presence import LocalHead, Presence
from dtrain_lab.services.connection.remote_head import RemoteHeadPresence
from dtrain_lab.wire.processes.head_record import HeadRecord


class ClusterConnection(Connection):
    """A connection to the head of a cluster.

    Args:
        record: Record of the head.
    """

    def __init__(self, record: HeadRecord) -> None:
        self._record = record
        super().__init__(record.id, record.name, record.directory, self._presence)

    @property
    def record(self) -> HeadRecord:
        """The head's record; a warm head's changes when it gets its world."""
        return self._record

    @record.setter
    def record(self, record: HeadRecord) -> None:
        self._record = record
        self.name = record.name

    def _presence(self, _: Connection) -> Presence:
        return LocalHead(self) if self._record.remote is None else RemoteHeadPresence(self)
