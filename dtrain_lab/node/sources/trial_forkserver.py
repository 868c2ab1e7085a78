"""Forks the ranks of a sweep's next trials from a process with torch loaded: `dtrain_lab.node warm`.

A trial's agent starts it for later trials in the same environment; it ends by itself when no trial has asked
for a while. It has one OS thread and uses no GPU. Each connection is one rank: the agent sends its
environment and files, and receives its pid and, later, its exit status. A rank ends with its connection, and
so with its agent.
"""

from __future__ import annotations

import ctypes
import fcntl
import gc
import importlib
import io
import json
import os
import random
import select
import signal
import socket
import sys
import traceback
from collections.abc import Mapping
from typing import Any, NoReturn

from dtrain_lab.jobs import environment_variables
from dtrain_lab.machine import processes
from dtrain_lab.rank import preload

PRELOAD = (
    "numpy",
    "torch",
    "torch.distributed",
    "torch.nn.parallel",
    "torch.utils.data",
    "dtrain_lab.rank.job.script",
    "dtrain_lab.rank.monitor",
    "dtrain_lab.rank.notes",
    "dtrain_lab.rank.launchers",
    "dtrain_lab.rank.rpc",
    "dtrain_lab.rank.frameworks.torch_libraries",
    "dtrain_lab.training.log",
)
MESSAGE = 1 << 17
"""Maximum bytes of a request; the socket refuses a larger one, and the rank is spawned instead."""
FILES = 5
"""Files of a request: stdout, stderr, and the three of `environment_variables.FILES` in their order."""
IDLE_S = 15.0
OPENBLAS = tuple(
    f"{prefix}openblas_set_num_threads{suffix}" for prefix in ("scipy_", "") for suffix in ("64_", "")
)
"""Names of the function in numpy's builds and in others; without it, numpy multiplies with one thread."""


class TrialForkServer:
    """The process that forks.

    Args:
        path: Path of the socket.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._ranks: dict[int, socket.socket] = {}
        """Pid of a rank → connection to its agent."""
        self._wake = os.pipe()

    def run(self) -> None:
        """Load torch, then fork until no trial has asked for a while."""
        gc.disable()  # the collector would only traverse modules while they are loading
        for name in PRELOAD:
            try:
                importlib.import_module(name)
            except ImportError:
                if name != "numpy":  # torch works without it
                    raise
        preload.freeze()
        if len(os.listdir("/proc/self/task")) != 1:
            return  # a fork would not be safe
        for end in self._wake:
            os.set_blocking(end, False)
        signal.set_wakeup_fd(self._wake[1], warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        if os.path.exists(self._path):  # left by a killed process: this one has the lock
            os.unlink(self._path)
        self._listener.bind(self._path)
        self._listener.listen()
        try:
            self._serve()
        finally:
            os.unlink(self._path)
            for pid in self._ranks:
                _kill(pid)

    def _serve(self) -> None:
        while True:
            watched: list[Any] = [self._listener, self._wake[0], *self._ranks.values()]
            ready, _, _ = select.select(watched, [], [], IDLE_S)
            if not ready and not self._ranks:
                return
            if self._wake[0] in ready:
                os.read(self._wake[0], 4096)
            self._reap()
            for pid, connection in list(self._ranks.items()):
                if connection in ready and not connection.recv(1):  # its agent has ended
                    _kill(pid)
                    self._ranks.pop(pid).close()
            if self._listener in ready:
                self._fork(self._listener.accept()[0])

    def _fork(self, connection: socket.socket) -> None:
        data, files, _, _ = socket.recv_fds(connection, MESSAGE, FILES)
        try:
            pid = os.fork() if data else 0
        except OSError:  # no memory, or the process limit is reached: its agent spawns the rank
            data, pid = b"", 0
        if pid == 0 and data:
            self._become(connection, json.loads(data), files)
        for file in files:
            os.close(file)
        if not data:
            connection.close()
            return
        self._ranks[pid] = connection
        _send(connection, pid)

    def _become(self, connection: socket.socket, asked: dict[str, Any], files: list[int]) -> NoReturn:
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            # an agent's death is seen by the end of its connection, which no other rank may hold open
            for one in (self._listener, connection, *self._ranks.values()):
                one.close()
            for end in self._wake:
                os.close(end)
            os.setsid()
            out, error, *own = files
            for number, file in ((1, out), (2, error)):
                os.dup2(file, number)
                os.close(file)
            for number, name, errors in ((1, "stdout", "strict"), (2, "stderr", "backslashreplace")):
                stream = _stream(number, errors)
                setattr(sys, name, stream)
                setattr(sys, f"__{name}__", stream)
            environment: dict[str, str] = asked["environment"]
            environment |= {
                name: str(file) for name, file in zip(environment_variables.FILES, own, strict=True)
            }
            environment[environment_variables.AGENT] = str(os.getppid())
            os.environ.clear()
            os.environ.update(environment)
            os.chdir(asked["cwd"])
            random.seed()
            if "numpy" in sys.modules:
                sys.modules["numpy"].random.seed()
                _set_blas_threads(environment)
            sys.argv = asked["arguments"]
            from dtrain_lab.rank.job.script import main

            main()
        # print the error to the rank's log; a rank must never return into the loop above
        except BaseException:  # noqa: BLE001
            traceback.print_exc()
        finally:
            os._exit(1)

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            connection = self._ranks.pop(pid, None)
            if connection is not None:
                _send(connection, os.waitstatus_to_exitcode(status))
                connection.close()


def _send(connection: socket.socket, number: int) -> None:
    try:
        connection.send(str(number).encode())
    except OSError:  # its agent has ended, which the next check detects
        pass


def _kill(pid: int) -> None:
    """End a rank with all that it has started; it leads its own session, and is not reaped yet."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):  # nobody is left, or only another user's processes (sudo)
        pass


def _stream(number: int, errors: str) -> io.TextIOWrapper:
    """An unbuffered stream, like Python's with `-u`."""
    raw = open(number, "wb", buffering=0, closefd=False)
    return io.TextIOWrapper(raw, sys.stdout.encoding, errors, write_through=True)


def _set_blas_threads(environment: Mapping[str, str]) -> None:
    """Give numpy's OpenBLAS the threads that it would have taken from the environment when it was loaded."""
    count = environment.get("OPENBLAS_NUM_THREADS") or environment.get("OMP_NUM_THREADS") or ""
    with open("/proc/self/maps") as maps:
        libraries = {line.split()[-1] for line in maps if "openblas" in line}
    for library in libraries if count.isdecimal() else ():
        loaded = ctypes.CDLL(library)
        for name in OPENBLAS:
            if hasattr(loaded, name):
                getattr(loaded, name)(int(count))


def main(arguments: list[str]) -> int:
    """Entry point: `warm SOCKET`."""
    path = arguments[1]
    lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:  # another trial was first
        return 0
    processes.end_with_parent(0)
    TrialForkServer(path).run()
    return 0
