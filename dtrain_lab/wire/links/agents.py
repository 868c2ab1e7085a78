"""Node agents of a cluster: their arrival, their slots and their end."""

from __future__ import annotations

from dtrain_lab.wire import VERSION
from dtrain_lab.wire.codec.encode import encode as encode
from dtrain_lab.wire.links.base import Message
from dtrain_lab.wire.loop_failures import InternalFailure
from dtrain_lab.wire.node_check import Check

# ---- node agent → head


class NodeHello(Message, frozen=True, tag="node"):
    """A node agent has connected."""

    node: int
    name: str
    pid: int
    version: int = VERSION
    directory: str = ""
    """Folder of this node's rank logs."""
    check: Check | None = None
    """What the node has, if it was not the head that chose the node."""
    link: str = ""
    """URL by which this node reaches the head."""


class Preloaded(Message, frozen=True, tag="preloaded"):
    """A node's fork server has imported torch and is ready to fork; `error`: why it never will be."""

    node: int
    seconds: float = 0.0
    torch: str = ""
    error: str = ""
    hint: str = ""


class ReserveSlots(Message, frozen=True, tag="hold"):
    """Reserve slots of this node for ranks of the cluster; a slot is a GPU if the node has any."""

    cluster: str
    name: str
    ranks: int


class LeaveWorld(Message, frozen=True, tag="leave"):
    """End every process of the node, and the agent itself; hand the fork server over if there is an heir.

    `heir`: socket of the agent that takes it over; empty: it ends.
    """

    heir: str = ""


class LoopFailed(Message, frozen=True, tag="troubled"):
    """All failures of an agent's background work so far, caused by bugs of ours."""

    node: int
    troubles: tuple[InternalFailure, ...]
