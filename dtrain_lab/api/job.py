"""The Python interface of jobs: `dt.jobs`, `Job`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from dtrain_lab.api import debug, debug_target, prompts
from dtrain_lab.api.display.wait_line import wait_line
from dtrain_lab.api.portal import Portal
from dtrain_lab.api.submitted import Submitted, own_methods
from dtrain_lab.cells import rank_sets, stacks
from dtrain_lab.cells.merge import job_line
from dtrain_lab.services.jobs import following
from dtrain_lab.services.jobs.jobs import OnJobState
from dtrain_lab.services.jobs.log import CurrentBars
from dtrain_lab.text.job_facts import progress
from dtrain_lab.wire.codec.encode import as_json
from dtrain_lab.wire.jobs.job import Job as JobInfo
from dtrain_lab.wire.jobs.job import JobMetrics
from dtrain_lab.wire.jobs.log import Log
from dtrain_lab.wire.kinds import JOB_ENDED
from dtrain_lab.wire.stacks import Stack


class Job(Submitted[JobInfo]):
    """A submitted job, which runs independently of this process.

    Args:
        portal: This process's portal.
        info: Last seen state of the job.
    """

    @property
    def state(self) -> str:
        """Current state: queued, starting, running, stopping, succeeded, failed, cancelled or lost."""
        return self.snapshot().state

    def logs(self, ranks: rank_sets.Asked = None) -> str:
        """Return all output of the ranks in order of time, each line with its rank.

        Args:
            ranks: 0, [0, 2] or "0,2-3"; None for all.
        """
        return "".join(f"{line}\n" for line in self._portal.call(self._lines(ranks)))

    async def _lines(self, ranks: rank_sets.Asked) -> list[str]:
        lines, bars = list[Log](), CurrentBars()
        wanted = self._wanted(ranks)
        async for piece in following.pieces(self._portal.jobs, self.id, ranks=wanted, within_s=0):
            lines += piece.lines
            bars.take(piece)
        return [job_line(line) for line in (*lines, *bars.lines())]

    def _wanted(self, ranks: rank_sets.Asked) -> tuple[int, ...] | None:
        return rank_sets.asked(ranks, self._last.world.size)

    def metrics(self) -> dict[str, Any]:
        """Return current metrics and their history."""
        return as_json(self._portal.call(self._metrics()))

    async def _read(self) -> JobInfo:
        return await self._portal.jobs.job(self.id)

    async def _until_ended(self, on_change: OnJobState | None) -> JobInfo:
        return await self._portal.jobs.wait(self.id, on_change)

    def wait(self, timeout: float | None = None, on_change: OnJobState | None = None) -> str:
        """Wait for the end; meanwhile, a line in the notebook or terminal says how far the job is.

        Args:
            timeout: Seconds; None for no limit.
            on_change: Called with the state at each poll, in another thread; there is then no line.

        Returns:
            The final state.

        Raises:
            TimeoutError: It has not ended in time.
        """
        if on_change is not None:
            return super().wait(timeout, on_change)
        with wait_line(
            progress(self._last, time.time()),
            notebook=prompts.kernel() is not None,
            in_notebook="See its log and metrics live in the Distributed panel, under Jobs.",
            in_terminal=f"Its log: dtrain-lab job logs {self.id} -f",
        ) as show:
            return super().wait(timeout, lambda job: show(progress(job, time.time())))

    def cancel(self) -> None:
        """Ask all the job's nodes to end it; returns once they have the request, `wait` waits for the end.

        A job that has ended stays as it is.
        """
        self._last = self._portal.call(self._portal.jobs.cancel(self.id))

    def resume(self, *, force: bool = False) -> Job:
        """Submit a new job with the same code, which continues from the last complete checkpoint.

        Args:
            force: Resume even if it is unknown whether the job still runs. Two jobs must not write the same
                checkpoints.
        """
        with own_methods(self._portal, self.id):
            return Job(self._portal, self._portal.call(self._portal.jobs.resume(self.id, force=force)))

    def delete(self, *, force: bool = False) -> None:
        """Remove the job with its folder and checkpoints.

        Args:
            force: Remove it even if it is unknown whether it still runs, or if its folder can't be removed.

        Raises:
            Conflict: The job still runs, or jobs that resumed it have their checkpoints in its folder.
            Unreachable: The folder can't be removed.
        """
        with own_methods(self._portal, self.id):
            self._portal.call(self._portal.jobs.delete(self.id, force=force))

    def stacks(self, ranks: rank_sets.Asked = None) -> dict[int, str]:
        """Return the current stacks of each rank's threads; printed as a whole, equal stacks are folded."""
        texts = self._portal.call(self._stacks(self._wanted(ranks)))
        return stacks.StackTexts(texts, stacks.waiting(self.snapshot()), stacks.ELSEWHERE)

    async def _stacks(self, ranks: tuple[int, ...] | None) -> list[Stack]:
        return await (await self._portal.jobs.reader(self.id)).stacks(ranks)

    async def _metrics(self) -> JobMetrics:
        return await (await self._portal.jobs.reader(self.id)).metrics()

    def debug(self) -> Any:
        """Debug the job's ranks on all nodes: pause, breakpoints, stacks, variables.

        In a notebook, the notebook's own debugger is used: breakpoints in the gutter stop the job.

        Returns:
            Outside of a notebook, a `Debugger`, which is a context manager.

        Raises:
            Conflict: The job is not running, or another client debugs it.
            Unreachable: The head can't be reached.
        """
        connection, code = self._portal.call(debug_target.reach_job(self._portal, self.id))
        if debug.in_notebook is not None:
            return debug.in_notebook(connection, code)
        return debug.Debugger(self._portal, connection, code)

    def export(self, file: str | Path) -> Path:
        """Write notebook, script, packages, metrics and logs to a .tar.gz, and return its path."""
        target = Path(file)
        target.write_bytes(self._portal.call(self._export()))
        return target

    async def _export(self) -> bytes:
        return await (await self._portal.jobs.reader(self.id)).export()

    @property
    def ended(self) -> bool:
        """Whether the job's state is final."""
        return self.state in JOB_ENDED


def jobs() -> list[Job]:
    """Return all jobs of this user, newest first."""
    portal = Portal.get()
    return [Job(portal, info) for info in portal.call(portal.jobs.listing())]


def job(name: str) -> Job:
    """Return a job by its id or name.

    Raises:
        NotFound: There is no such job; or it is a sweep, whose command the hint names.
    """
    portal = Portal.get()
    return Job(portal, portal.call(portal.jobs.job(name)))
