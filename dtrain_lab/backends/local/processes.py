"""Processes of this machine that outlive the process that started them."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

from dtrain_lab.backends.hosts.local_transport import filtered_environment
from dtrain_lab.backends.local import undebugged
from dtrain_lab.errors import EnvironmentUnfit, Unreachable
from dtrain_lab.machine import filesystems, processes, slot_tickets
from dtrain_lab.wire.jobs.job import JobRecord
from dtrain_lab.wire.processes.head_record import Handle

_children: list[subprocess.Popen[bytes]] = []
"""Children of this process, polled so that none of them stays a zombie."""


def start(command: Sequence[str], *, log: Path, cwd: str, env: Mapping[str, str], stdin: bytes = b"") -> int:
    """Start a process as a session leader, and return its pid.

    Args:
        command: Program and arguments.
        log: File to which its output is appended.
        cwd: Working directory.
        env: Complete environment.
        stdin: Data written to its standard input.

    Raises:
        EnvironmentUnfit: The command can't be run.
    """
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        process = subprocess.Popen(
            undebugged.command(command, env),
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=cwd,
            env=env,
            start_new_session=True,
        )
    except OSError as error:
        raise EnvironmentUnfit(
            f"{command[0]} can't be run: {error.strerror}.",
            "Choose a kernel or an environment whose Python exists.",
        ) from error
    finally:
        os.close(output)
    if process.stdin is not None:
        try:
            process.stdin.write(stdin)
            process.stdin.close()
        except BrokenPipeError:  # it ended at once; the caller will find the reason in its log
            pass
    _children[:] = [p for p in _children if p.poll() is None]
    _children.append(process)
    return process.pid


def of_script() -> dict[str, str]:
    """Return the environment of a job's script."""
    return filtered_environment() | {k: v for k, v in os.environ.items() if k == "CUDA_VISIBLE_DEVICES"}


def handle(identity: str, pid: int, directory: str) -> Handle:
    """Return the handle of a process of this machine.

    Args:
        identity: Id of the job or cluster.
        pid: The process.
        directory: Folder of the job or cluster.
    """
    started = processes.started(pid)
    return Handle(identity, socket.gethostname(), pid, started, directory, system=processes.system())


def process(handle: Handle) -> psutil.Process | None:
    """Return the process of a handle; None if it does not run here."""
    if not handle.pid or not processes.is_here(handle.system):
        return None
    for child in _children:
        child.poll()
    head = processes.same(handle.pid, handle.started)
    if head is None or handle.system or handle.host == socket.gethostname():
        return head
    # a handle of an older version: the machine may have been renamed, or the pid be another machine's
    script = slot_tickets.script_of(Path(handle.directory))
    return head if script is not None and script.pid == handle.pid else None


def must_be_here(record: JobRecord, host: str, system: str) -> None:
    """Check that a job was started on this machine, so that a missing process means that it has ended.

    Args:
        record: The job.
        host: Name of the machine on which it was started.
        system: Boot and PID namespace of its process (`machine.processes.system`); empty if unknown: then the
            names are compared.

    Raises:
        Unreachable: It was started in another container, or on another machine that shares the folder.
    """
    if system:
        # the folder is on a local disk, so an ended boot id means that this machine has rebooted
        booted = processes.has_ended(system) and filesystems.is_local(Path(record.directory))
        here = processes.is_here(system) or booted
    else:
        here = host == socket.gethostname()
    if not here:
        name = socket.gethostname()
        place = host if host != name else f"another machine named {host}"
        raise Unreachable(
            f"The job was started on {place}; its processes can't be checked from {name}.",
            f"Run there: dtrain-lab job show {record.id}",
            code="elsewhere",
        )


def kill(handle: Handle) -> None:
    """Kill a process and its group, if it still runs."""
    if process(handle) is not None:
        processes.signal_group(handle.pid, handle.started, signal.SIGKILL)
