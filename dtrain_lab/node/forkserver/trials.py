"""Gets the ranks of a sweep's trials from a fork server that they share, and starts it.

A trial's agent starts it for later trials in the same environment. Each connection is one rank, which ends
with it, and so with its agent.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from dtrain_lab import errors
from dtrain_lab._version import __version__
from dtrain_lab.jobs.environment_variables import JobEnvironment
from dtrain_lab.machine import processes
from dtrain_lab.node.forkserver import messages
from dtrain_lab.node.forkserver.start import start as start_forkserver

log = logging.getLogger("dtrain_lab.node")
ANSWER_S = 5.0
"""Maximum seconds to fork a rank; after that, it is spawned."""
OF_A_JOB = ("DTRAIN_", "MASTER_")
ELSEWHERE = frozenset({"PWD", "OLDPWD", "SHLVL", "_"})
"""Variables that differ between trials, and that no import reads."""
LIMIT = 1 << 16


class ForkedRank:
    """A forked rank, with the interface of a child process.

    Args:
        pid: Its process id.
        began: When it started, as `processes.started` returns it: the pid may be reused once it was reaped
            by the process that forked it. 0 if it had ended by then.
        connection: To the process that forked it. The rank ends with it.
        stdout, stderr: Its output.
    """

    def __init__(
        self,
        pid: int,
        began: float,
        connection: socket.socket,
        stdout: asyncio.StreamReader,
        stderr: asyncio.StreamReader,
    ) -> None:
        self.pid = pid
        self.began = began
        self.connection = connection
        self.stdout = stdout
        self.stderr = stderr
        self.returncode: int | None = None

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it still runs."""
        if self.returncode is None:
            processes.signal_process(self.pid, self.began, number)

    def ended(self) -> None:
        """Get its exit status; without one, the process that forked it was killed, and the rank with it."""
        try:
            news = _news(self.connection)
        except OSError:
            news = None
        asyncio.get_running_loop().remove_reader(self.connection)
        self.connection.close()
        self.returncode = news.code if isinstance(news, messages.ProcessExited) else -signal.SIGKILL


def path() -> str | None:
    """Return the socket for ranks in this process's environment; None if ranks are not forked.

    On a machine with GPUs they are not: owners of GPU processes are determined from their parents.
    """
    if not JobEnvironment.from_environ().forks or "CUDA_VISIBLE_DEVICES" in os.environ:
        return None
    from dtrain_lab.machine.folders import sockets

    usual = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(OF_A_JOB) and name not in ELSEWHERE
    }
    environment = json.dumps([__version__, sys.executable, sys.path, sorted(usual.items())])
    return str(sockets() / f"trials-{hashlib.sha256(environment.encode()).hexdigest()[:16]}")


async def fork(
    at: str, rank: int, arguments: Sequence[str], environment: Mapping[str, str], files: Sequence[int]
) -> ForkedRank | None:
    """Fork a rank.

    Args:
        at: The socket.
        rank: The rank.
        arguments: Of the rank's `main`.
        environment: All its variables.
        files: Those of `environment_variables.FILES`, in that order.

    Returns:
        The rank; None if no process listens there, or it could not be forked.
    """
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours: list[int] = []
    theirs: list[int] = []
    for _ in range(2):
        ends = os.pipe()
        ours.append(ends[0])
        theirs.append(ends[1])
    order = messages.ForkScript(
        rank,
        tuple(os.fsencode(argument) for argument in arguments),
        tuple((os.fsencode(name), os.fsencode(value)) for name, value in environment.items()),
        os.fsencode(os.getcwd()),
    )
    connection.settimeout(ANSWER_S)
    try:
        connection.connect(at)
        socket.send_fds(connection, [messages.encode(order)], [*theirs, *files])
        news = await asyncio.to_thread(_news, connection)
    except OSError:  # no such process, or it is about to end; or the order is too large
        news = None
    finally:
        for end in theirs:
            os.close(end)
    if not isinstance(news, messages.ProcessForked) or news.pid == messages.NO_PROCESS:
        connection.close()
        for end in ours:
            os.close(end)
        return None
    connection.setblocking(False)
    readers = [await _reader(open(end, "rb", buffering=0)) for end in ours]  # noqa: ASYNC230
    forked = ForkedRank(news.pid, processes.began_at(news.pid), connection, *readers)
    asyncio.get_running_loop().add_reader(connection, forked.ended)
    return forked


def _news(connection: socket.socket) -> messages.News | None:
    """Read a message; None at the end of the connection, or if it can't be decoded."""
    data = connection.recv(messages.MESSAGE)
    try:
        return messages.decode_news(data) if data else None
    except errors.WireMismatch as error:
        log.warning("dropped %s bytes: %s", len(data), error.message)
        return None


async def _reader(pipe: Any) -> asyncio.StreamReader:
    reader = asyncio.StreamReader(LIMIT)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    return reader


def start(at: str) -> None:
    """Start a fork server for the ranks of the next trials, unless it is already running."""
    start_forkserver(
        ["listen", at],
        os.environ,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        start_new_session=True,
    )
