"""Which cluster this notebook uses, and what the magics do with it."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable, Coroutine
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from dtrain_lab.api.cluster import Cluster, cell_id
from dtrain_lab.api.portal import Portal
from dtrain_lab.api.start import clusters, connect, start
from dtrain_lab.core import cells
from dtrain_lab.core import ranks as rank_sets
from dtrain_lab.core.amounts import duration, size_text
from dtrain_lab.core.cluster import CellRecord, Output
from dtrain_lab.core.cluster import Cluster as Info
from dtrain_lab.core.debug.places import cell_name
from dtrain_lab.core.wire import doors
from dtrain_lab.errors import BadRequest, DtrainError, NotFound
from dtrain_lab.kernel.shown import Shown

if TYPE_CHECKING:
    from dtrain_lab.kernel.debugger import KernelDebugger

AUTO_START = "DTRAIN_LAB_AUTO_START"
"""Set to 0: a cell without a cluster is an error in place of a start."""


T = TypeVar("T")
OUTPUTS = 5000
LARGE = 256 << 20
"""Bytes; a copy of more says how far it is."""


class Session:
    """State of the magics in one kernel."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._current: Cluster | None = None
        self.debugger: KernelDebugger | None = None
        """Where the front end may debug: a kernel in a terminal has none."""
        self._detached: list[tuple[Cluster, str]] = []
        """Cells begun with --no-wait that nobody has waited for."""
        self.notebook = os.environ.get("JPY_SESSION_NAME")
        parent = os.environ.get("JPY_PARENT_PID")
        # the kernel's parent is the server that started it; a terminal's IPython has none
        server = os.getppid() if parent is not None else None
        self.portal = Portal.get("kernel", notebook=self.notebook, server=server)

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
        """The cluster that this notebook uses now, if any; asks nobody."""
        return self._cluster if self._cluster is not None and not self._cluster.gone else None

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run something in the portal's loop."""
        return self.portal.call(work)

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
                if not self.portal.worlds.found():
                    await self.portal.worlds.warm(python=sys.executable)
            except DtrainError:
                return  # the start itself will say what is wrong, to somebody who asked for it

        asyncio.run_coroutine_threadsafe(warm(), self.portal.loop)

    # ---- cells

    def run(
        self, code: str, ranks: str, *, cluster: str | None, timeout: float | None, wait: bool, by_rank: bool
    ) -> None:
        """Run a cell on ranks, its output live below it; an interrupt of this kernel interrupts it there.

        Args:
            code: of the cell, without the magic's line.
            ranks: "0,2-3", or empty for all.
            cluster: another one than this notebook's.
            timeout: seconds.
            wait: for its end; otherwise `wait` and `output` show it later.
            by_rank: a block of output for each rank.

        Raises:
            CellFailed: on some rank.
        """
        cells.check_source(code)
        target = self.cluster_or_start(cluster)
        numbers = self.call(target.rank_set(ranks)) if ranks else None
        order = doors.Run(
            cell=cell_id(),
            code=code,
            label=cells.label(self._number()),
            ranks=numbers,
            first_line=2,
            notebook=self.notebook,
            timeout_s=timeout,
            cell_id=self._cell_id(),
            detached=not wait,
            aborts=True,
            source=self._source(),
        )
        if not wait:
            self.call(target.start_order(order))
            self._detached.append((target, order.cell))
            print(f"Cell {order.label} goes on by itself. See it: %distributed wait")
            return
        ran = numbers or range(target.size)
        shown = Shown(self._shell, self.portal, target, order.cell, ran, by_rank)
        with self.debugger.cell(target, ran) if self.debugger is not None else nullcontext() as debugged:
            result = shown.until_end(lambda put: target.run_order(order, check=False, on_output=put))
            if debugged is not None:
                debugged.failed = not result.ok
        result.raise_failure()

    def wait(self) -> None:
        """Wait for cells begun with --no-wait: shows their output from the start, raises what they raised."""
        waiting, self._detached = self._detached or [self._last_detached()], []
        for position, (target, cell) in enumerate(waiting):
            record = self._record(target, cell)
            shown = Shown(self._shell, self.portal, target, cell, record.ranks, by_rank=False)
            try:
                result = shown.until_end(partial(target.follow, cell), keep=True)
            except KeyboardInterrupt:
                self._detached = waiting[position:]
                print(f"Cell {record.cell} goes on. Stop it: %distributed interrupt")
                return
            result.raise_failure()

    def output(self) -> None:
        """Show what the last cell begun with --no-wait has put out so far."""
        target, cell = self._detached[-1] if self._detached else self._last_detached()
        record = self._record(target, cell)
        outputs: list[Output] = []
        while True:
            after = outputs[-1].seq if outputs else record.first_seq - 1
            more: list[Output] = self.call(target.ask(doors.ReadOutput(after, OUTPUTS, cell)))
            outputs += more
            if len(more) < OUTPUTS:
                break
        Shown(self._shell, self.portal, target, cell, record.ranks, by_rank=False).at_once(outputs)
        if record.result is None:
            print(f"Cell {record.cell} is {record.state}.")
        elif record.result.sentence:
            print(record.result.sentence)

    def _record(self, target: Cluster, cell: str) -> CellRecord:
        found = next((record for record in self.call(target.cells()) if record.id == cell), None)
        if found is None:
            raise NotFound("This cell is not known any more.", "Its cluster may have been started anew.")
        return found

    def _last_detached(self) -> tuple[Cluster, str]:
        """The last such cell of this notebook, also where another kernel began it."""
        target = self.cluster()
        known = [record for record in self.call(target.cells()) if record.detached]
        mine = [record for record in known if record.notebook == self.notebook] or known
        if not mine:
            raise NotFound("No cell was begun with --no-wait.", "Begin one: %%distributed --no-wait")
        return target, mine[-1].id

    def _number(self) -> int:
        """Number of the cell that runs now; `execution_count` is already the next one's in newer IPython."""
        return len(self._shell.history_manager.input_hist_raw) - 1

    def _source(self) -> str:
        """Name of this cell's text, as the notebook's debugger has it; empty where it can't be debugged."""
        kernel = getattr(self._shell, "kernel", None)
        if self.debugger is None or kernel is None:
            return ""
        from ipykernel.compiler import get_file_name

        return cell_name(get_file_name(kernel.get_parent("shell")["content"]["code"]))

    def _cell_id(self) -> str | None:
        """The notebook's own id of the cell that runs now, where its front end tells."""
        kernel = getattr(self._shell, "kernel", None)
        if kernel is None:
            return None
        identity = kernel.get_parent("shell").get("metadata", {}).get("cellId")
        return str(identity) if identity else None

    # ---- showing

    def status(self) -> None:
        """Say how this notebook's cluster stands."""
        info = self.cluster().cluster()
        print(f"{info.name}: {info.summary.text}")
        if info.ends_at is not None and info.ends_at != info.limit_at:
            print(f"Ends in {duration(info.ends_at - time.time())} unless a cell runs.")
        if info.limit_at is not None and "allocation" not in info.summary.text:
            print(f"Its allocation ends in {duration(info.limit_at - time.time())}.")
        for line in rank_lines(info):
            print(line)

    def diagnose(self) -> None:
        """Say what takes a step's time."""
        found = self.cluster().diagnose()
        print(found.text)
        for check in (found.communication, found.data):
            if check is not None:
                print(check.text)
        for note in found.notes:
            print(note)

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
        target = self.cluster()
        values = {name: self._shell.user_ns[name] for name in names}
        size = target.push_watched(values, _said_at_times("Copying"))
        if size:
            print(f"{', '.join(names)}: {size_text(size)} to {rank_sets.count(target.size)}.")

    def pull(self, name: str, ranks: str) -> None:
        """Assign a variable of ranks here: its value for one rank, a dict by rank for several."""
        target = self.cluster()
        values = target.pull(name, ranks or None)
        value: Any = next(iter(values.values())) if ranks and len(values) == 1 else values
        self._shell.user_ns[name.split(".")[-1]] = value


def _said_at_times(verb: str) -> Callable[[int, int], None]:
    """Progress of a large copy, a line for each tenth of it."""
    told = [0]

    def progress(done: int, total: int) -> None:
        if total >= LARGE and done * 10 // total > told[0]:
            told[0] = done * 10 // total
            print(f"{verb}: {size_text(done)} of {size_text(total)}", flush=True)

    return progress


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
