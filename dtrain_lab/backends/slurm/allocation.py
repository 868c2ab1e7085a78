"""Worlds in an existing allocation: the one that this process runs in, or a given job."""

from __future__ import annotations

import os
import re
import shlex
import socket

from dtrain_lab.backends.hosts.base import Transport
from dtrain_lab.backends.hosts.transport import transport
from dtrain_lab.backends.slurm import partitions, reasons
from dtrain_lab.errors import BadProfile, NotFound, StartFailed
from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.wire.plan import NodeFacts, Partition, SchedulerFacts
from dtrain_lab.wire.processes.head_record import Handle
from dtrain_lab.wire.processes.submission import Submission
from dtrain_lab.wire.profile import Profile

BEGAN = """
began() {
    stat=$(cat "/proc/$1/stat") && set -- ${stat##*)} && echo $((${20} * 100 / $(getconf CLK_TCK))) \\
        "$(cat /proc/sys/kernel/random/boot_id) $(readlink /proc/self/ns/pid)"
}
"""
"""Shell function that says in 1/100 s when a process began, and in which system (as `machine.processes`)."""


def used(profile: Profile) -> bool:
    """Return whether a profile uses an existing allocation."""
    return profile.slurm.allocation not in (None, "new")


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
    # a node that drains runs what it has: this allocation, too
    found = partitions.parsed(re.sub(r"\|(drain|drng)", "|alloc", line) for line in lines)
    here = profile.slurm.allocation == "current"
    cpus = int(os.environ.get("SLURM_CPUS_ON_NODE", 0)) if here else 0
    return SchedulerFacts(tuple(_limited(p, profile.slurm.partition, cpus) for p in found))


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


async def start(cluster: Submission, commands: Transport) -> Handle:
    """Run a cluster's script as a step of the allocation, detached from this process.

    Args:
        cluster: Record of the cluster.
        commands: Transport to Slurm's commands.

    Raises:
        StartFailed: The scheduler refuses.
    """
    job = job_of(cluster.profile)
    step = f"srun --jobid={shlex.quote(job)} --overlap --exact --relative=0 --nodes=1 --ntasks=1"
    step += " --mem=0 --quiet --input=none"
    log = f"{job_files.LAUNCHER_LOG}.log"
    line = f'setsid {step} bash "$1/{job_files.BATCH}" >"$1/{log}" 2>&1 </dev/null & echo $! "$(began $!)"'
    done = await commands.run(["bash", "-c", BEGAN + line, "bash", cluster.directory])
    if done.code:
        raise StartFailed(*reasons.refusal(done.err), code="refused")
    pid, *known = done.out.decode().strip().split(maxsplit=2)
    began, system = known or ("0", "")  # it has ended already
    host, folder = socket.gethostname(), cluster.directory
    return Handle(cluster.id, host, int(pid), int(began) / 100, folder, job=job, system=system)


async def end(cluster: Submission, commands: Transport) -> None:
    """Cancel a cluster's steps.

    A process that has its pid by now, or has it elsewhere, is left alone.

    Args:
        cluster: The cluster, which has a handle.
        commands: Transport to the machine from which the steps were started.
    """
    handle = cluster.handle
    assert handle is not None
    line = '[ "$(began "$1")" = "$2" ] && kill -TERM -- "-$1"'
    known = f"{round(handle.started * 100)} {handle.system}"
    await commands.run(["bash", "-c", BEGAN + line, "bash", str(handle.pid), known])


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
