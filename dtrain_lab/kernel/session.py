"""State of the magics in one kernel: the notebook's cluster, and the actions on it."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Coroutine
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from dtrain_lab.api.cluster import Cluster, cell_id, check_order
from dtrain_lab.api.portal import Portal
from dtrain_lab.api.start import clusters, connect, start
from dtrain_lab.cells import rank_sets, syntax
from dtrain_lab.debugger.places import cell_name
from dtrain_lab.errors import BadRequest, DtrainError, NotFound
from dtrain_lab.kernel.shown import Shown
from dtrain_lab.metrics.advice import text as advice_text
from dtrain_lab.metrics.units import duration, least_share, size_text
from dtrain_lab.services import notebooks
from dtrain_lab.services.policy import policy
from dtrain_lab.services.policy.options import of_environment
from dtrain_lab.services.profiles import environment
from dtrain_lab.services.profiles import files as profiles
from dtrain_lab.wire import clients
from dtrain_lab.wire.cells import CellRecord, Output
from dtrain_lab.wire.cluster import Cluster as Info
from dtrain_lab.wire.processes.record import HeadRecord

if TYPE_CHECKING:
    from dtrain_lab.kernel.comms import Restoring
    from dtrain_lab.kernel.debugger import KernelDebugger

T = TypeVar("T")
OUTPUTS = 5000
BEGINS = ("pending", "starting", "connecting")
"""States of a cluster that will be ready by itself."""
LARGE = 256 << 20
"""Bytes; a larger push reports its progress."""


class Session:
    """State of the magics in one kernel."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._current: Cluster | None = None
        self._used: notebooks.Used | None = None
        self.debugger: KernelDebugger | None = None
        """The kernel's debugger; None in a terminal's IPython."""
        self.restoring: Restoring | None = None
        self._detached: list[tuple[Cluster, str]] = []
        """Cells started with --no-wait that were not waited for yet."""
        self.notebook = os.environ.get("JPY_SESSION_NAME")
        parent = os.environ.get("JPY_PARENT_PID")
        # a kernel's parent process is its server; a terminal's IPython has no server
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
        self._cluster = None
        running = clusters()
        if len(running) == 1:
            return self.attach(running[0].name)
        if running:
            names = ", ".join(c.name for c in running)
            raise NotFound(f"Several clusters are running: {names}.", "Choose one: %distributed attach NAME")
        raise NotFound("No cluster is running.", "Start one: %distributed start")

    def cluster_or_start(self, name: str | None) -> Cluster:
        """Return the cluster for a cell; if no cluster is running, start one with the default profile."""
        try:
            return self.cluster(name)
        except NotFound:
            if name is not None or clusters() or not of_environment().auto_start:
                raise
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

        A notebook that is run twice keeps the cluster that its first run has started. One for which the
        panel has started a cluster uses that.
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
            print(f"{info.name} was started in the panel, and is used: {size}.", flush=True)
        elif running is not None:
            print(f"{info.name} runs already: {size}; variables are kept.", flush=True)
        else:
            print(f"{info.name} is ready: {size}, in {time.monotonic() - began:.1f} s.", flush=True)
        return self._cluster

    def _mine(self) -> notebooks.Used | None:
        """Return what this notebook uses, or has used last."""
        return self._used if self.current is not None else self._last()

    def _running(
        self,
        used: notebooks.Used | None,
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

    def _last(self) -> notebooks.Used | None:
        """Return what this notebook's former kernel used."""
        return notebooks.last(self.notebook) if self.notebook is not None else None

    def _uses(self, cluster: Cluster, monitor: bool | None) -> None:
        """Remember the notebook's cluster, also for the kernel after a restart."""
        self._used = notebooks.Used(cluster.id, monitor)
        if self.notebook is not None:
            notebooks.remember(self.notebook, self._used)

    def stop(self) -> None:
        """Stop this notebook's cluster."""
        cluster = self.cluster()
        name = cluster.name
        cluster.stop_for(sys.executable if self._may_warm() else None)
        self._cluster = None
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
            wait: Wait for the cell's end; otherwise the methods `wait` and `output` show its output later.
            by_rank: Show one block of output per rank.

        Raises:
            CellFailed: The cell failed on a rank.
        """
        label, first_line = syntax.label(self._number()), self._first_line(code)
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
            cell_id=self._cell_id(),
            detached=not wait,
            aborts=True,
            source=self._source(),
            kernel=self._kernel_id(),
            request=self._request(),
        )
        if not wait:
            self.call(target.start_order(order))
            self._detached.append((target, order.cell))
            print(f"Cell {order.label} runs in the background. To follow it: %distributed wait")
            return
        ran = numbers or range(target.size)
        shown = Shown(self._shell, self.portal, target, order.cell, ran, by_rank)
        with self.debugger.cell(target, ran) if self.debugger is not None else nullcontext() as debugged:
            result = shown.run(order)
            if debugged is not None:
                debugged.failed = not result.ok
                debugged.raised = tuple(f.rank for f in result.failures if f.kind == "raised")
        result.raise_failure()

    def wait(self) -> None:
        """Wait for cells started with --no-wait: show their output from the start, and raise their errors."""
        waiting, self._detached = self._detached or [self._last_detached()], []
        for position, (target, cell) in enumerate(waiting):
            self._detached = waiting[position + 1 :]  # kept where this one fails
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
        """Show the output so far of the last cell started with --no-wait."""
        target, cell = self._detached[-1] if self._detached else self._last_detached()
        record = self._record(target, cell)
        outputs: list[Output] = []
        while True:
            after = outputs[-1].seq if outputs else record.first_seq - 1
            more: list[Output] = self.call(target.ask(clients.ReadOutput(after, OUTPUTS, cell)))
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
            raise NotFound("The cluster no longer knows this cell.", "Its cluster may have been restarted.")
        return found

    def _last_detached(self) -> tuple[Cluster, str]:
        """Return this notebook's last --no-wait cell, also if an earlier kernel started it."""
        target = self.cluster()
        known = [record for record in self.call(target.cells()) if record.detached]
        mine = [record for record in known if record.notebook == self.notebook] or known
        if not mine:
            raise NotFound("No cell was begun with --no-wait.", "Begin one: %%distributed --no-wait")
        return target, mine[-1].id

    def _number(self) -> int:
        """Return the running cell's number; newer IPython's `execution_count` is already the next cell's."""
        return len(self._shell.history_manager.input_hist_raw) - 1

    def _first_line(self, code: str) -> int:
        """Return the notebook's line number of the line below the magic, which may stand below `%%time`."""
        kernel = getattr(self._shell, "kernel", None)
        raw = kernel.get_parent("shell")["content"].get("code", "") if kernel is not None else ""
        body = code.rstrip()
        above = raw.rstrip().removesuffix(body)
        return above.count("\n") + 1 if body and above != raw.rstrip() else 2

    def _source(self) -> str:
        """Return the debugger's file name for this cell's text; empty if it can't be debugged."""
        kernel = getattr(self._shell, "kernel", None)
        if self.debugger is None or kernel is None:
            return ""
        from ipykernel.compiler import get_file_name

        return cell_name(get_file_name(kernel.get_parent("shell")["content"]["code"]))

    def _request(self) -> str | None:
        """Return the id of the message that runs this cell, by which its front end identifies the run."""
        return self._of_request("header", "msg_id")

    def _kernel_id(self) -> str | None:
        """Return the server's id of this kernel; None if no server started it."""
        kernel = getattr(self._shell, "kernel", None)
        file = getattr(getattr(kernel, "parent", None), "connection_file", "")
        match = re.fullmatch(r"kernel-(.+)\.json", os.path.basename(file or ""))
        return match[1] if match else None

    def _cell_id(self) -> str | None:
        """Return the notebook's id of the running cell, if the front end sends it."""
        return self._of_request("metadata", "cellId")

    def _of_request(self, part: str, key: str) -> str | None:
        kernel = getattr(self._shell, "kernel", None)
        identity = kernel.get_parent("shell").get(part, {}).get(key) if kernel is not None else None
        return str(identity) if identity else None

    # ---- showing

    def status(self) -> None:
        """Print the state of this notebook's cluster."""
        info = self.cluster().cluster()
        print(f"{info.name}: {info.summary.text}")
        if info.ends_at is not None and info.ends_at != info.limit_at:
            print(f"Ends in {duration(info.ends_at - time.time())} unless a cell runs.")
        if info.limit_at is not None and "allocation" not in info.summary.text:
            print(f"Its allocation ends in {duration(info.limit_at - time.time())}.")
        if batch := advice_text.batch(info.metrics, info.world.size):
            print(f"{batch[0].upper()}{batch[1:]}.")
        for line in rank_lines(info):
            print(line)

    def advise(self, tried: str | None = None) -> None:
        """Print what would make training faster, or what advice gains that is tried.

        Args:
            tried: Id of the advice to try.
        """
        cluster = self.cluster()
        if tried is not None:
            print(cluster.try_advice(tried)["text"])
            return
        for line in advice_text.lines(cluster.advise(), cluster.cluster()):
            print(line)

    def forecast(self, nodes: int, ranks_per_node: int | None, profile: str | None) -> None:
        """Print what the loop that trained last would do on more nodes."""
        print(self.cluster().forecast(nodes, ranks_per_node, profile)["text"])

    def diagnose(self) -> None:
        """Print what takes a training step's time."""
        found = self.cluster().diagnose()
        print(found.text)
        for check in (found.communication, found.data):
            if check is not None:
                print(check.text)
        for note in found.notes:
            print(note)

    def where(self) -> None:
        """Print the position of each rank."""
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
        """Assign a variable of ranks in this kernel: the value of a single rank, or a dict by rank."""
        target = self.cluster()
        values = target.pull(name, ranks or None)
        value: Any = next(iter(values.values())) if ranks and len(values) == 1 else values
        self._shell.user_ns[name.split(".")[-1]] = value


def _said_at_times(verb: str) -> Callable[[int, int], None]:
    """Return a callback that prints the progress of a large push, one line per 10 %."""
    told = [0]

    def progress(done: int, total: int) -> None:
        if total >= LARGE and done * 10 // total > told[0]:
            told[0] = done * 10 // total
            print(f"{verb}: {size_text(done)} of {size_text(total)}", flush=True)

    return progress


def rank_lines(info: Info) -> list[str]:
    """Return the ranks as a text table, whose columns are as wide as their texts."""
    rows = []
    for rank in info.ranks:
        rate = f"{rank.samples_per_s:,.1f} samples/s" if rank.samples_per_s is not None else "–"
        share = least_share(rank.comm_overhead, rank.comm_bound)
        memory = f"{rank.memory_bytes / 2**30:.1f} GiB" if rank.memory_bytes else "–"
        step = str(rank.step) if rank.step is not None else "–"
        who = (f"rank {rank.rank}", rank.state, rank.device)
        rows.append((*who, f"step {step}", rate, f"communication {share}", memory))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  " + "   ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
