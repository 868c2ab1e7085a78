"""Jobs from Python: `dt.submit`, `dt.jobs`, `Job`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from dtrain_lab.api import debug
from dtrain_lab.api.portal import Portal
from dtrain_lab.core import ranks as rank_sets
from dtrain_lab.core.cluster import Stack
from dtrain_lab.core.job import Job as Info
from dtrain_lab.core.job import JobMetrics, JobPlan, JobRequest
from dtrain_lab.core.kinds import JOB_ENDED, JobLauncher
from dtrain_lab.core.lines import job_line
from dtrain_lab.services.debugging import JobCode
from dtrain_lab.services.jobs import Told
from dtrain_lab.services.reach import Connection


class Job:
    """A job. It runs without this process.

    Args:
        portal: of this process.
        info: as it was last seen.
    """

    def __init__(self, portal: Portal, info: Info) -> None:
        self._portal = portal
        self._info = info

    def __repr__(self) -> str:
        return f"<Job {self._info.name} {self._info.id}: {self._info.summary.text}>"

    @property
    def id(self) -> str:
        """Its id."""
        return self._info.id

    @property
    def name(self) -> str:
        """Its name."""
        return self._info.name

    @property
    def state(self) -> str:
        """How it stands: queued, starting, running, stopping, succeeded, failed, cancelled or lost."""
        return self.job().state

    def job(self) -> Info:
        """Everything about it, now, as a value."""
        self._info = self._portal.call(self._portal.jobs.job(self.id))
        return self._info

    def info(self) -> dict[str, Any]:
        """Everything about it, now, as JSON has it."""
        built: dict[str, Any] = msgspec.to_builtins(self.job())
        return built

    def logs(self, ranks: str | int | None = None) -> str:
        """All that its ranks wrote, by time, each line with its rank.

        Args:
            ranks: a rank, or a set as "0,2-3"; all unless told.
        """
        return "".join(f"{line}\n" for line in self._portal.call(self._lines(ranks)))

    async def _lines(self, ranks: str | int | None) -> list[str]:
        wanted = self._wanted(ranks)
        reader = await self._portal.jobs.reader(self.id)
        offset, lines = "start", []
        while True:
            piece = await reader.logs(offset=offset, ranks=wanted)
            lines += [job_line(line) for line in piece.lines]
            if piece.offset == offset:
                return lines
            offset = piece.offset

    def _wanted(self, ranks: str | int | None) -> tuple[int, ...] | None:
        return None if ranks is None else rank_sets.parse(str(ranks), self._info.world.size)

    def metrics(self) -> dict[str, Any]:
        """Its figures, and their history."""
        built: dict[str, Any] = msgspec.to_builtins(self._portal.call(self._metrics()))
        return built

    def wait(self, timeout: float | None = None, told: Told | None = None) -> str:
        """Wait for its end; its state then.

        Raises:
            TimeoutError: it has not ended in time, in seconds.
        """
        self._info = self._portal.call(self._wait(timeout, told))
        return self._info.state

    async def _wait(self, timeout: float | None, told: Told | None) -> Info:
        import asyncio

        async with asyncio.timeout(timeout):
            return await self._portal.jobs.wait(self.id, told)

    def cancel(self) -> None:
        """End it, on all its nodes."""
        self._info = self._portal.call(self._portal.jobs.cancel(self.id))

    def resume(self) -> Job:
        """A new job of the same code, from its last complete checkpoint."""
        return Job(self._portal, self._portal.call(self._portal.jobs.resume(self.id)))

    def delete(self) -> None:
        """Remove it, with its folder and checkpoints."""
        self._portal.call(self._portal.jobs.delete(self.id))

    def stacks(self, ranks: str | int | None = None) -> dict[int, str]:
        """What the threads of each rank do now."""
        wanted = self._wanted(ranks)
        found = self._portal.call(self._stacks(wanted))
        return {stack.rank: stack.text or stack.error or "" for stack in found}

    async def _stacks(self, ranks: tuple[int, ...] | None) -> list[Stack]:
        return await (await self._portal.jobs.reader(self.id)).stacks(ranks)

    async def _metrics(self) -> JobMetrics:
        return await (await self._portal.jobs.reader(self.id)).metrics()

    def debug(self) -> Any:
        """Debug its ranks, on one node or many: pause, breakpoints, stacks, variables; then let them go on.

        In a notebook, its own debugger takes over: breakpoints in the gutter stop the job. Elsewhere:

        Returns:
            A `Debugger`; a context manager.

        Raises:
            Conflict: it does not run, or somebody else debugs it.
            Unreachable: its head can't be reached.
        """
        connection, code = self._portal.call(self._reach())
        if debug.in_notebook is not None:
            return debug.in_notebook(connection, code)
        return debug.Debugger(self._portal, connection, code)

    async def _reach(self) -> tuple[Connection, JobCode]:
        reader = await self._portal.jobs.reader(self.id)
        here = str(Path(self._info.notebook or ".").absolute().parent)
        return await reader.connect(), JobCode(await reader.cell_names(), (here, reader.code))

    def export(self, file: str | Path) -> Path:
        """Write it for a colleague, as a .tar.gz: notebook, script, packages, figures, logs."""
        target = Path(file)
        target.write_bytes(self._portal.call(self._export()))
        return target

    async def _export(self) -> bytes:
        return await (await self._portal.jobs.reader(self.id)).export()

    @property
    def ended(self) -> bool:
        """It will not change any more."""
        return self.state in JOB_ENDED


def submit(
    notebook: str | Path,
    profile: str = "local",
    *,
    nodes: int | None = None,
    ranks_per_node: int | None = None,
    ranks: int | None = None,
    name: str | None = None,
    parameters: dict[str, Any] | None = None,
    time: str | None = None,
    launcher: JobLauncher | None = None,
    after: str | Job | None = None,
    retries: int = 0,
    stage: Sequence[str] = (),
    partition: str | None = None,
    environment: str | None = None,
    interface: str | None = None,
    options: Sequence[str] = (),
    warn_s: int = 60,
    mail: str | None = None,
    notify: str | None = None,
    files: bool = True,
    dry_run: bool = False,
) -> Any:
    """Submit a notebook as a job.

    Args:
        notebook: path of the .ipynb file, saved.
        profile: where to run.
        nodes, ranks_per_node, ranks: how large; else as the profile says.
        name: of the job; else the notebook's.
        parameters: values for the cell that is tagged `parameters`.
        time: limit, "02:00:00".
        launcher: of Slurm: "srun" or "torchrun".
        after: a job that has to succeed first.
        retries: how often a failed run begins anew.
        stage: files and folders that are copied to each node's own disk before ranks start (`dt.staged`).
        partition, environment, interface, options: in the place of the profile's; `environment` as
            "kind:path", `options` are more lines for the scheduler.
        warn_s: so long before the time limit every rank gets SIGUSR2; 0 for never.
        mail: address that Slurm writes to.
        notify: a command that runs when the job ends.
        files: take the small files of the notebook's folder along.
        dry_run: only plan: returns a `JobPlan` with files, command and findings.

    Raises:
        BadNotebook: it can't run as a job; the message names cell, line and what to do.
        BadSize, BadProfile, NotFound, Conflict, EnvironmentUnfit, StartFailed: nothing was submitted.
    """
    portal = Portal.get()
    file = Path(notebook).expanduser().absolute()
    request = JobRequest(
        notebook=str(notebook),
        profile=profile,
        ranks=ranks,
        nodes=nodes,
        ranks_per_node=ranks_per_node,
        name=name,
        parameters=parameters or {},
        time=time,
        launcher=launcher,
        after=after.id if isinstance(after, Job) else after,
        retries=retries,
        python=sys.executable,
        stage=tuple(stage),
        partition=partition,
        environment=environment,
        interface=interface,
        options=tuple(options),
        warn_s=warn_s,
        mail=mail,
        notify=notify,
        files=files,
    )
    if dry_run:
        return plan(portal, request, file)
    return Job(portal, portal.call(portal.jobs.submit(request, file)))


def plan(portal: Portal, request: JobRequest, file: Path) -> JobPlan:
    """What would be submitted."""
    return portal.call(portal.jobs.plan(request, file))


def jobs() -> list[Job]:
    """All jobs of this user, newest first."""
    portal = Portal.get()
    return [Job(portal, info) for info in portal.call(portal.jobs.listing())]


def job(name: str) -> Job:
    """A job, by id or name.

    Raises:
        NotFound: there is none.
    """
    portal = Portal.get()
    return Job(portal, portal.call(portal.jobs.job(name)))
