"""The local back-end: heads and job scripts as processes of this machine, each leading its own session."""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
from collections.abc import Mapping

import msgspec

from dtrain_lab.backends import script
from dtrain_lab.backends.base import Backend, HeadAddress, Place
from dtrain_lab.backends.hosts.local_transport import LocalTransport
from dtrain_lab.backends.local import interpreter
from dtrain_lab.backends.local.environment import variables
from dtrain_lab.backends.local.heads import HeadProcess
from dtrain_lab.backends.local.jobs import Script
from dtrain_lab.backends.processes import Processes
from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.machine import slot_tickets
from dtrain_lab.machine.facts import check, local_facts
from dtrain_lab.placement import activation
from dtrain_lab.placement.local_plan import plan_local
from dtrain_lab.placement.slots.slots import NodeSlots
from dtrain_lab.wire.jobs.job import JobRecord
from dtrain_lab.wire.node_check import Check
from dtrain_lab.wire.plan import Facts, NodeFacts, Plan, Request
from dtrain_lab.wire.processes.endpoints import Endpoints
from dtrain_lab.wire.processes.head_record import Handle
from dtrain_lab.wire.processes.submission import Submission
from dtrain_lab.wire.profile import Profile
from dtrain_lab.wire.status import Status
from dtrain_lab.wire.traits import Traits

CHECK_WITHIN_S = 60.0
"""Time of an interpreter for its check: it imports torch, maybe from a slow disk."""


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
            report = await asyncio.to_thread(check, profile.workdir)
        else:
            report = await interpreter.ask(
                command,
                ("-m", "dtrain_lab.node", "check", *([profile.workdir] if profile.workdir else [])),
                Check,
                within_s=CHECK_WITHIN_S,
                hint="Look at [environment] of the profile.",
                env=variables(profile.environment),
                cwd="/",
            )
        return {report.facts.name: report}

    def plan(self, facts: Facts, profile: Profile, request: Request, *, python: str, directory: str) -> Plan:
        """Plan one node, or several simulated ones."""
        assert isinstance(facts, NodeFacts)
        plan = plan_local(profile, request, facts, python=python, directory=directory)
        return msgspec.structs.replace(plan, traits=self.traits)

    def scripts(self, submission: Submission) -> dict[str, str]:
        """Return one script for all (simulated) nodes of a job; a cluster's head is started without."""
        return {job_files.BATCH: script.of_one_folder(submission)}

    def command(self, submission: Submission) -> str:
        """Return the command that runs the script by hand."""
        return f"bash {shlex.quote(submission.directory)}/{job_files.BATCH}"

    async def submit(self, submission: Submission, files: Mapping[str, bytes]) -> Handle:
        """Start a head, with its settings on standard input; or a job's script."""
        return await _processes(submission).start(files)

    async def status(self, submission: Submission) -> Status:
        """Return whether the same process still runs.

        Raises:
            Unreachable: It was started on another machine that shares the folder with this one.
        """
        return await _processes(submission).status()

    async def find(self, submission: Submission) -> Handle | None:
        """Find a head, or a job's script, by what it has written into its folder."""
        return await _processes(submission).find()

    async def cancel(self, submission: Submission) -> None:
        """Send SIGTERM to a head, which ends its world; or to a script's group, and kill it after a while."""
        await _processes(submission).cancel()

    async def reach(self, submission: Submission, endpoints: Endpoints | None, port: str = "") -> HeadAddress:
        """Return the head's unix socket; a port of this machine needs no forward."""
        assert submission.handle is not None
        folder = endpoints.directory if endpoints is not None else submission.handle.directory
        return HeadAddress(f"tcp://{port}" if port else f"ipc://{folder}/client")

    def files(self, submission: Submission) -> list[Place]:
        """Return the folder on this machine."""
        return [Place(LocalTransport(), tuple(range(len(submission.plan.nodes))))]

    async def slots(self, profile: Profile) -> tuple[NodeSlots, ...]:
        """Return the slots of this machine."""
        return (await asyncio.to_thread(slot_tickets.all_slots),)

    async def stop(self, profile: Profile, identity: str) -> None:
        """End a GPU process on this machine."""
        await asyncio.to_thread(slot_tickets.stop, identity)


def _processes(submission: Submission) -> Processes:
    return Script(submission) if isinstance(submission, JobRecord) else HeadProcess(submission)
