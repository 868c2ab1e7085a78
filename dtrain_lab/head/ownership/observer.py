"""What a job's head does: observes ranks that a launcher owns. The job does not depend on it.

`python -m dtrain_lab.head observe FOLDER`, started by the batch script on the first node. Clients connect to
it as to a cluster's head; what has to outlive it is written to `live.json` and `metrics.jsonl` in the job's
folder.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import time
from importlib import metadata
from pathlib import Path

from msgspec.structs import replace

from dtrain_lab.head.listen import ListenSettings
from dtrain_lab.head.nodes.job_attempts import Attempts
from dtrain_lab.head.ownership.live_files import LiveFiles
from dtrain_lab.head.ownership.rank_ownership import Parts, StackReader
from dtrain_lab.head.requests import Handlers, Ordered
from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.jobs.logged_values import Piece
from dtrain_lab.machine import processes, supervision
from dtrain_lab.wire import links
from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.wire.jobs.folder import Live
from dtrain_lab.wire.jobs.job import JobRecord
from dtrain_lab.wire.metrics.history import Point
from dtrain_lab.wire.metrics.verdicts import Verdict
from dtrain_lab.wire.processes.endpoints import Keys
from dtrain_lab.wire.stacks import Frame
from dtrain_lab.world import Member, Members, State

log = logging.getLogger("dtrain_lab.head")
SCRIPT = "script"
"""Name of the one cell that all ranks of a job run: the script."""
AGENTS_WITHIN_S = 5.0
"""Seconds that agents may take to collect stacks of their ranks."""


class Observer:
    """Observes one job. Implements `rank_ownership.RankOwnership`.

    Args:
        folder: The job's folder.
        record: The job's record.
        parts: Shared parts of the head.
    """

    tick_s = 1.0
    point_s = 5.0
    idle_point_s: float | None = None
    handlers: Handlers = {}
    ordered: Ordered = {}

    def __init__(self, folder: Path, record: JobRecord, parts: Parts) -> None:
        self._folder = folder
        self._record = record
        self._collector, self._snapshot, self._routes = parts.collector, parts.snapshot, parts.routes
        self._debugger, self._mark_changed = parts.debugger, parts.mark_changed
        self._failures = parts.failures
        self.stack_readers: tuple[StackReader, ...] = (StackReader(self._ask_agents, AGENTS_WITHIN_S),)
        plan, profile = record.plan, record.profile
        self._collector.plan = plan
        self._snapshot.name, self._snapshot.owner = record.name, record.owner
        self._snapshot.created_at, self._snapshot.preloaded_s = record.created_at, 0.0
        self.state = State("starting", members=Members(Member(r) for r in range(plan.size)))
        self._one_machine = self._record.plan.traits.one_machine
        framework = record.framework
        serving = frozenset(r for r in range(plan.size) if framework is not None and framework.serves(r))
        self._attempts = Attempts(folder, plan.size, self._routes.to_peer, serving)
        self._files = LiveFiles(folder, self._took_values, self._live)
        self._done = asyncio.Event()
        self.listens: ListenSettings | None = ListenSettings(
            str(folder / job_files.ENDPOINTS),
            not self._one_machine,
            profile.network.interface,
            profile.network.ports,
        )

    async def run(self, keys: Keys | None) -> None:
        """Observe until the batch script sends a signal or is gone."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, self._done.set)
        loop.add_signal_handler(signal.SIGUSR2, lambda: None)
        processes.end_with_parent(signal.SIGTERM)
        self._write_packages()
        try:
            await self._done.wait()
        finally:
            try:
                await self._files.close()
            except Exception as error:  # noqa: BLE001 # the endpoints file has to be removed all the same
                supervision.here().fault("head.message", error)
            (self._folder / job_files.ENDPOINTS).unlink(missing_ok=True)

    # ---- what clients see

    def client_active(self) -> None:
        """A client has sent something; an observer ignores that."""

    def cluster(self) -> Cluster:
        """Current snapshot of the job's world."""
        return replace(self._snapshot.cluster(self.state), troubles=self._failures.all)

    def locate(self, rank: int, frame: Frame) -> tuple[str | None, str | None]:
        """Notebook and cell id for a stack frame."""
        return self._record.request.notebook, None

    def _ask_agents(self, order: links.ReadStacks) -> None:
        for agent in {self._routes.of(rank) for rank in order.ranks} - {None}:
            self._routes.to_peer(agent, order)  # type: ignore[arg-type]

    # ---- link

    def received(self, peer: bytes, message: links.Message, frame: bytes) -> None:
        """Handle an agent's message."""
        match message:
            case links.RanksLaunched():
                self._launched(peer, message)
            case links.Samples(_, samples):
                for sample in samples:
                    self._attempts.note_alive(sample.rank)
            case links.Exited(rank, pid, code):
                if self._attempts.ended(rank, pid, code):
                    self._routes.gone(rank)
                    self._collector.ended(rank, failed=code != 0)
                    self._debugger.forget(rank)
                    self.state = self.state.member(rank, cell=None, lost=code != 0)
                    self._mark_changed()
            case links.AskEnd(attempt):
                self._attempts.asked(peer, attempt)

    def _launched(self, peer: bytes, message: links.RanksLaunched) -> None:
        log.info("node %s: the agent of %s is there, attempt %s", message.node, message.name, message.attempt)
        state = self.state
        for rank, _, pid in message.ranks:
            self._collector.forget(rank)
            self._routes.joined(rank, peer)
            running = {"cell": SCRIPT, "last": SCRIPT, "lost": False}
            state = state.member(rank, pid=pid, joined=True, generation=message.attempt, **running)
        self._attempts.joined(peer, message)
        self._collector.cell_began([rank for rank, _, _ in message.ranks], SCRIPT)
        if not self._one_machine:
            self._name_node(message.node, message.name)
        self.state = replace(
            state,
            phase="ready" if all(m.joined for m in state.members) else "starting",
            generation=max(state.generation, message.attempt),
            ready_nodes=state.ready_nodes | {message.node},
        )
        self._mark_changed()

    def _name_node(self, node: int, name: str) -> None:
        """Update the plan with the node's name: a scheduler chose the node, so it is known only now."""
        plan = self._collector.plan
        assert plan is not None
        nodes = (replace(n, name=name) if index == node else n for index, n in enumerate(plan.nodes))
        self._collector.plan = replace(plan, nodes=tuple(nodes))

    # ---- what outlives this head

    def tick(self, stuck: Verdict | None) -> None:
        """Called on each tick: check the attempts, update the files."""
        self._attempts.check()
        self._files.update()

    def record_point(self, point: Point) -> None:
        """Append a point of the history to the job's folder."""
        self._files.add(point)

    def _live(self) -> Live:
        now = self.cluster()
        return Live(
            at=time.time(),
            ranks=now.ranks,
            nodes=now.nodes,
            metrics=now.metrics,
            generation=now.world.generation,
            values=now.metrics.values,
            troubles=now.troubles,
        )

    def _took_values(self, piece: Piece) -> None:
        for logged in piece.values:
            self._collector.values.logged(0, logged.step, logged.values, averaged=logged.averaged)

    def _write_packages(self) -> None:
        """Write the list of installed packages, for a later run of the same job."""
        packages = sorted(
            {f"{d.metadata['Name']}=={d.version}" for d in metadata.distributions() if d.metadata["Name"]}
        )
        with contextlib.suppress(OSError):  # a full disk; the job goes on
            (self._folder / job_files.PACKAGES).write_text("\n".join(packages) + "\n")
