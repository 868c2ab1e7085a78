"""A back-end as somebody else would ship it: scripts in folders of this machine, each in its own session."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path

import psutil
from msgspec import Struct
from msgspec.structs import replace

from dtrain_lab.backends import script
from dtrain_lab.backends.base import Backend, HeadAddress, Place
from dtrain_lab.backends.hosts.local_transport import LocalTransport, filtered_environment
from dtrain_lab.backends.sections import section_of
from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.machine.facts import local_facts
from dtrain_lab.placement.local_plan import plan_local
from dtrain_lab.wire.plan import Facts, NodeFacts, Plan, Request
from dtrain_lab.wire.processes.endpoints import Endpoints
from dtrain_lab.wire.processes.head_record import Handle
from dtrain_lab.wire.processes.submission import Submission
from dtrain_lab.wire.profile import Profile
from dtrain_lab.wire.status import Status
from dtrain_lab.wire.traits import Traits


class Keys(Struct, frozen=True):
    """The table `[toy]` of a profile. `nice`: how much lower the priority of its processes is."""

    nice: int = 0


class Toy(Backend):
    """Runs what it is given as if this were another machine, with one folder."""

    name = "toy"
    traits = Traits(shares_folder=True)
    section = Keys

    async def facts(self, profile: Profile) -> NodeFacts:
        return await asyncio.to_thread(local_facts)

    def plan(self, facts: Facts, profile: Profile, request: Request, *, python: str, directory: str) -> Plan:
        assert isinstance(facts, NodeFacts)
        made = plan_local(profile, request, facts, python=python, directory=directory)
        return replace(made, traits=self.traits)

    def scripts(self, submission: Submission) -> dict[str, str]:
        return {job_files.BATCH: script.of_one_folder(submission)}

    def command(self, submission: Submission) -> str:
        return f"bash {shlex.quote(submission.directory)}/{job_files.BATCH}"

    async def submit(self, submission: Submission, files: Mapping[str, bytes]) -> Handle:
        folder = Path(submission.directory)
        await LocalTransport().write(str(folder), files)
        nice = section_of(submission.profile, Keys).nice
        with (folder / f"{job_files.LAUNCHER_LOG}.log").open("wb") as log:
            process = subprocess.Popen(
                ["nice", f"-n{nice}", "bash", str(folder / job_files.BATCH)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=folder,
                env=filtered_environment(),
                start_new_session=True,
            )
        (folder / "toy.pid").write_text(str(process.pid))
        return Handle(submission.id, socket.gethostname(), process.pid, directory=str(folder))

    async def status(self, submission: Submission) -> Status:
        assert submission.handle is not None
        return Status("running" if _runs(submission.handle.pid) else "ended")

    async def cancel(self, submission: Submission) -> None:
        assert submission.handle is not None
        if _runs(submission.handle.pid):
            os.killpg(submission.handle.pid, signal.SIGTERM)

    async def find(self, submission: Submission) -> Handle | None:
        mark = Path(submission.directory, "toy.pid")
        if not mark.exists() or not _runs(int(mark.read_text())):
            return None
        host, folder = socket.gethostname(), submission.directory
        return Handle(submission.id, host, int(mark.read_text()), directory=folder)

    async def reach(self, submission: Submission, endpoints: Endpoints | None, port: str = "") -> HeadAddress:
        assert endpoints is not None
        return HeadAddress(f"tcp://{port}" if port else f"ipc://{endpoints.directory}/client")

    def files(self, submission: Submission) -> list[Place]:
        return [Place(LocalTransport(), tuple(range(len(submission.plan.nodes))))]


def _runs(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
