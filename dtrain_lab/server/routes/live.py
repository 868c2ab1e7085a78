"""The one WebSocket: all clusters, at most so often, as long as the panel is seen."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec
from jupyter_core.utils import ensure_async
from jupyter_server.auth.decorator import ws_authenticated
from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.base.websocket import WebSocketMixin
from tornado import web
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from dtrain_lab.core.frames import encode
from dtrain_lab.core.site import LiveFrame
from dtrain_lab.server.routes.base import RESOURCE

if TYPE_CHECKING:
    from dtrain_lab.server.app import DtrainLabApp


class LiveHandler(WebSocketMixin, WebSocketHandler, JupyterHandler):  # type: ignore[misc]
    """`live`: frames `{type, seq, …}`; with `?ranks=columns` as `core.frames` packs them.

    A slow client skips frames, and never makes them queue.
    """

    auth_resource = RESOURCE
    _pump: asyncio.Task[None] | None = None
    _can_write = False
    _columns = False

    @ws_authenticated
    async def get(self, *args: Any, **kwargs: Any) -> None:
        """Open the socket for whoever may read."""
        if not await self._allowed("read"):
            raise web.HTTPError(403)
        self._can_write = await self._allowed("write")
        self._columns = self.get_query_argument("ranks", "") == "columns"
        await ensure_async(super().get(*args, **kwargs))

    async def _allowed(self, action: str) -> bool:
        allowed = await ensure_async(self.authorizer.is_authorized(self, self.current_user, action, RESOURCE))
        return bool(allowed)

    def get_compression_options(self) -> dict[str, Any]:
        """Frames of many ranks shrink tenfold."""
        return {"compression_level": 1}

    def open(self, *args: Any, **kwargs: Any) -> None:
        """Start sending."""
        super().open(*args, **kwargs)
        self._pump = asyncio.create_task(self._send())

    async def on_message(self, message: str | bytes) -> None:
        """Clients have nothing to say here."""

    def on_close(self) -> None:
        """Stop sending."""
        if self._pump is not None:
            self._pump.cancel()

    async def _send(self) -> None:
        app: DtrainLabApp = self.settings["dtrain_lab"]
        changed = asyncio.Event()
        changed.set()
        app.hub.add(changed)
        seq = 0
        try:
            await app.hub.refresh()
            while True:
                await changed.wait()
                changed.clear()
                clusters, jobs = app.hub.clusters(), app.hub.jobs()
                if not self._can_write:
                    clusters = [msgspec.structs.replace(c, may=()) for c in clusters]
                    jobs = tuple(msgspec.structs.replace(j, may=()) for j in jobs)
                frame = LiveFrame("clusters", seq, tuple(clusters), jobs)
                # awaiting the write is what slows us down to the client's pace
                await self.write_message(encode(frame, columns=self._columns))
                seq += 1
                await asyncio.sleep(app.hub.period_s / 2)
        except WebSocketClosedError:
            return
        finally:
            await app.hub.remove(changed)
