"""The back-end `local`: this machine."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
from pathlib import Path

import psutil

from dtrain_lab.backends.base import Fate, Handle, Submission
from dtrain_lab.core.plan import NodeFacts, Plan, Request, plan_local
from dtrain_lab.core.profile import Profile
from dtrain_lab.errors import EnvironmentUnfit

PIECE = 64 << 10


class LocalBackend:
    """Heads as processes of this machine, each the leader of its own session."""

    name = "local"

    async def facts(self) -> NodeFacts:
        """What this machine lets this process use."""
        return await asyncio.to_thread(local_facts)

    def plan(
        self, facts: NodeFacts, profile: Profile, request: Request, *, python: str, directory: str
    ) -> Plan:
        """One node, or several simulated ones."""
        return plan_local(profile, request, facts, python=python, directory=directory)

    async def submit(self, submission: Submission) -> Handle:
        """Start a head; its settings go through stdin."""
        return await asyncio.to_thread(_start, submission)

    async def status(self, handle: Handle) -> Fate:
        """Does the process run, and is it still the same one?"""
        return "running" if _process(handle) is not None else "ended"

    async def cancel(self, handle: Handle) -> None:
        """Ask the head to end its world; it does so within seconds."""
        process = _process(handle)
        if process is not None:
            process.send_signal(signal.SIGTERM)

    async def log(self, handle: Handle, file: str, offset: int) -> bytes:
        """A piece of a log; empty where there is none (yet)."""
        path = Path(handle.directory) / f"{file}.log"
        if path.parent != Path(handle.directory) or not path.exists():
            return b""
        with path.open("rb") as stream:
            stream.seek(offset)
            return stream.read(PIECE)

    async def find(self, identity: str, directory: str) -> Handle | None:
        """A head by its id: the folder of its sockets is named by it."""
        marker = Path(directory) / "handle"
        if not marker.exists():
            return None
        pid, started = marker.read_text().split()
        handle = Handle(identity, socket.gethostname(), int(pid), float(started), directory)
        return handle if _process(handle) is not None else None

    def reach(self, handle: Handle) -> str:
        """The head's unix socket."""
        return str(Path(handle.directory) / "door")


def local_facts() -> NodeFacts:
    """CPUs this process may use, GPUs it may see, memory of the machine or the cgroup."""
    return NodeFacts(
        name=socket.gethostname().split(".")[0],
        address="127.0.0.1",
        cpus=_cpus(),
        gpus=_gpus(),
        memory_bytes=_memory(),
    )


def _cpus() -> int:
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
    except (FileNotFoundError, ValueError):
        return allowed
    if quota == "max":
        return allowed
    return max(1, min(allowed, round(int(quota) / int(period))))


def _memory() -> int:
    total = int(psutil.virtual_memory().total)
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
    except FileNotFoundError:
        return total
    return total if limit == "max" else min(total, int(limit))


def _gpus() -> int:
    """GPUs, counted without torch or CUDA: a count through either would spoil a process for forking."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        return len([v for v in visible.split(",") if v.strip() not in ("", "-1")])
    import pynvml

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return 0
    try:
        return int(pynvml.nvmlDeviceGetCount())
    finally:
        pynvml.nvmlShutdown()


def _start(submission: Submission) -> Handle:
    log = os.open(
        os.path.join(submission.directory, "head.log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600
    )
    try:
        process = subprocess.Popen(
            # -P: the working directory must not shadow modules of ours
            [submission.python, "-P", "-m", "dtrain_lab.head"],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            cwd="/",
            env=submission.variables,
            start_new_session=True,
        )
    except OSError as error:
        raise EnvironmentUnfit(
            f"{submission.python} can't be run: {error.strerror}.",
            "Choose a kernel or an environment whose Python exists.",
        ) from error
    finally:
        os.close(log)
    assert process.stdin is not None
    try:
        process.stdin.write(submission.settings)
        process.stdin.close()
    except BrokenPipeError:  # it ended at once; whoever waits for its socket reads its log
        pass
    handle = Handle(
        submission.id,
        socket.gethostname(),
        process.pid,
        psutil.Process(process.pid).create_time(),
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
    try:
        process = psutil.Process(handle.pid)
        alive = process.status() != psutil.STATUS_ZOMBIE and abs(process.create_time() - handle.started) < 1.0
    except psutil.NoSuchProcess:
        return None
    return process if alive else None
