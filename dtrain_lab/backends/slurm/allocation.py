"""Worlds in an existing allocation: the one that this process runs in, or a given job."""

from __future__ import annotations

import os
import re
import shlex
import socket
from collections.abc import Mapping
from typing import Literal

from dtrain_lab.backends.base import UNSURE
from dtrain_lab.backends.hosts.base import Done, Transport
from dtrain_lab.backends.hosts.transport import transport
from dtrain_lab.backends.slurm import partitions, reasons
from dtrain_lab.backends.slurm.queue import Queue
from dtrain_lab.errors import BadProfile, NotFound, StartFailed, Unreachable
from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.wire.plan import NodeFacts, Partition, SchedulerFacts
from dtrain_lab.wire.processes.head_record import Handle
from dtrain_lab.wire.processes.submission import Submission
from dtrain_lab.wire.profile import Profile
from dtrain_lab.wire.status import Status

MARK = "step"
"""File in a cluster's folder that contains the allocation and the process of its step."""
BEGAN = """
system() { echo "$(cat /proc/sys/kernel/random/boot_id) $(readlink /proc/self/ns/pid)"; }
began() {
    stat=$(cat "/proc/$1/stat") && set -- ${stat##*)} && [ "$1" != Z ] &&
        echo $((${20} * 100 / $(getconf CLK_TCK))) "$(system)"
}
"""
"""Shell function that says in 1/100 s when a process began, and in which system (as `machine.processes`);
nothing if it has ended."""
FATE = """
fate() {
    if [ "$(system)" != "$3" ]; then echo elsewhere
    elif [ "$(began "$1")" = "$2 $3" ]; then echo runs
    else echo gone; fi
}
"""
"""Shell function that says whether a process runs, given its pid, start and system."""


def used(profile: Profile) -> bool:
    """Return whether a profile uses an existing allocation."""
    return profile.slurm.allocation not in (None, "new")


def step_name(submission: Submission) -> str:
    """Return the name of a cluster's steps: that of its script, and that of its agents."""
    return f"dtl:{submission.id}"


def runs(submission: Submission) -> bool:
    """Return whether a submission is a step of an existing allocation; jobs get allocations of their own."""
    return submission.interactive and used(submission.profile)


async def facts(profile: Profile) -> SchedulerFacts:
    """Return the allocation's nodes as the only partition.

    Raises:
        NotFound: The allocation is not running.
        BadProfile: This process runs in no allocation.
    """
    job = job_of(profile)
    done = await transport(profile.ssh.login).run(["squeue", "-h", "-j", job, "-o", "%N|%P"])
    nodes, _, partition = done.out.decode().strip().partition("|")
    if done.code or not nodes:
        raise NotFound(f"There is no running job {job}.", "Set [slurm] allocation to a job of yours.")
    command = ["sinfo", "-h", "-N", "-n", nodes, "-p", partition, "-o", partitions.SINFO]
    done = await transport(profile.ssh.login).run(command)
    lines = [line.replace("*", "", 1) for line in done.out.decode().splitlines()]
    # a draining node keeps running what it has, such as this allocation
    parts = partitions.parsed(re.sub(r"\|(drain|drng)", "|alloc", line) for line in lines)
    here = profile.slurm.allocation == "current"
    cpus = int(os.environ.get("SLURM_CPUS_ON_NODE", 0)) if here else 0
    return SchedulerFacts(tuple(_limited(p, profile.slurm.partition, cpus) for p in parts))


def job_of(profile: Profile) -> str:
    """Return the allocation's job number.

    Raises:
        BadProfile: This process runs in no allocation, or the profile's job is not a number.
    """
    if profile.slurm.allocation != "current":
        return _number(str(profile.slurm.allocation))
    job = os.environ.get("SLURM_JOB_ID")
    if not job:
        raise BadProfile(
            '[slurm] allocation = "current", and this process is not inside a Slurm job.',
            'Start Jupyter inside a job (salloc, srun), or set allocation = "new".',
            code="no_allocation",
        )
    return job


class Step:
    """A cluster in an existing allocation, as a step. Implements `backends.processes.Processes`.

    The step is known by the process of its `srun`, which ends with it; on another machine than the one that
    started it, by its name in Slurm's list of steps.

    Args:
        cluster: The cluster.
        commands: Transport to Slurm's commands: to the machine of that process.
        queue: This user's jobs there.
    """

    def __init__(self, cluster: Submission, commands: Transport, queue: Queue) -> None:
        self._cluster = cluster
        self._commands = commands
        self._queue = queue

    async def start(self, files: Mapping[str, bytes]) -> Handle:
        """Write the folder, and run its script as a step, detached from this process.

        Raises:
            StartFailed: The scheduler refuses.
            Unreachable: The machine did not say that it has started the step (`UNSURE`), or can't be asked.
        """
        cluster, job = self._cluster, job_of(self._cluster.profile)
        await self._commands.write(cluster.directory, files)
        step = f"srun --jobid={shlex.quote(job)} --overlap --exact --relative=0 --nodes=1 --ntasks=1"
        step += f" --mem=0 --quiet --input=none --job-name={step_name(cluster)}"
        log = f"{job_files.LAUNCHER_LOG}.log"
        line = (
            f'setsid {step} bash "$1/{job_files.BATCH}" >"$1/{log}" 2>&1 </dev/null & '
            f'known="$2 $! $(began $!)"; echo "$known" > "$1/{MARK}" || {{ kill $!; exit 1; }}; echo "$known"'
        )
        try:
            done = await self._commands.run(["bash", "-c", BEGAN + line, "bash", cluster.directory, job])
        except Unreachable as error:
            message = f"{error.message} The step of {cluster.name} may have been started."
            raise Unreachable(message, "dtrain-lab keeps asking.", code=UNSURE) from error
        if done.code:
            await self._commands.remove(cluster.directory)
            raise StartFailed(*reasons.refusal(done.err), code="refused")
        return self._handle(done.out)

    async def status(self) -> Status:
        """Return whether the step's process runs.

        Raises:
            Unreachable: It was started on another machine, and it is unknown whether it has ended.
        """
        assert self._cluster.handle is not None
        return Status("running" if await self._runs(self._cluster.handle) else "ended")

    async def find(self) -> Handle | None:
        """Find the step by the mark in its folder; raises as `status`."""
        mark = await self._commands.read(f"{self._cluster.directory}/{MARK}")
        handle = self._handle(mark) if mark else None
        return handle if handle is not None and await self._runs(handle) else None

    async def cancel(self) -> None:
        """Cancel the cluster's steps.

        A process that has its pid by now, or has it elsewhere, is left alone.

        Raises:
            Unreachable: The step can't be ended; or as `status`.
        """
        handle = self._cluster.handle or await self.find()
        if handle is None:
            return
        cancelled = await self._cancel_steps(handle.job)  # its agents may be left, too
        process = await self._process(handle)
        if process == "elsewhere":  # Slurm ends the steps that it has, and `srun` ends with them
            if not cancelled and await self._runs(handle):
                await self._cancel_steps(handle.job)
            return
        if process == "gone":
            return
        done = await self._ask(handle, '[ "$(fate "$@")" != runs ] || kill -TERM -- "-$1"')
        if done.code and await self._runs(handle):
            raise Unreachable(f"The step of {self._cluster.name} was not ended: {done.why}.", "Try again.")

    async def _cancel_steps(self, job: str) -> bool:
        """Cancel the cluster's steps that the allocation has; returns whether it had any."""
        found = await self._steps(job)
        if not found:
            return False
        done = await self._commands.run(["scancel", *found])
        if done.code and (left := set(found) & set(await self._steps(job))):
            why = f"Slurm did not cancel {', '.join(sorted(left))}: {reasons.last_line(done.err)}."
            raise Unreachable(why, "Try again.")
        return True

    async def _steps(self, job: str) -> list[str]:
        """Return the ids of the cluster's steps; none once the allocation is over."""
        done = await self._commands.run(["squeue", "--steps", "-h", f"--jobs={job}", "-o", "%i|%j"])
        if done.code and await self._is_over(job):
            return []
        if done.code:
            raise Unreachable(f"Slurm does not answer: {reasons.last_line(done.err)}.", "Try again.")
        steps = (line.partition("|") for line in done.out.decode("utf-8", "replace").splitlines())
        return [step for step, _, name in steps if name.strip() == step_name(self._cluster)]

    async def _is_over(self, job: str) -> bool:
        """Return whether an allocation has ended."""
        if (known := await self._queue.job(job)) is None:
            known = await self._queue.job(job, fresh=True)
        return known is None or known.is_over

    async def _process(self, handle: Handle) -> Literal["runs", "gone", "elsewhere"]:
        """Return whether the process of the step runs; "elsewhere" if it is another machine's or boot's."""
        if not handle.system:  # it had ended when its start was looked up
            return "gone"
        done = await self._ask(handle, 'fate "$@"')
        match done.out.decode().strip():
            case "runs":
                return "runs"
            case "gone":
                return "gone"
            case _:
                return "elsewhere"

    async def _runs(self, handle: Handle) -> bool:
        process = await self._process(handle)
        if process != "elsewhere":
            return process == "runs"
        if await self._steps(handle.job):
            return True
        begun = handle.endpoints is not None  # its head has listened
        if begun or await self._is_over(handle.job):
            return False
        name = self._cluster.name
        raise Unreachable(
            f"{name} was started on {handle.host}, and can't be checked from here: "
            "Slurm does not list its step.",
            f"Run there: dtrain-lab cluster stop {name}. Or end its allocation: scancel {handle.job}",
            code="elsewhere",
        )

    async def _ask(self, handle: Handle, line: str) -> Done:
        known = [str(handle.pid), str(round(handle.started * 100)), handle.system]
        return await self._commands.run(["bash", "-c", BEGAN + FATE + line, "bash", *known])

    def _handle(self, mark: bytes) -> Handle:
        job, pid, *known = mark.decode().strip().split(maxsplit=3)
        began, system = known or ("0", "")  # it has ended already
        cluster, host = self._cluster, self._cluster.profile.ssh.login or socket.gethostname()
        folder = cluster.directory
        return Handle(cluster.id, host, int(pid), int(began) / 100, folder, job=job, system=system)


def _number(text: str) -> str:
    """Validate a job number from a profile before it is used in a command.

    Raises:
        BadProfile: It is not a job number.
    """
    if re.fullmatch(r"\d+([_+]\d+)?", text) is None:
        raise BadProfile(
            f'[slurm] allocation = "{text}" is not a job number.',
            'Write "new", "current" or a job\'s number.',
        )
    return text


def _limited(partition: Partition, wanted: str | None, cpus: int) -> Partition:
    nodes = tuple(
        NodeFacts(n.name, n.address, min(n.cpus, cpus) if cpus else n.cpus, n.gpus, n.memory_bytes)
        for n in partition.nodes
    )
    return Partition(wanted or partition.name, nodes, None, wanted is None)
