"""The WebSocket `live`: rate-limited frames with the state of all clusters, while the panel is visible."""

from __future__ import annotations

import asyncio
from typing import Any

from jupyter_core.utils import ensure_async
from jupyter_server.auth.decorator import ws_authenticated
from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.base.websocket import WebSocketMixin
from tornado import web
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from dtrain_lab.machine import supervision
from dtrain_lab.server.routes.base import RESOURCE, allowed
from dtrain_lab.server.shared import Shared

BEAT_S = 5.0
"""Silence after which the last frame is sent again: a page can't tell a dead server from a quiet one."""

COMPRESSION = {"compression_level": 1}
"""Frames of many ranks shrink tenfold; uncompressed, a page receives one in many pieces."""


class LiveHandler(WebSocketMixin, WebSocketHandler, JupyterHandler):  # type: ignore[misc]
    """`live`: frames `{type, seq, …}`; with `?ranks=columns` encoded as in `server.frames`.

    A slow client skips frames; they don't queue up.
    """

    auth_resource = RESOURCE
    _pump: supervision.BackgroundTask | None = None
    _seq = 0
    _can_write = False
    _columns = False

    @ws_authenticated
    async def get(self, *args: Any, **kwargs: Any) -> None:
        """Open the socket for users with read permission.

        Raises:
            HTTPError: 403, the user may not read.
        """
        if not await allowed(self, "read"):
            raise web.HTTPError(403)
        self._can_write = await allowed(self, "write")
        self._columns = self.get_query_argument("ranks", "") == "columns"
        await ensure_async(super().get(*args, **kwargs))

    def get_compression_options(self) -> dict[str, Any]:
        """Compress frames."""
        return COMPRESSION

    def open(self, *args: Any, **kwargs: Any) -> None:
        """Start sending frames."""
        super().open(*args, **kwargs)
        self._app.hub.sockets.add(self)
        self._pump = supervision.here().start_loop("server.panel", self._send)

    async def on_message(self, message: str | bytes) -> None:
        """Ignore messages of clients."""

    def on_close(self) -> None:
        """Stop sending frames."""
        self._app.hub.sockets.discard(self)
        if self._pump is not None:
            self._pump.cancel()

    @property
    def _app(self) -> Shared:
        app: Shared = self.settings["dtrain_lab"]
        return app

    async def _send(self) -> None:
        app = self._app
        changed = asyncio.Event()
        changed.set()
        app.hub.add(changed)
        try:
            await app.hub.refresh()
            text = ""
            while True:
                try:
                    await asyncio.wait_for(changed.wait(), BEAT_S)
                except TimeoutError:
                    await self.write_message(text)
                    continue
                changed.clear()
                text = app.hub.frame(self._seq, acts=self._can_write, columns=self._columns)
                # back-pressure: awaiting the write limits the rate to the client's
                await self.write_message(text)
                if self._can_write:
                    app.hub.sent(changed, first=not self._seq)
                self._seq += 1  # continues after a restart of this task
                await asyncio.sleep(app.hub.period_s / 2)
        except WebSocketClosedError:
            return
        finally:
            await app.hub.remove(changed)
