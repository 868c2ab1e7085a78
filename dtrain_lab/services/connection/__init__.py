"""The connection of a client to the head of a cluster or a job, on this machine or another.

`Connection` sends requests and receives answers and events; its `Presence` finds the head and detects its
end. Runs in clients. May import `backends`, `machine` and the pure subjects.
"""

from dtrain_lab.services.connection.cells import OnOutput
from dtrain_lab.services.connection.cluster_connection import ClusterConnection
from dtrain_lab.services.connection.connection import BROKE, NO_ANSWER, Connection, OnDebug

__all__ = ["BROKE", "NO_ANSWER", "ClusterConnection", "Connection", "OnDebug", "OnOutput"]
