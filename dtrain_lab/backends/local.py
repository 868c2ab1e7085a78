"""The back-end `local`: this machine."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
from pathlib import Path

import msgspec
import psutil

from dtrain_lab.backends.base import Handle, Status, Submission, Way
from dtrain_lab.core.endpoints import Endpoints
from dtrain_lab.core.fitness import Check
from dtrain_lab.core.network import Between
from dtrain_lab.core.plan import Facts, NodeFacts, Plan, Request, plan_local
from dtrain_lab.core.profile import Profile
from dtrain_lab.errors import EnvironmentUnfit
from dtrain_lab.machine import check, local_facts, processes

PIECE = 64 << 10


class LocalBackend:
    """Heads as processes of this machine, each the leader of its own session."""

    name = "local"

    async def checks(self, profile: Profile, python: str) -> dict[str, Check]:
        """This machine, as this process sees it."""
        found = await asyncio.to_thread(check, profile.workdir)
        return {found.facts.name: found}

    async def speed(self, profile: Profile, python: str, checks: dict[str, Check]) -> Between | None:
        """There is one node."""
        return None

    async def facts(self, profile: Profile) -> NodeFacts:
        """What this machine lets this process use."""
        return await asyncio.to_thread(local_facts)

    def plan(self, facts: Facts, profile: Profile, request: Request, *, python: str, directory: str) -> Plan:
        """One node, or several simulated ones."""
        assert isinstance(facts, NodeFacts)
        return plan_local(profile, request, facts, python=python, directory=directory)

    async def submit(self, submission: Submission) -> Handle:
        """Start a head; its settings go through stdin."""
        return await asyncio.to_thread(_start, submission)

    async def endpoints(self, profile: Profile, handle: Handle) -> Endpoints | None:
        """None: a head on this machine is found by its record."""
        return None

    async def status(self, profile: Profile, handle: Handle) -> Status:
        """Does the process run, and is it still the same one?"""
        return Status("running" if _process(handle) is not None else "ended")

    async def cancel(self, profile: Profile, handle: Handle) -> None:
        """Ask the head to end its world; it does so within seconds."""
        process = _process(handle)
        if process is not None:
            process.send_signal(signal.SIGTERM)

    async def log(self, profile: Profile, handle: Handle, file: str, offset: int) -> bytes:
        """A piece of a log; empty where there is none (yet)."""
        path = Path(handle.directory) / f"{file}.log"
        if path.parent != Path(handle.directory) or not path.exists():
            return b""
        with path.open("rb") as stream:
            stream.seek(offset)
            return stream.read(PIECE)

    async def find(self, profile: Profile, identity: str, directory: str) -> Handle | None:
        """A head by its id: the folder of its sockets is named by it."""
        marker = Path(directory) / "handle"
        if not marker.exists():
            return None
        pid, started = marker.read_text().split()
        handle = Handle(identity, socket.gethostname(), int(pid), float(started), directory)
        return handle if _process(handle) is not None else None

    async def reach(self, profile: Profile, handle: Handle, endpoints: Endpoints | None) -> Way:
        """The head's unix socket."""
        return Way(f"ipc://{handle.directory}/door")

    async def forward(
        self, profile: Profile, handle: Handle, endpoints: Endpoints, address: str, port: int
    ) -> tuple[str, int]:
        """What listens on this machine is reached as it is."""
        return address, port


def _start(submission: Submission) -> Handle:
    log = os.open(
        os.path.join(submission.directory, "head.log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600
    )
    try:
        process = subprocess.Popen(
            # -P: the working directory must not shadow modules of ours
            [submission.plan.python, "-P", "-m", "dtrain_lab.head"],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            cwd="/",
            env=submission.variables,
            start_new_session=True,
        )
    except OSError as error:
        raise EnvironmentUnfit(
            f"{submission.plan.python} can't be run: {error.strerror}.",
            "Choose a kernel or an environment whose Python exists.",
        ) from error
    finally:
        os.close(log)
    assert process.stdin is not None
    try:
        process.stdin.write(msgspec.json.encode(submission.settings))
        process.stdin.close()
    except BrokenPipeError:  # it ended at once; whoever waits for its socket reads its log
        pass
    handle = Handle(
        submission.id,
        socket.gethostname(),
        process.pid,
        processes.started(process.pid),
        submission.directory,
    )
    Path(submission.directory, "handle").write_text(f"{handle.pid} {handle.started}")
    _reap_later(process)
    return handle


_children: list[subprocess.Popen[bytes]] = []


def _reap_later(process: subprocess.Popen[bytes]) -> None:
    """A head outlives whoever started it; where it doesn't, its starter must not keep a zombie."""
    _children[:] = [p for p in _children if p.poll() is None]
    _children.append(process)


def _process(handle: Handle) -> psutil.Process | None:
    if handle.host != socket.gethostname():
        return None
    for child in _children:
        child.poll()
    return processes.same(handle.pid, handle.started)
