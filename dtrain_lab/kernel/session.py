"""Which cluster this notebook uses, and what the magics do with it."""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import sys
import time
from typing import Any

from dtrain_lab.api.cluster import Cluster, cell_id
from dtrain_lab.api.portal import Portal
from dtrain_lab.api.result import Result
from dtrain_lab.api.start import clusters, connect, start
from dtrain_lab.core import cells
from dtrain_lab.core import ranks as rank_sets
from dtrain_lab.core.cluster import Cluster as Info
from dtrain_lab.errors import BadRequest, DtrainError, NotFound
from dtrain_lab.kernel.emit import Emitter

AUTO_START = "DTRAIN_LAB_AUTO_START"
"""Set to 0: a cell without a cluster is an error in place of a start."""


class Session:
    """State of the magics in one kernel."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._cluster: Cluster | None = None
        self.notebook = os.environ.get("JPY_SESSION_NAME")
        parent = os.environ.get("JPY_PARENT_PID")
        # the kernel's parent is the server that started it; a terminal's IPython has none
        server = os.getppid() if parent is not None else None
        self._portal = Portal.get("kernel", notebook=self.notebook, server=server)

    # ---- which cluster

    def cluster(self, name: str | None = None) -> Cluster:
        """The cluster of a command.

        Raises:
            NotFound: none by that name, or none at all.
        """
        if name is not None:
            return (
                self._cluster if self._cluster is not None and self._cluster.name == name else connect(name)
            )
        if self._cluster is not None and not self._cluster.gone:
            return self._cluster
        self._cluster = None
        running = clusters()
        if len(running) == 1:
            return self.attach(running[0].name)
        if running:
            names = ", ".join(c.name for c in running)
            raise NotFound(f"Several clusters are running: {names}.", "Choose one: %distributed attach NAME")
        raise NotFound("No cluster is running.", "Start one: %distributed start")

    def cluster_or_start(self, name: str | None) -> Cluster:
        """The cluster of a cell; starts the default profile where none is running."""
        try:
            return self.cluster(name)
        except NotFound:
            if name is not None or clusters() or os.environ.get(AUTO_START) == "0":
                raise
        self.start("local")
        assert self._cluster is not None
        return self._cluster

    def attach(self, name: str) -> Cluster:
        """Use a running cluster."""
        self._cluster = connect(name)
        return self._cluster

    def start(self, profile: str, **options: Any) -> Cluster:
        """Start a cluster and use it; says so in one line."""
        began = time.monotonic()
        self._cluster = start(profile, **options)
        info = self._cluster.cluster()
        nodes = f"{len(info.nodes)} node" if len(info.nodes) == 1 else f"{len(info.nodes)} nodes"
        print(
            f"{info.name} is ready: {rank_sets.count(info.world.size)} on {nodes}, "
            f"in {time.monotonic() - began:.1f} s.",
            flush=True,
        )
        return self._cluster

    def stop(self) -> None:
        """Stop this notebook's cluster."""
        cluster = self.cluster()
        name = cluster.name
        cluster.stop()
        self._cluster = None
        print(f"{name} is stopped.")

    def warm(self) -> None:
        """Start a head without ranks in the background, so that the next start is quick."""
        if os.environ.get("DTRAIN_LAB_WARM", "1") == "0":
            return

        async def warm() -> None:
            try:
                if not self._portal.worlds.found():
                    await self._portal.worlds.warm(python=sys.executable)
            except DtrainError:
                return  # the start itself will say what is wrong, to somebody who asked for it

        asyncio.run_coroutine_threadsafe(warm(), self._portal.loop)

    # ---- cells

    def run(self, code: str, ranks: str, *, cluster: str | None, timeout: float | None) -> Result:
        """Run a cell on ranks, its output live below it; an interrupt of this kernel interrupts it there."""
        cells.check_source(code)
        target = self.cluster_or_start(cluster)
        emitter = Emitter(self._shell)
        cell = cell_id()
        work = target.run_here(
            code,
            ranks or None,
            timeout=timeout,
            check=False,
            label=cells.label(self._number()),
            first_line=2,
            notebook=self.notebook,
            on_output=emitter.put,
            cell=cell,
        )

        async def shown() -> Result:
            result = await work
            emitter.finish()
            return result

        future = asyncio.run_coroutine_threadsafe(shown(), self._portal.loop)
        return self._wait(future, target, cell)

    def _number(self) -> int:
        """Number of the cell that runs now; `execution_count` is already the next one's in newer IPython."""
        return len(self._shell.history_manager.input_hist_raw) - 1

    def _wait(self, future: concurrent.futures.Future[Result], target: Cluster, cell: str) -> Result:
        while True:
            try:
                return future.result()
            except KeyboardInterrupt:
                if future.done():
                    raise
                asyncio.run_coroutine_threadsafe(target.interrupt_cell(cell), self._portal.loop)

    # ---- showing

    def status(self) -> None:
        """Say how this notebook's cluster stands."""
        info = self.cluster().cluster()
        print(f"{info.name}: {info.summary.text}")
        for line in rank_lines(info):
            print(line)

    def where(self) -> None:
        """Say where each rank is."""
        for rank, place in self.cluster().where().items():
            print(f"[{rank}] {place}")

    def push(self, names: list[str]) -> None:
        """Assign variables of this kernel on all ranks."""
        missing = [name for name in names if name not in self._shell.user_ns]
        if missing:
            raise BadRequest(
                f"{', '.join(missing)} is not defined here.", "Define it in this notebook first."
            )
        self.cluster().push(**{name: self._shell.user_ns[name] for name in names})

    def pull(self, name: str, ranks: str) -> None:
        """Assign a variable of ranks here: its value for one rank, a dict by rank for several."""
        target = self.cluster()
        values = target.pull(name, ranks or None)
        value: Any = next(iter(values.values())) if ranks and len(values) == 1 else values
        self._shell.user_ns[name.split(".")[-1]] = value


def rank_lines(info: Info) -> list[str]:
    """Ranks as a table of text."""
    lines = []
    for rank in info.ranks:
        rate = f"{rank.samples_per_s:,.1f} samples/s" if rank.samples_per_s is not None else "–"
        share = f"{rank.comm_overhead:.0%}" if rank.comm_overhead is not None else "–"
        memory = f"{rank.memory_bytes / 2**30:.1f} GiB" if rank.memory_bytes else "–"
        step = str(rank.step) if rank.step is not None else "–"
        lines.append(
            f"  rank {rank.rank:<3} {rank.state:<14} {rank.device:<7} step {step:<7} "
            f"{rate:<20} communication {share:<5} {memory}"
        )
    return lines
