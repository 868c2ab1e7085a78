"""The local back-end: heads and job scripts as processes of this machine, each leading its own session."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import socket
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec
import psutil

from dtrain_lab.backends import script
from dtrain_lab.backends.base import Backend, Place, Way
from dtrain_lab.backends.local import interpreter
from dtrain_lab.backends.local import processes as own
from dtrain_lab.backends.local.environment import variables
from dtrain_lab.backends.transport import Here
from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.machine import check, local_facts, processes, slot_tickets
from dtrain_lab.placement import activation, slots
from dtrain_lab.placement.local_plan import plan_local
from dtrain_lab.placement.slots import NodeSlots
from dtrain_lab.wire.jobs.job import JobRecord
from dtrain_lab.wire.node_check import Check
from dtrain_lab.wire.plan import Facts, NodeFacts, Plan, Request
from dtrain_lab.wire.processes.endpoints import Endpoints
from dtrain_lab.wire.processes.head_record import Handle
from dtrain_lab.wire.processes.submission import ClusterRecord, Submission
from dtrain_lab.wire.profile import Profile
from dtrain_lab.wire.status import Status
from dtrain_lab.wire.traits import Traits

CHECK_WITHIN_S = 60.0
"""Time of an interpreter for its check: it imports torch, maybe from a slow disk."""
ENDED_WITHIN_S = 5.0
"""Time that a killed head has to be gone."""
KILL_AFTER_S = 12.0
MARK = "handle"
"""File in a head's folder that contains its handle."""


class LocalBackend(Backend):
    """Runs clusters and jobs on this machine."""

    name = "local"
    traits = Traits(one_machine=True, shares_folder=True)

    async def facts(self, profile: Profile) -> NodeFacts:
        """Return the resources of this machine that this process may use."""
        return await asyncio.to_thread(local_facts)

    async def checks(self, profile: Profile, python: str) -> dict[str, Check]:
        """Check this machine with the Python of the profile's environment.

        Raises:
            EnvironmentUnfit: That Python can't run dtrain-lab, or runs another version of it.
        """
        command = [os.path.expanduser(word) for word in activation.python(profile.environment, python)]
        if command == [sys.executable]:
            found = await asyncio.to_thread(check, profile.workdir)
        else:
            found = await interpreter.ask(
                command,
                ("-m", "dtrain_lab.node", "check", *([profile.workdir] if profile.workdir else [])),
                Check,
                within_s=CHECK_WITHIN_S,
                hint="Look at [environment] of the profile.",
                env=variables(profile.environment),
                cwd="/",
            )
        return {found.facts.name: found}

    def plan(self, facts: Facts, profile: Profile, request: Request, *, python: str, directory: str) -> Plan:
        """Plan one node, or several simulated ones."""
        assert isinstance(facts, NodeFacts)
        made = plan_local(profile, request, facts, python=python, directory=directory)
        return msgspec.structs.replace(made, traits=self.traits)

    def scripts(self, submission: Submission) -> dict[str, str]:
        """Return one script for all (simulated) nodes; none for a cluster, whose head needs no script."""
        if isinstance(submission, ClusterRecord):
            return {}
        return {job_files.BATCH: script.on_hosts(submission, None)}

    def command(self, submission: Submission) -> str:
        """Return the command that runs the script by hand."""
        return f"bash {shlex.quote(submission.directory)}/{job_files.BATCH}"

    async def submit(self, submission: Submission, files: Mapping[str, bytes]) -> Handle:
        """Start a head, with its settings on standard input; or a job's script."""
        if isinstance(submission, ClusterRecord):
            return await asyncio.to_thread(_start_head, submission)
        await Here().write(submission.directory, files)
        return await asyncio.to_thread(_start_script, submission)

    async def status(self, submission: Submission) -> Status:
        """Return whether the same process still runs.

        Raises:
            Unreachable: It was started on another machine that shares the folder with this one.
        """
        handle = submission.handle
        assert handle is not None
        if own.process(handle) is not None:
            return Status("running")
        if isinstance(submission, JobRecord):
            own.must_be_here(submission, handle.host, handle.system)
        return Status("ended")

    async def find(self, submission: Submission) -> Handle | None:
        """Find a head by the mark in its folder, and a job's script by the pid file that it writes."""
        folder = Path(submission.directory)
        if isinstance(submission, ClusterRecord):
            if not (folder / MARK).exists():
                return None
            pid, started = (folder / MARK).read_text().split()
            handle = Handle(submission.id, socket.gethostname(), int(pid), float(started), str(folder))
            return handle if own.process(handle) is not None else None
        process = slot_tickets.script_of(folder)
        if process is not None:
            with suppress(psutil.NoSuchProcess):  # ended meanwhile
                return own.handle(submission.id, process.pid, submission.directory)
        own.must_be_here(submission, submission.host, submission.system)
        if not (folder / job_files.PID).exists():
            return None
        # the script has ended
        return Handle(submission.id, socket.gethostname(), directory=str(folder), system=processes.system())

    async def cancel(self, submission: Submission) -> None:
        """Send SIGTERM to a head, which ends its world; or to a script's group, and kill it after a while."""
        handle = submission.handle
        assert handle is not None
        process = own.process(handle)
        if isinstance(submission, ClusterRecord):
            if process is not None:
                process.send_signal(signal.SIGTERM)
            return
        if process is None:
            own.must_be_here(submission, handle.host, handle.system)
            return
        if submission.cancelled_at is not None and time.time() - submission.cancelled_at > KILL_AFTER_S:
            own.kill(handle)  # the process that sent SIGTERM may be gone
            return
        processes.signal_group(process.pid, handle.started, signal.SIGTERM)
        asyncio.get_running_loop().call_later(KILL_AFTER_S, own.kill, handle)

    async def reach(self, submission: Submission, endpoints: Endpoints | None, port: str = "") -> Way:
        """Return the head's unix socket; a port of this machine needs no forward."""
        assert submission.handle is not None
        folder = endpoints.directory if endpoints is not None else submission.handle.directory
        return Way(f"tcp://{port}" if port else f"ipc://{folder}/client")

    def files(self, submission: Submission) -> list[Place]:
        """Return the folder on this machine."""
        return [Place(Here(), tuple(range(len(submission.plan.nodes))))]

    async def slots(self, profile: Profile) -> tuple[NodeSlots, ...]:
        """Return the slots of this machine."""
        return (await asyncio.to_thread(slot_tickets.all_slots),)

    async def stop(self, profile: Profile, identity: str) -> None:
        """End a GPU process on this machine."""
        await asyncio.to_thread(slot_tickets.stop, identity)


def _start_head(cluster: ClusterRecord) -> Handle:
    made = own.start(
        # -P: files in the working directory must not shadow dtrain-lab's modules
        [cluster.plan.python, "-P", "-m", "dtrain_lab.head"],
        log=Path(cluster.directory, "head.log"),
        cwd="/",
        env=variables(cluster.profile.environment),
        stdin=msgspec.json.encode(cluster.settings),
    )
    handle = own.handle(cluster.id, made, cluster.directory)
    try:
        Path(cluster.directory, MARK).write_text(f"{handle.pid} {handle.started}")
    except OSError:  # nobody would find it
        own.kill(handle)
        processes.gone(handle.pid, handle.started, ENDED_WITHIN_S)
        raise
    return handle


def _start_script(job: JobRecord) -> Handle:
    folder = Path(job.directory)
    made = own.start(
        ["bash", str(folder / job_files.BATCH)],
        log=folder / f"{job_files.LAUNCHER_LOG}.log",
        cwd=str(folder),
        env=own.of_script(),
    )
    handle = own.handle(job.id, made, job.directory)
    # queue the ticket at once, so that a script that starts slowly keeps its place
    slot_tickets.put(slots.job_ticket(job, handle.pid, handle.started, job.plan.size))
    return handle
