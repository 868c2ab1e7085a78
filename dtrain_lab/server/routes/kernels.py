"""Request handler for what kernels have recorded."""

from __future__ import annotations

import asyncio
from pathlib import Path

from jupyter_core.utils import ensure_async
from jupyter_server.auth.decorator import authorized
from tornado import web

from dtrain_lab.server.routes.base import BaseHandler
from dtrain_lab.services import notebook_clusters
from dtrain_lab.wire.site import KernelUse


class KernelHandler(BaseHandler):
    """`kernels/{id}`."""

    @web.authenticated
    @authorized
    async def get(self, identity: str) -> None:
        """Return what a kernel calls its notebook, and which cluster it used last; it may be busy."""
        self.answer(await self._use(identity))

    @web.authenticated
    @authorized
    async def post(self, identity: str) -> None:
        """Record where a kernel's notebook is now, and return the same as `get`.

        Raises:
            BadRequest: The request has a body.
        """
        self.no_body()
        use = await self._use(identity)
        if use.notebook is not None:
            await self._note_path(identity, use.notebook)
        self.answer(use)

    async def _use(self, kernel: str) -> KernelUse:
        running = {record.id for record in await asyncio.to_thread(self.ours.worlds.running)}
        return await asyncio.to_thread(notebook_clusters.of_kernel, kernel, running)

    async def _note_path(self, kernel: str, notebook: str) -> None:
        """Record where a kernel's notebook is now, for other notebooks' kernels, which name it."""
        root = Path(self.root).expanduser()
        for session in await ensure_async(self.session_manager.list_sessions()):
            if session["kernel"] and session["kernel"]["id"] == kernel and session["type"] == "notebook":
                await asyncio.to_thread(notebook_clusters.note_path, notebook, str(root / session["path"]))
