"""The extension app: traits, routes, and objects with the server's lifetime."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from jupyter_server.extension.application import ExtensionApp
from traitlets import Bool, Float, Integer, List, Unicode, default, observe

from dtrain_lab.machine import supervision
from dtrain_lab.server.live import Hub
from dtrain_lab.server.long_work import LongWork
from dtrain_lab.server.routes import handlers
from dtrain_lab.services.bug_report import process_log
from dtrain_lab.services.jobs.jobs import Jobs
from dtrain_lab.services.policy import policy
from dtrain_lab.services.sweeps.sweeps import Sweeps
from dtrain_lab.services.worlds.worlds import Worlds
from dtrain_lab.wire.processes.settings import OutputLimits, Policy, ServerSettings

LIMITS = (
    *("backends", "hosts", "allow_options", "allow_environments", "ports", "idle_limit", "poll_floor"),
    *("allow_local", "max_ranks", "warm"),
)
"""Traits from which the policy is made."""


HUB_VARIABLE = "JUPYTERHUB_SERVICE_PREFIX"
"""In the environment of a server that was started by a JupyterHub."""


class DtrainLabApp(ExtensionApp):  # type: ignore[misc]
    """Distributed PyTorch training in JupyterLab."""

    name = "dtrain_lab"
    extension_url = "/lab"
    load_other_extensions = True

    max_ranks = Integer(0, config=True, help="Most ranks that one cluster or job may have; 0: no limit.")
    allow_local = Bool(
        True,
        config=True,
        help="Whether ranks may run on this machine. Set to False on login nodes and shared Hubs.",
    )
    warm = Bool(
        True,
        config=True,
        help="Whether kernels may start a process without ranks in the background, for a fast first start.",
    )
    updates_per_second = Float(2.0, config=True, help="Updates of the panel per second, 1 to 4.")

    backends = List(
        Unicode(), None, allow_none=True, config=True, help="Back-ends that profiles may use; None: all."
    )
    hosts = List(
        Unicode(),
        None,
        allow_none=True,
        config=True,
        help='Patterns of SSH hosts and login nodes that profiles may name ("gpu-*"); None: all.',
    )
    allow_environments = Bool(
        True, config=True, help="Whether a request of a job may name its environment's folder."
    )
    allow_options = Bool(True, config=True, help="Whether profiles may pass extra options to the scheduler.")
    ports = Unicode(
        None,
        allow_none=True,
        config=True,
        help='Ports that clusters and jobs on other machines may use ("20000-20999"); None: any.',
    )
    idle_limit = Float(
        1800.0, config=True, help="Seconds without a cell after which a cluster on other machines ends."
    )
    poll_floor = Float(30.0, config=True, help="Fewest seconds between two queries of a scheduler.")
    stop_clusters = Bool(
        config=True,
        help="Whether this machine's clusters stop with the server. Otherwise they wait ten minutes for"
        " another server of their user. Default: False under JupyterHub, else True.",
    )

    worlds: Worlds
    jobs: Jobs
    sweeps: Sweeps
    hub: Hub
    long_work: LongWork

    def initialize_settings(self) -> None:
        """Create the objects that handlers share."""
        self._publish_settings()
        self.worlds = Worlds("server", server=os.getpid())
        self.jobs = Jobs()
        self.sweeps = Sweeps(self.jobs)
        period_s = 1 / min(4.0, max(1.0, self.updates_per_second))
        self.hub = Hub(self.worlds, self.jobs, period_s, self.log, self.settings["server_root_dir"])
        self.long_work = LongWork()
        self.settings.update(dtrain_lab=self)
        # the page's own `serverRoot` may begin with "~", which no path of a rank or a kernel does
        root = Path(self.settings["server_root_dir"]).expanduser()
        self.settings.setdefault("page_config_data", {})["dtrainRoot"] = str(root)
        process_log.begin("server", self.log)

    @default("stop_clusters")
    def _default_stop_clusters(self) -> bool:
        return HUB_VARIABLE not in os.environ

    @observe(*LIMITS)
    def _limits_changed(self, _: Any) -> None:
        self._publish_settings()

    def _publish_settings(self) -> None:
        """Publish the traits' values for this server and its kernels and terminals."""
        try:
            output = output_limits(self.serverapp)
            policy.publish(ServerSettings(self.limits(), warm=self.warm and self.allow_local, output=output))
        except OSError as error:  # the limits still apply in this server
            self.log.error("dtrain-lab: the limits could not be passed to kernels and terminals: %s", error)

    def limits(self) -> Policy:
        """Return the policy that the traits define."""
        return Policy(
            backends=None if self.backends is None else tuple(self.backends),
            hosts=None if self.hosts is None else tuple(self.hosts),
            options=self.allow_options,
            ports=self.ports,
            idle_limit_s=self.idle_limit,
            poll_floor_s=self.poll_floor,
            local=self.allow_local,
            ranks=self.max_ranks,
            environments=self.allow_environments,
        )

    def initialize_handlers(self) -> None:
        """Register all routes."""
        self.handlers.extend(handlers())

    async def _start_jupyter_server_extension(self, _app: Any) -> None:
        process_log.watch("server")
        self.begin_work()

    def begin_work(self) -> None:
        """Begin what a server does without being asked: it keeps clusters, and resumes sweeps."""
        self.hub.start()
        supervision.here().start_loop("server.sweeps", self.sweeps.keep_driven)

    async def stop_extension(self) -> None:
        """End the server's work; clusters that no other client holds stop, or wait for the next server."""
        self.hub.farewell(clusters_stop=self.stop_clusters)
        self.hub.stop()
        await self.hub.leave()
        if self.stop_clusters:
            await self.worlds.release()
        self.worlds.close()
        policy.forget()
        await supervision.here().close()


def output_limits(server: Any) -> OutputLimits:
    """Return the limits of a kernel's output in a Jupyter server's configuration."""
    kind = server.kernel_websocket_connection_class
    traits = kind.class_traits()

    def value(name: str) -> float:
        limit = traits[name].default_value if name in traits else 0
        for section in kind.section_names():  # in traitlets' order: base classes first
            limit = server.config[section].get(name, limit)
        return float(limit)

    if not value("limit_rate"):
        return OutputLimits(0, 0)
    names = ("iopub_data_rate_limit", "iopub_msg_rate_limit", "rate_limit_window")
    return OutputLimits(*(value(name) for name in names))
