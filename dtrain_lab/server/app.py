"""The extension: traits, routes, and what lives as long as the server."""

from __future__ import annotations

import os
from typing import Any

from jupyter_server.extension.application import ExtensionApp
from traitlets import Bool, Float, Integer

from dtrain_lab.server.live import Hub
from dtrain_lab.server.routes import handlers
from dtrain_lab.services.worlds import Worlds


class DtrainLabApp(ExtensionApp):  # type: ignore[misc]
    """Distributed PyTorch training in JupyterLab."""

    name = "dtrain_lab"
    extension_url = "/lab"
    load_other_extensions = True

    max_ranks = Integer(0, config=True, help="Most ranks that one cluster may have; 0 for no limit of ours.")
    allow_local = Bool(
        True, config=True, help="May ranks run on this machine? Set to False on login nodes and shared Hubs."
    )
    warm = Bool(
        True,
        config=True,
        help="May kernels start a process without ranks in the background, for a quick first start?",
    )
    updates_per_second = Float(
        2.0, config=True, help="Frames per second that the panel gets at most (1 to 4)."
    )

    worlds: Worlds
    hub: Hub

    def initialize_settings(self) -> None:
        """Make what the handlers share."""
        if not (self.warm and self.allow_local):
            os.environ["DTRAIN_LAB_WARM"] = "0"  # kernels inherit it
        self.worlds = Worlds("server", server=os.getpid())
        self.hub = Hub(self.worlds, 1 / min(4.0, max(1.0, self.updates_per_second)), self.log)
        self.settings.update(dtrain_lab=self)

    def initialize_handlers(self) -> None:
        """Register all routes."""
        self.handlers.extend(handlers())

    async def _start_jupyter_server_extension(self, _app: Any) -> None:
        self.hub.start()

    async def stop_extension(self) -> None:
        """The server ends in order: its leases go back, and what nobody else holds ends."""
        self.hub.stop()
        await self.worlds.release()
        self.worlds.close()
