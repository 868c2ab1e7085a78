"""Widgets that live on ranks: what their front end says goes to the rank that made them."""

from __future__ import annotations

from typing import Any

import msgspec

from dtrain_lab.api.cluster import Cluster
from dtrain_lab.api.portal import Portal
from dtrain_lab.core.kinds import CommKind
from dtrain_lab.core.wire import doors
from dtrain_lab.core.wire.links import CellOutput


class RankComm:
    """Stands in this kernel for a comm of a rank, as ipykernel's comm manager wants it.

    Args:
        portal: of this process.
        target: the rank's cluster.
        opened: the message that opened it.
        content: of that message.
    """

    def __init__(self, portal: Portal, target: Cluster, opened: CellOutput, content: dict[str, Any]) -> None:
        self.comm_id: str = content["comm_id"]
        self.target_name: str = content.get("target_name", "")
        self._portal = portal
        self._target = target
        self._cell = opened.cell
        self._rank = opened.rank

    def handle_msg(self, message: dict[str, Any]) -> None:
        """The front end has said something."""
        self._send("comm_msg", message)

    def handle_close(self, message: dict[str, Any]) -> None:
        """The front end has closed it."""
        self._send("comm_close", message)

    def close(self, *_: object, **__: object) -> None:
        """This kernel ends; the rank's widget needs no word of it."""

    def _send(self, kind: CommKind, message: dict[str, Any]) -> None:
        buffers = tuple(bytes(buffer) for buffer in message.get("buffers") or ())
        data = msgspec.json.encode(message["content"])
        self._portal.post(self._target.ask(doors.Comm(self._cell, self._rank, kind, data, buffers)))


class Comms:
    """Notes the comms that a cell opens on its ranks.

    Args:
        shell: of this kernel.
        portal: of this process.
        target: whose cell it is.
    """

    def __init__(self, shell: Any, portal: Portal, target: Cluster) -> None:
        kernel = getattr(shell, "kernel", None)
        self._manager = getattr(kernel, "comm_manager", None)
        self._portal = portal
        self._target = target

    def see(self, output: CellOutput) -> None:
        """Look at an output for comms that begin or end."""
        if self._manager is None or output.kind not in ("comm_open", "comm_close"):
            return
        content = msgspec.json.decode(output.data)
        comm_id = content["comm_id"]
        if output.kind == "comm_open":
            self._manager.register_comm(RankComm(self._portal, self._target, output, content))
        elif comm_id in self._manager.comms:
            self._manager.unregister_comm(self._manager.comms[comm_id])
