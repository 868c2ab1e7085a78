"""The extension: traits, routes, and what lives as long as the server."""

from __future__ import annotations

import os
from typing import Any

from jupyter_server.extension.application import ExtensionApp
from traitlets import Bool, Float, Integer, List, Unicode

from dtrain_lab.backends import registry
from dtrain_lab.core.policy import Policy
from dtrain_lab.server.live import Hub
from dtrain_lab.server.routes import handlers
from dtrain_lab.services import policy
from dtrain_lab.services.jobs import Jobs
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

    backends = List(
        Unicode(), None, allow_none=True, config=True, help="Back-ends that profiles may use; None for all."
    )
    hosts = List(
        Unicode(),
        None,
        allow_none=True,
        config=True,
        help='Patterns of SSH hosts and login nodes that profiles may name ("gpu-*"); None for all.',
    )
    allow_options = Bool(True, config=True, help="May profiles pass options of their own to the scheduler?")
    ports = Unicode(
        None,
        allow_none=True,
        config=True,
        help='Ports that worlds on other machines may use ("20000-20999"); None for any.',
    )
    idle_limit = Float(
        1800.0, config=True, help="Seconds without a cell after which a world on other machines ends."
    )
    poll_floor = Float(30.0, config=True, help="Seconds between two questions to a scheduler, at least.")

    worlds: Worlds
    jobs: Jobs
    hub: Hub

    def initialize_settings(self) -> None:
        """Make what the handlers share."""
        if not (self.warm and self.allow_local):
            os.environ["DTRAIN_LAB_WARM"] = "0"  # kernels inherit it
        backends = None if self.backends is None else tuple(self.backends)
        if not self.allow_local:
            backends = tuple(name for name in backends or registry.names() if name != "local")
        policy.hold(
            Policy(
                backends,
                None if self.hosts is None else tuple(self.hosts),
                self.allow_options,
                self.ports,
                self.idle_limit,
                self.poll_floor,
            )
        )
        self.worlds = Worlds("server", server=os.getpid())
        self.jobs = Jobs()
        self.hub = Hub(self.worlds, self.jobs, 1 / min(4.0, max(1.0, self.updates_per_second)), self.log)
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
