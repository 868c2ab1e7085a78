"""State of the magics in one kernel: the notebook's cluster, and the actions on it."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Coroutine
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from dtrain_lab.api.cluster import Cluster, cell_id, check_order
from dtrain_lab.api.portal import Portal
from dtrain_lab.api.start import SOON_S, clusters, connect, start, usable
from dtrain_lab.cells import syntax
from dtrain_lab.errors import NotFound
from dtrain_lab.kernel import cluster_choice, warm_head
from dtrain_lab.kernel.background import BackgroundCells
from dtrain_lab.kernel.debugger.post_mortem import outcome_of
from dtrain_lab.kernel.execute_request import ExecuteRequest
from dtrain_lab.kernel.notebook_cluster import NotebookCluster
from dtrain_lab.kernel.output.cell_display import CellDisplay
from dtrain_lab.kernel.repeated_start import RepeatedStart
from dtrain_lab.machine import jupyter_variables
from dtrain_lab.services.connection import head_records
from dtrain_lab.services.notebook_clusters import UsedCluster
from dtrain_lab.services.policy.options import of_environment
from dtrain_lab.text import rank_names
from dtrain_lab.wire import clients
from dtrain_lab.wire.cluster import Cluster as ClusterInfo

if TYPE_CHECKING:
    from dtrain_lab.kernel.debugger.debugger import KernelDebugger
    from dtrain_lab.kernel.output.restoring import Restoring

T = TypeVar("T")


class MagicsSession:
    """State of the magics in one kernel."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._current: Cluster | None = None
        self._ended: cluster_choice.Ended | None = None
        """The cluster that this notebook used last, once it has ended."""
        self.debugger: KernelDebugger | None = None
        """The kernel's debugger; None in a terminal's IPython."""
        self.restoring: Restoring | None = None
        self.notebook = jupyter_variables.notebook()
        # a kernel's parent process is its server; a terminal's IPython has no server
        server = os.getppid() if jupyter_variables.SERVER in os.environ else None
        self.portal = Portal.get("kernel", notebook=self.notebook, server=server)
        self.background = BackgroundCells(shell, self)
        self._restarts = RepeatedStart(self.portal, self.notebook)
        self._use = NotebookCluster(self.notebook, ExecuteRequest(shell).kernel)

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

    def uses(self, cluster: str) -> bool:
        """Return whether cells run on a cluster (its id) to which this kernel is attached, maybe earlier."""
        return self._ended is None if self._cluster is None else self._cluster.id == cluster

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the portal's loop."""
        return self.portal.call(work)

    # ---- which cluster

    def cluster(self, name: str | None = None) -> Cluster:
        """Return the cluster for a cell; of a notebook without one, the only one that runs, and say so.

        Raises:
            NotFound: There is no cluster of that name, or no cluster at all.
        """
        if name is not None:
            return (
                self._cluster if self._cluster is not None and self._cluster.name == name else connect(name)
            )
        if (current := self._own()) is not None:
            return current
        only = self._only()
        taken = self._use_running(only.name, UsedCluster(only.id, taken=True))
        print(cluster_choice.taken(taken.snapshot(), self.notebook), flush=True)
        return taken

    def looked_at(self) -> Cluster:
        """Return the cluster for a command that only looks: it does not become this notebook's.

        If this notebook's has ended, it is the only one that runs, and a line says so.

        Raises:
            NotFound: No cluster is running, or there are several.
        """
        if (current := self._own()) is not None:
            return current
        if self._ended is None or len(running := clusters()) != 1:
            return self._only()
        print(cluster_choice.other_cluster_notice(self._ended, running[0].name), flush=True)
        return running[0]

    def read_from(self) -> Cluster:
        """Return the cluster for a command that takes its variables: not another one once it has ended.

        Raises:
            NotFound: No cluster is running, there are several, or this notebook's has ended.
        """
        return self._own() or self._only()

    def own(self, verb: str, command: str) -> Cluster:
        """Return the cluster for a command that ends or changes it: never one of others.

        Args:
            verb: What the command does to the cluster, such as "stop".
            command: The whole command, as the user typed it.

        Raises:
            NotFound: This notebook has started none, is attached to none, and has run no cell on one.
        """
        if (current := self._own(failed=True)) is not None:
            return current
        running = [info for cluster in clusters() if (info := self._told(cluster)) is not None]
        raise cluster_choice.not_own(verb, command, self._ended, running, self.notebook)

    def _own(self, *, failed: bool = False) -> Cluster | None:
        """Return the notebook's cluster, also if an earlier kernel, the panel or the Python API began it.

        Args:
            failed: Whether one counts that has failed, and can only be stopped.
        """
        if self.current is not None:
            return self.current
        if self._cluster is not None:
            self._has_ended(self._cluster)
        used, held = self._use.recorded, self.portal.worlds.held if self._ended is None else ()
        ids = {*held, used.cluster} if used is not None else held
        # clusters of others are not asked: one that hangs would hold up this notebook
        mine = [
            record.id
            for record in self.portal.worlds.running()
            if record.id in ids and (failed or self.call(usable(self.portal, record)) is not None)
        ]
        if used is not None and used.cluster in mine:
            return self._use_running(used.cluster, msgspec.structs.replace(used, begun=False))
        return self._use_running(mine[0], UsedCluster(mine[0])) if len(mine) == 1 else None

    def _only(self) -> Cluster:
        running = clusters()
        names = [cluster.name for cluster in running]
        if self._ended is not None:
            raise cluster_choice.ended(self._ended, names)
        if not running:
            raise NotFound("No cluster is running.", "Start one: %distributed start")
        if len(running) > 1:
            raise cluster_choice.several([self._name_and_users(cluster) for cluster in running], names[0])
        return running[0]

    def _name_and_users(self, cluster: Cluster) -> str:
        """Return a cluster's name, and who uses it if its head answers."""
        info = self._told(cluster)
        return cluster.name if info is None else cluster_choice.each([info], None, self.notebook)

    def _told(self, cluster: Cluster) -> ClusterInfo | None:
        return self.call(self.portal.worlds.info(cluster.connection.record, SOON_S))

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
        cluster = connect(name)
        return self._use_running(cluster.id, UsedCluster(cluster.id))

    def _use_running(self, name: str, used: UsedCluster) -> Cluster:
        self._cluster = connect(name)
        self._uses(used)
        return self._cluster

    def start(self, profile: str, **options: Any) -> Cluster:
        """Start a cluster, use it in this notebook, and print one line about it.

        A notebook that runs again keeps the cluster of its first run. If the panel has started a cluster for
        the notebook, that cluster is used.

        Args:
            profile: Name of the profile.
            **options: Other arguments of `dtrain_lab.start`.
        """
        began = time.monotonic()
        used = self._mine()
        running = self._restarts.reusable_cluster(used, profile, **options)
        self._cluster = running or start(profile, **options)
        self._uses(UsedCluster(self._cluster.id, options.get("monitor")))
        info = self._cluster.snapshot()
        nodes = f"{len(info.nodes)} node" if len(info.nodes) == 1 else f"{len(info.nodes)} nodes"
        size = f"{rank_names.count(info.world.size)} on {nodes}"
        if running is not None and used is not None and used.begun:
            print(f"Using {info.name}, which was started in the panel: {size}.", flush=True)
        elif running is not None:
            print(f"{info.name} is already running: {size}; variables are kept.", flush=True)
        else:
            print(f"{info.name} is ready: {size}, in {time.monotonic() - began:.1f} s.", flush=True)
            if left := self._restarts.left(used, info.name, profile, options.get("ranks")):
                print(left, flush=True)
        return self._cluster

    def _mine(self) -> UsedCluster | None:
        """Return the cluster that this notebook uses, or used last."""
        return self._use.now if self.current is not None else self._use.recorded

    def _uses(self, used: UsedCluster) -> None:
        """Remember the notebook's cluster, also for the kernel after a restart; the one before is left."""
        self._ended = None
        before = self._use.now
        self._use.uses(used)
        if before is not None and before.cluster != used.cluster:
            self.call(self.portal.worlds.detach(before.cluster, SOON_S))

    def stop(self) -> None:
        """Stop this notebook's cluster."""
        cluster = self.own("stop", "stop")
        info = self._told(cluster)
        cluster.stop_for(sys.executable if warm_head.allowed() else None)
        self._has_ended(cluster)
        print(cluster_choice.stopped(cluster.name, info, self.notebook))

    def _has_ended(self, cluster: Cluster) -> None:
        self._ended = cluster_choice.gone(cluster.name, head_records.ending_of(cluster.id), self.notebook)
        self._cluster = None

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
        shown.raise_failure(result)
