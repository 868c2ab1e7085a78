"""State of the magics in one kernel: the notebook's cluster, and the actions on it."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Coroutine
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, TypeVar

from dtrain_lab.api.cluster import Cluster, cell_id, check_order
from dtrain_lab.api.portal import Portal
from dtrain_lab.api.start import clusters, connect, start
from dtrain_lab.cells import rank_sets, syntax
from dtrain_lab.errors import DtrainError, NotFound
from dtrain_lab.kernel.background import BackgroundCells
from dtrain_lab.kernel.notebook_use import NotebookUse
from dtrain_lab.kernel.output.cell_display import CellDisplay
from dtrain_lab.kernel.post_mortem import outcome_of
from dtrain_lab.kernel.request import ExecuteRequest
from dtrain_lab.services import notebook_clusters
from dtrain_lab.services.policy import policy
from dtrain_lab.services.policy.options import of_environment
from dtrain_lab.services.profiles import environment
from dtrain_lab.services.profiles import files as profiles
from dtrain_lab.wire import clients
from dtrain_lab.wire.processes.record import HeadRecord

if TYPE_CHECKING:
    from dtrain_lab.kernel.debugger import KernelDebugger
    from dtrain_lab.kernel.output.comms import Restoring

T = TypeVar("T")
BEGINS = ("pending", "starting", "connecting")
"""States of a cluster that will be ready by itself."""


class Session:
    """State of the magics in one kernel."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._current: Cluster | None = None
        self._ended: str | None = None
        """Name of the cluster that this notebook used last, once it has ended by itself or elsewhere."""
        self.debugger: KernelDebugger | None = None
        """The kernel's debugger; None in a terminal's IPython."""
        self.restoring: Restoring | None = None
        self.notebook = os.environ.get("JPY_SESSION_NAME")
        parent = os.environ.get("JPY_PARENT_PID")
        # a kernel's parent process is its server; a terminal's IPython has no server
        server = os.getppid() if parent is not None else None
        self.portal = Portal.get("kernel", notebook=self.notebook, server=server)
        self.background = BackgroundCells(shell, self)
        self._use = NotebookUse(self.notebook, ExecuteRequest(shell).kernel)

    @property
    def _cluster(self) -> Cluster | None:
        return self._current

    @_cluster.setter
    def _cluster(self, cluster: Cluster | None) -> None:
        self._current = cluster
        if self.debugger is not None:
            self.debugger.uses(cluster)

    @property
    def current(self) -> Cluster | None:
        """The notebook's current cluster, if any; sends no request."""
        return self._cluster if self._cluster is not None and not self._cluster.gone else None

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the portal's loop."""
        return self.portal.call(work)

    # ---- which cluster

    def cluster(self, name: str | None = None) -> Cluster:
        """Return the cluster for a command.

        Raises:
            NotFound: There is no cluster of that name, or no cluster at all.
        """
        if name is not None:
            return (
                self._cluster if self._cluster is not None and self._cluster.name == name else connect(name)
            )
        if self._cluster is not None and not self._cluster.gone:
            return self._cluster
        if self._cluster is not None:
            self._ended, self._cluster = self._cluster.name, None
        running = clusters()
        if (begun := self._begun(running)) is not None:
            return self.attach(begun.name)
        if self._ended is not None:
            raise self._over(self._ended, running)
        if len(running) == 1:
            return self.attach(running[0].name)
        if running:
            names = ", ".join(c.name for c in running)
            raise NotFound(f"Several clusters are running: {names}.", "Choose one: %distributed attach NAME")
        raise NotFound("No cluster is running.", "Start one: %distributed start")

    def _begun(self, running: list[Cluster]) -> Cluster | None:
        """Return the cluster that the panel has started for this notebook, if it still runs."""
        used = self._use.recorded
        if used is None or not (used.begun or self._ended is not None):
            return None
        return next((cluster for cluster in running if cluster.id == used.cluster), None)

    @staticmethod
    def _over(ended: str, running: list[Cluster]) -> NotFound:
        """Return the error of a notebook whose cluster has ended: commands and cells take no other one."""
        told, start = f"{ended}, which this notebook used, has ended.", "%distributed start"
        if not running:
            return NotFound(told, f"Start one: {start}")
        names = ", ".join(cluster.name for cluster in running)
        use = f"Use one: %distributed attach {running[0].name}"
        return NotFound(f"{told} Running: {names}.", f"{use}; or start one: {start}")

    def cluster_or_start(self, name: str | None) -> Cluster:
        """Return the cluster for a cell; if no cluster is running, start one with the default profile."""
        try:
            return self.cluster(name)
        except NotFound as error:
            if name is not None or clusters() or not of_environment().auto_start:
                raise
            if self._ended is not None:
                print(f"{error.message} Its variables are gone.", flush=True)
        self.start("local")
        assert self._cluster is not None
        return self._cluster

    def attach(self, name: str) -> Cluster:
        """Use a running cluster."""
        self._cluster = connect(name)
        self._uses(self._cluster, None)
        return self._cluster

    def start(self, profile: str, **options: Any) -> Cluster:
        """Start a cluster, use it in this notebook, and print one line about it.

        A notebook that runs again keeps the cluster of its first run. If the panel has started a cluster for
        the notebook, that cluster is used.
        """
        began = time.monotonic()
        asked = self._mine()
        running = self._running(asked, profile, **options)
        self._cluster = running or start(profile, **options)
        self._uses(self._cluster, options.get("monitor"))
        info = self._cluster.cluster()
        nodes = f"{len(info.nodes)} node" if len(info.nodes) == 1 else f"{len(info.nodes)} nodes"
        size = f"{rank_sets.count(info.world.size)} on {nodes}"
        if running is not None and asked is not None and asked.begun:
            print(f"Using {info.name}, which was started in the panel: {size}.", flush=True)
        elif running is not None:
            print(f"{info.name} is already running: {size}; variables are kept.", flush=True)
        else:
            print(f"{info.name} is ready: {size}, in {time.monotonic() - began:.1f} s.", flush=True)
        return self._cluster

    def _mine(self) -> notebook_clusters.Used | None:
        """Return the cluster that this notebook uses, or used last."""
        return self._use.now if self.current is not None else self._use.recorded

    def _running(
        self,
        used: notebook_clusters.Used | None,
        profile: str,
        *,
        name: str | None = None,
        ranks: int | None = None,
        nodes: int | None = None,
        ranks_per_node: int | None = None,
        monitor: bool | None = None,
    ) -> Cluster | None:
        """Return this notebook's cluster if a request describes it, and it can run cells."""
        mine = next((r for r in self.portal.worlds.found() if used and r.id == used.cluster), None)
        if used is None or mine is None or name not in (None, mine.name) or monitor != used.monitor:
            return None
        try:
            asked = profiles.load(profile).environment
            if mine.remote is None:
                python = environment.of_machine(asked, sys.executable)
                if mine.environment != environment.key(python, asked):
                    return None
            info = self.call(self.portal.worlds.info(mine))
        except DtrainError:  # a start says what is wrong
            return None
        if info is None:
            return None
        per_node = info.world.size // max(len(info.nodes), 1)
        alike = (
            info.profile == profile
            and ranks in (None, info.world.size)
            and nodes in (None, len(info.nodes))
            and ranks_per_node in (None, per_node)
        )
        if not alike or (used.begun and set(info.notebooks) - {self.notebook}):
            return None
        if used.begun and info.state in BEGINS:
            self.call(self._ready(mine))
        elif info.state != "ready":
            return None
        return connect(mine.name)

    async def _ready(self, record: HeadRecord) -> None:
        worlds = self.portal.worlds
        await worlds.ready(await worlds.reach(record))

    def _uses(self, cluster: Cluster, monitor: bool | None) -> None:
        """Remember the notebook's cluster, also for the kernel after a restart."""
        self._ended = None
        self._use.uses(cluster.id, monitor)

    def stop(self) -> None:
        """Stop this notebook's cluster."""
        cluster = self.cluster()
        name = cluster.name
        cluster.stop_for(sys.executable if self._may_warm() else None)
        self._ended, self._cluster = name, None
        print(f"{name} is stopped.")

    def warm(self) -> None:
        """Start a head without ranks in the background, so that the next start is quick."""
        if not self._may_warm() or self.portal.worlds.found():
            return

        async def warm() -> None:
            try:
                await self.portal.worlds.warm_heads.start(python=sys.executable)
            except DtrainError:
                return  # a start that the user requests will report the error

        self.portal.post(warm())

    @staticmethod
    def _may_warm() -> bool:
        return of_environment().warm and policy.of_server().warm

    # ---- cells

    def run(
        self, code: str, ranks: str, *, cluster: str | None, timeout: float | None, wait: bool, by_rank: bool
    ) -> None:
        """Run a cell on ranks with live output; interrupting this kernel interrupts the cell on the ranks.

        Args:
            code: Code of the cell, without the magic's line.
            ranks: "0,2-3", or empty for all.
            cluster: Name of a cluster other than this notebook's.
            timeout: Seconds from the start on the ranks.
            wait: Wait for the cell's end; otherwise `background` shows its output later.
            by_rank: Show one block of output per rank.

        Raises:
            CellFailed: The cell failed on a rank.
        """
        request = ExecuteRequest(self._shell)
        label, first_line = syntax.label(request.number), request.first_line(code)
        check_order(code, label, first_line, timeout)
        target = self.cluster_or_start(cluster)
        numbers = self.call(target.rank_set(ranks)) if ranks else None
        order = clients.Run(
            cell=cell_id(),
            code=code,
            label=label,
            ranks=numbers,
            first_line=first_line,
            notebook=self.notebook,
            timeout_s=timeout,
            cell_id=request.cell,
            detached=not wait,
            aborts=True,
            source=request.debugger_file() if self.debugger is not None else "",
            kernel=request.kernel,
            request=request.message,
        )
        if not wait:
            self.background.start(target, order)
            return
        ran = numbers or range(target.size)
        shown = CellDisplay(self._shell, self.portal, target, order.cell, ran, by_rank)
        debugger = self.debugger
        debugs = nullcontext() if debugger is None else debugger.cell(target, ran, order.cell)
        with debugs as debugged:
            result = shown.run(order)
            if debugged is not None:
                debugged.outcome = outcome_of(order.cell, result.failures, failed=not result.ok)
        result.raise_failure()
