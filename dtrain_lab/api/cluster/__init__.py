"""`Cluster`, the Python interface of a cluster: its cells, its variables, and control of its ranks.

Runs in the user's process. May import the rest of `api`, and what that may import.
"""

from __future__ import annotations

from dtrain_lab.api.cluster.cells import cell_id, check_order
from dtrain_lab.api.cluster.cluster import Cluster

__all__ = ["Cluster", "cell_id", "check_order"]
