"""Debugger of a notebook's kernel: the kernel's own for ordinary cells, the ranks' for `%%distributed` cells.

Replaces `kernel.debugger`, so that JupyterLab's unmodified debugger serves both.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ipykernel.compiler import get_file_name, get_tmp_directory
from msgspec.structs import replace

from dtrain_lab.api import debug
from dtrain_lab.api.cluster import Cluster
from dtrain_lab.api.portal import Portal
from dtrain_lab.debugger import events
from dtrain_lab.debugger.replies import done, refused
from dtrain_lab.debugger.requests import knows_job
from dtrain_lab.debugger.state import Dap, JobCode, Outcome, State, to_rank
from dtrain_lab.errors import DtrainError
from dtrain_lab.kernel.debugger.earlier_breakpoints import EarlierBreakpoints
from dtrain_lab.kernel.debugger.kernel_requests import OwnRequests
from dtrain_lab.kernel.debugger.own_cells import OwnCells
from dtrain_lab.kernel.debugger.post_mortem import PostMortem
from dtrain_lab.kernel.debugger.sent_before import SentBefore
from dtrain_lab.machine import supervision
from dtrain_lab.services.connection import Connection
from dtrain_lab.services.debugger.debug_session import DebugSession
from dtrain_lab.services.debugger.reattach import Reattach

FIRST_SEQ = 1_000_000
NOT_ARRIVED = (
    "dtrain-lab: breakpoints that were set just before this cell have not arrived; "
    "the cell runs without them."
)


@dataclass
class Ran:
    """A cell of ranks, with its outcome once it has ended."""

    outcome: Outcome = field(default_factory=Outcome)


class KernelDebugger:
    """Replacement of `kernel.debugger`.

    Args:
        kernel: The notebook's kernel.
        portal: This process's portal.
        notebook: Path of the notebook, shown to other clients that want to debug the same ranks.
    """

    def __init__(self, kernel: Any, portal: Portal, notebook: str | None) -> None:
        self._kernel = kernel
        self._own = kernel.debugger
        self._requests = OwnRequests(self._own, lambda: bool(self._cell), lambda: self._wanted)
        self._cells = OwnCells(kernel.shell)
        self._sent = SentBefore()
        self._portal = portal
        self._debugging = DebugSession(notebook or "Another notebook", self._emit)
        self._debugging.state = State(prefix=f"{get_tmp_directory()}/")
        self._post_mortem = PostMortem(self._debugging, lambda: self._cell)
        self._wanted = False
        self._cell = ""
        """Id of the `%%distributed` cell that occupies the kernel's main thread."""
        self._last: tuple[Cluster, Outcome] | None = None
        """Cluster and outcome of the last cell, which may have ended before the debugger was turned on."""
        self._target: Cluster | None = None
        self._job: tuple[Connection, JobCode] | None = None
        self._again: supervision.BackgroundTask | None = None
        """Attaches ranks that come between two cells."""
        self._seq = FIRST_SEQ
        self._earlier = EarlierBreakpoints(lambda: self._own.breakpoint_list, self._emit)
        kernel.debugger = self
        debug.in_notebook = self.debug_job

    def __getattr__(self, name: str) -> Any:
        """Forward other attributes to the kernel's own debugger."""
        return getattr(self._own, name)

    def debug_job(self, connection: Connection, code: JobCode) -> None:
        """Debug a job from this notebook.

        Breakpoints in the notebook's cells apply to the job as long as the cells' text is unchanged.
        If JupyterLab's debugger is off, debugging starts once it is turned on.

        Args:
            connection: Connection to the job's head, which stays open while the job is debugged.
            code: The job's cells, as they were submitted.

        Raises:
            Conflict: Another client debugs the job.
        """
        self._leave_job()
        self._job = connection, code
        connection.on_close.append(partial(self._job_over, connection))
        if self._wanted:
            self._portal.call(self._begin_job())
            does = "debugs"
        else:
            does = "will debug"
        print(
            f"This notebook {does} {connection.name}"
            + ("" if self._wanted else " once its debugger is on (the bug in the toolbar)")
            + ". Breakpoints in its cells stop the job's ranks, as long as the cells are as they were "
            "submitted. The job continues when the debugger is turned off.",
            flush=True,
        )

    def _job_over(self, connection: Connection) -> None:
        """Called when the connection to a job closes: mostly at the job's end."""
        if self._job is not None and self._job[0] is connection:
            self._job = None

    def _leave_job(self) -> None:
        """Debug no job any more."""
        job, self._job = self._job, None
        if job is not None:
            self._portal.post(self._close(job[0]))

    async def _close(self, connection: Connection) -> None:
        if self._debugging.holds is connection:
            await self._debugging.end()
        connection.close()

    async def _begin_job(self) -> None:
        assert self._job is not None
        await self._debugging.begin(*self._job)
        await self._know_cells()

    async def _begin_job_quietly(self) -> None:
        try:
            await self._begin_job()
        except DtrainError as error:
            self._say_refusal(error, held=False)  # a job, and not the notebook's cluster

    async def _know_cells(self) -> None:
        """Map the front end's paths to the job's cells, and set the existing breakpoints in them."""
        debugging = self._debugging
        paths = {text: get_file_name(text) for text in debugging.state.texts}
        debugging.state = knows_job(debugging.state, paths)
        for path, points in list(self._own.breakpoint_list.items()):
            if path in debugging.state.cells and points:
                arguments = {"source": {"path": path}, "breakpoints": points}
                await debugging.request({"command": "setBreakpoints", "arguments": arguments})

    def take_out(self) -> None:
        """Restore the kernel's own debugger."""
        self._kernel.debugger = self._own
        self._cells.forget()
        debug.in_notebook = None
        self._portal.post(self._end())

    async def _end(self) -> None:
        self._stop_reattaching()
        await self._debugging.end()

    def _stop_reattaching(self) -> None:
        if self._again is not None:
            self._again.cancel()

    # ---- the notebook's cells

    def uses(self, cluster: Cluster | None) -> None:
        """Set the notebook's cluster; if the debugger is on, attach to its ranks."""
        self._target = cluster
        self._wanted = self._wanted or self._own.is_started  # since before the extension was loaded
        if self._wanted and cluster is not None and self._job is None:
            self._portal.post(self._begin(cluster))

    @contextmanager
    def cell(self, cluster: Cluster, ranks: Sequence[int], cell: str) -> Iterator[Ran]:
        """Context of a running `%%distributed` cell; if the debugger is on, set the breakpoints first.

        Args:
            cluster: The cluster that runs it.
            ranks: Its ranks.
            cell: Id of the notebook's cell.
        """
        self._cell = cell
        self._target = cluster
        ran = Ran()
        try:
            if self._wanted or self._own.is_started:
                self._wanted = True
                self._leave_job()
                arrived = self._sent.wait(self._kernel.control_thread.io_loop)
                refusal = self._portal.call(self._begin(cluster))
                if refusal:
                    print(f"dtrain-lab: no debugger on the ranks: {refusal}", flush=True)
                elif not arrived:
                    print(NOT_ARRIVED, flush=True)
                self._portal.call(self._began(ranks))
            yield ran
        finally:
            self._cell = ""
            self._last = (cluster, ran.outcome)
            if self._wanted:
                self._portal.post(self._ended(ranks, ran.outcome))
            if self._requests.delayed:
                self._kernel.control_thread.io_loop.add_callback(self._requests.catch_up)

    async def _begin(self, cluster: Cluster) -> str:
        """Attach to a cluster's ranks; returns the reason if that is impossible, else an empty string."""
        try:
            await self._earlier.answered(self._debugging.state)
            self._debugging.state = self._earlier.adopt(self._debugging.state)
            if self._last is not None and self._last[0] is cluster and not self._debugging.state.on:
                self._debugging.state = replace(self._debugging.state, outcome=self._last[1])
            new = self._debugging.holds is not cluster.connection
            await self._debugging.begin(cluster.connection)
            if new:
                self._stop_reattaching()
                again = Reattach(self._debugging, cluster.connection, None, lambda _: None, lambda: None)
                self._again = again.start()
        except DtrainError as error:
            self._say_refusal(error, held=error.code == "debugger_held")
            return str(error)
        return ""

    async def _began(self, ranks: Sequence[int]) -> None:
        self._debugging.cell_began(ranks)

    async def _ended(self, ranks: Sequence[int], outcome: Outcome) -> None:
        self._debugging.cell_ended(ranks, outcome)

    async def _look_where_it_failed(self, message: Dap) -> Dap:
        """Pause the ranks where a cell failed or was interrupted (post-mortem), by default the last one."""
        if self._target is None:
            return refused(message, "No cluster is running.")
        arguments = message.get("arguments") or {}
        try:
            cell, rank = str(arguments.get("cell") or ""), arguments.get("rank")
            await self._post_mortem.begin(self._target, cell, rank)
        except DtrainError as error:
            return refused(message, str(error), error.code)
        return done(message)

    async def _learn_conditions(self, message: Dap) -> Dap:
        """Take over the conditions that the front end has shown since before this kernel."""
        for arguments in self._earlier.conditions_received(
            message["arguments"]["points"], self._debugging.state
        ):
            await self._debugging.request({"command": "dtrain/breakpoint", "arguments": arguments})
        return done(message)

    def _say_refusal(self, error: DtrainError, *, held: bool) -> None:
        """Show why nothing is debugged.

        Args:
            error: The reason.
            held: Whether another client debugs the notebook's cluster.
        """
        self._debugging.state = replace(self._debugging.state, notes=(str(error),), held_elsewhere=held)
        self._emit(events.state_event(self._debugging.state))

    # ---- requests

    async def process_request(self, message: Dap) -> Dap:
        """Serve a Debug Adapter Protocol request of the front end; called in the control thread."""
        if message["command"] == "dtrain/sending":
            self._sent.announce(pending=bool(message["arguments"]["pending"]))
            return done(message)
        with self._sent.serving(message["command"]):
            return await self._serve(message)

    async def _serve(self, message: Dap) -> Dap:
        loop = asyncio.get_running_loop()

        async def own(request: Dap) -> Dap:
            kernel_answer = asyncio.run_coroutine_threadsafe(self._requests.ask(request), loop)
            return await asyncio.wrap_future(kernel_answer)

        command = message["command"]
        if command == "initialize":
            self._wanted = True
            if self._job is not None:
                self._portal.post(self._begin_job_quietly())
            elif self._target is not None and not self._target.gone:
                self._portal.post(self._begin(self._target))
        elif command == "dtrain/state" and (lacking := self._without_debugger()) is not None:
            self._portal.post(self._begin(lacking))  # whoever debugged its ranks may have let them go
        elif command in ("disconnect", "terminate"):
            self._wanted = False
            self._requests.forget()
        if command == "dtrain/postmortem":
            return await self._portal.wrap(self._look_where_it_failed(message))
        if command == "dtrain/conditions":
            return await self._portal.wrap(self._learn_conditions(message))
        if command == "pause" and self._nothing_runs():
            what = "rank" if self._cell else "cell"
            return refused(message, f"No {what} is running: there is nothing to pause.")
        if not self._own.stopped_threads:
            message = to_rank(self._debugging.state, message)
        answer: Dap = await self._portal.wrap(self._debugging.request(message, own))
        if command in ("disconnect", "terminate"):
            self._leave_job()
        if command == "debugInfo" and self._wanted:
            answer["body"]["isStarted"] = True
            answer["body"]["holdsRanks"] = self._holds_cluster
        return answer

    @property
    def _holds_cluster(self) -> bool:
        """Whether ranks of the notebook's cluster are debugged here, and not a job."""
        holds = self._debugging.holds
        return holds is not None and self._target is not None and holds is self._target.connection

    def _without_debugger(self) -> Cluster | None:
        """The notebook's cluster, if the debugger is on and not at its ranks, as after a refusal."""
        target = self._target
        if target is None or target.gone or self._job is not None or self._debugging.holds is not None:
            return None
        return target if self._wanted else None

    def _nothing_runs(self) -> bool:
        """Whether ranks are debugged, and neither they nor the kernel have anything to pause.

        The kernel's own debugger would stop it at the next line of Python: inside IPython, in the next cell.
        """
        state = self._debugging.state
        own_cell = self._cells.running and not self._cell
        return bool(state.attached) and not (state.running or own_cell)

    # ---- events

    def _emit(self, event: Dap) -> None:
        self._seq += 1
        self._kernel._publish_debug_event({"type": "event", "seq": self._seq, **event})
