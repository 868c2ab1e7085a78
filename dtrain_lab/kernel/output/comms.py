"""Comms of widgets on ranks: messages of the front end are forwarded to the rank that created the widget."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import msgspec

from dtrain_lab.api.cluster import Cluster
from dtrain_lab.api.portal import Portal
from dtrain_lab.errors import DtrainError
from dtrain_lab.kernel.output.emitter import Emitter
from dtrain_lab.wire import clients
from dtrain_lab.wire.kinds import CommKind
from dtrain_lab.wire.links import CellOutput


class RankComm:
    """Proxy in this kernel for a comm of a rank, with the interface that ipykernel's comm manager expects.

    Args:
        comms: Comms of the cell that opened it.
        opened: The message that opened it.
        content: Content of that message.
    """

    def __init__(self, comms: Comms, opened: CellOutput, content: dict[str, Any]) -> None:
        self.comm_id: str = content["comm_id"]
        self.target_name: str = content.get("target_name", "")
        self.rank = opened.rank
        self.pid = opened.pid
        self.target = comms.target
        self.reached = True
        """Whether the last message has reached the rank."""
        self._comms = comms
        self._cell = opened.cell

    def handle_msg(self, message: dict[str, Any]) -> None:
        """Forward a message of the front end, and wait until the rank's callbacks have run.

        Output of the callbacks has that message as its parent, and front ends forget a message once it has
        been handled.
        """
        self._send("comm_msg", message)

    def handle_close(self, message: dict[str, Any]) -> None:
        """Forward that the front end has closed the comm."""
        self._send("comm_close", message)
        self._comms.forget(self.comm_id)

    def close(self, *_: object, **__: object) -> None:
        """Do nothing: the end of this kernel does not concern the rank's widget."""

    def forget(self) -> None:
        """Remove the comm, because its rank's process is gone."""
        self._comms.forget(self.comm_id)

    def _send(self, kind: CommKind, message: dict[str, Any]) -> None:
        parent = message["header"]["msg_id"]
        self.reached = True
        order = clients.Comm(
            cell=self._cell,
            rank=self.rank,
            kind=kind,
            data=msgspec.json.encode(message["content"]),
            buffers=tuple(bytes(buffer) for buffer in message.get("buffers") or ()),
            metadata=msgspec.json.encode(message.get("metadata") or {}, enc_hook=str),
            parent=parent,
            pid=self.pid,
        )
        try:
            with self._comms.answering(self.rank, message):
                self._comms.portal.call(self.target.connection.ask(order, None))
        except DtrainError as error:
            self.reached = False
            # the front end still shows the widget: report the error where a callback's output would appear
            print(f"{error.message} {error.hint}".strip(), file=sys.stderr, flush=True)


class _Answering:
    """Context manager that shows a rank's output as the answer to a front end's message."""

    def __init__(self, comms: Comms, rank: int, message: dict[str, Any]) -> None:
        self._comms = comms
        self._id: str = message["header"]["msg_id"]
        self._emitter = Emitter(comms.shell, (rank,), parent=message)

    def __enter__(self) -> None:
        self._comms.answers[self._id] = self._emitter

    def __exit__(self, *_: object) -> None:
        async def finish() -> None:
            self._comms.answers.pop(self._id, None)
            self._emitter.finish()
            await self._emitter.sent()

        self._comms.portal.call(finish())


class Comms:
    """The comms that a cell opens on its ranks.

    Args:
        shell: This kernel's shell.
        portal: This process's portal.
        target: The cell's cluster.
        put: Shows output of the cell.
    """

    def __init__(
        self, shell: Any, portal: Portal, target: Cluster, put: Callable[[CellOutput], None]
    ) -> None:
        kernel = getattr(shell, "kernel", None)
        self._manager: Any = getattr(kernel, "comm_manager", None)
        self.shell = shell
        self.portal = portal
        self.target = target
        self._put = put
        self._open: set[str] = set()
        self.answers: dict[str, Emitter] = {}
        """Id of a front end's message → emitter that shows the answer."""

    def see(self, output: CellOutput) -> None:
        """Register comms that a piece of output opens, and remove those that it closes."""
        if self._manager is None or output.kind not in ("comm_open", "comm_close"):
            return
        content = msgspec.json.decode(output.data)
        comm_id = content["comm_id"]
        if output.kind == "comm_open":
            self._manager.register_comm(RankComm(self, output, content))
            self._open.add(comm_id)
        else:
            # a widget may be closed by another cell than its own, or by the garbage collector during one
            closed = self._manager.comms.get(comm_id)
            if isinstance(closed, RankComm):
                closed.forget()
        self.target.connection.keep_output(output.cell, self._put if self._open else None)

    def forget(self, comm_id: str) -> None:
        """Remove a comm that was closed or whose process is gone."""
        self._manager.comms.pop(comm_id, None)
        self._open.discard(comm_id)

    def knows(self, comm_id: str) -> bool:
        """Return whether a comm is registered in this kernel: a rank's or the kernel's own."""
        return self._manager is not None and comm_id in self._manager.comms

    def answering(self, rank: int, message: dict[str, Any]) -> _Answering:
        """Show a rank's output as the answer to a message."""
        return _Answering(self, rank, message)
