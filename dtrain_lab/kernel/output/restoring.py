"""Answers what a reloaded page asks for: the widgets of this kernel and of its ranks, and their states."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

from dtrain_lab.api.cluster import Cluster
from dtrain_lab.api.portal import Portal
from dtrain_lab.errors import DtrainError
from dtrain_lab.kernel.output.beside_cells import CONTROL, BesideCells, asks_for_state
from dtrain_lab.kernel.output.comms import RankComm

_BASE = "@jupyter-widgets/base"
CLOSED = {
    "_model_name": "LayoutModel",
    "_model_module": _BASE,
    "_model_module_version": "2.0.0",
    "_view_name": "LayoutView",
    "_view_module": _BASE,
    "_view_module_version": "2.0.0",
}
"""State of the simplest widget of ipywidgets, which shows nothing: sent for one that is closed."""


class Restoring:
    """Answers a reloaded page's requests for the widgets and their states.

    ipywidgets answers the bulk request (`CONTROL`) with the widgets of its own process only. If there are
    widgets on ranks, that request is refused, so that the page asks each widget, as it does with older
    kernels. The page shows no widget until each one has answered. So widgets of ended processes are removed,
    and the request for one that is closed meanwhile is answered, too.

    Args:
        kernel: The notebook's kernel.
        portal: This process's portal.
    """

    def __init__(self, kernel: Any, portal: Portal) -> None:
        self._kernel = kernel
        self._portal = portal
        self._open: Callable[..., Any] = kernel.shell_handlers["comm_open"]
        self._info: Callable[..., Any] = kernel.shell_handlers["comm_info_request"]
        self._message: Callable[..., Any] = kernel.shell_handlers["comm_msg"]
        kernel.shell_handlers["comm_open"] = self.open
        kernel.shell_handlers["comm_info_request"] = self.info
        kernel.shell_handlers["comm_msg"] = self.message
        self._beside = BesideCells(kernel, self._of_rank, lambda: bool(self._ranks()))

    def take_out(self) -> None:
        """Restore the kernel's own handlers."""
        self._beside.take_out()
        self._kernel.shell_handlers["comm_open"] = self._open
        self._kernel.shell_handlers["comm_info_request"] = self._info
        self._kernel.shell_handlers["comm_msg"] = self._message

    def open(self, stream: Any, ident: Any, message: dict[str, Any]) -> Any:
        """Handle a front end's `comm_open`.

        Args:
            stream: The kernel's shell stream.
            ident: Identities of the sender, as ipykernel passes them.
            message: The message.

        Returns:
            What the kernel's own handler returns; None if the message was handled here.
        """
        content = message["content"]
        if content.get("target_name") != CONTROL or not self._ranks():
            return self._open(stream, ident, message)
        self._send("comm_close", {}, message)
        return None

    async def message(self, stream: Any, ident: Any, message: dict[str, Any]) -> None:
        """Handle a front end's `comm_msg`.

        Args:
            stream: The kernel's shell stream.
            ident: Identities of the sender, as ipykernel passes them.
            message: The message.
        """
        comms, comm_id = self._kernel.comm_manager.comms, message["content"]["comm_id"]
        asked = comms.get(comm_id)
        handled = self._message(stream, ident, message)
        if inspect.isawaitable(handled):
            await handled
        lost = comm_id not in comms or (isinstance(asked, RankComm) and not asked.reached)
        if lost and asks_for_state(message["content"]):
            self._send("comm_msg", {"method": "update", "state": CLOSED, "buffer_paths": []}, message)

    async def info(self, stream: Any, ident: Any, message: dict[str, Any]) -> None:
        """Handle a front end's `comm_info_request`.

        Args:
            stream: The kernel's shell stream.
            ident: Identities of the sender, as ipykernel passes them.
            message: The message.
        """
        if self._ranks():
            await asyncio.to_thread(self._forget)
        answer = self._info(stream, ident, message)
        if inspect.isawaitable(answer):
            await answer

    def _send(self, kind: str, data: dict[str, Any], parent: dict[str, Any]) -> None:
        """Answer a message about a comm."""
        comm_id = parent["content"]["comm_id"]
        self._kernel.session.send(
            self._kernel.iopub_socket,
            kind,
            {"comm_id": comm_id, "data": data},
            parent=parent,
            ident=b"comm-" + comm_id.encode(),
        )

    def _ranks(self) -> list[RankComm]:
        comms = self._kernel.comm_manager.comms  # other threads change it
        return [comm for comm in tuple(comms.values()) if isinstance(comm, RankComm)]

    def _of_rank(self, comm_id: str) -> bool:
        return isinstance(self._kernel.comm_manager.comms.get(comm_id), RankComm)

    def _forget(self) -> None:
        """Remove comms of processes that are gone."""
        there: dict[str, dict[int, int | None]] = {}
        for origin in self._ranks():
            target = origin.target
            if target.name not in there:
                there[target.name] = self._processes(target)
            if there[target.name].get(origin.rank) != origin.pid:
                origin.forget()

    def _processes(self, target: Cluster) -> dict[int, int | None]:
        try:
            ranks = target.snapshot().ranks
        except DtrainError:  # the cluster has ended
            return {}
        return {rank.rank: rank.pid for rank in ranks if rank.state != "lost"}
