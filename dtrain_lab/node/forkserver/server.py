"""The fork server: torch loaded once, one OS thread, sockets, `wait4` and nothing else.

A process that forks must have no second thread (locks held by it would stay locked in the child forever)
and must not have touched CUDA or run a tensor operation (their pools do not survive a fork). So ZeroMQ,
sampling and the network live in the node agents, and this process only reads messages from their channels.
"""

from __future__ import annotations

import contextlib
import gc
import os
import select
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, NoReturn

from msgspec.structs import replace

from dtrain_lab.errors import WireMismatch
from dtrain_lab.machine import processes
from dtrain_lab.node.forkserver import children
from dtrain_lab.node.forkserver.messages import (
    FILES,
    MESSAGE,
    NO_PROCESS,
    ForkController,
    ForkRank,
    ForkScript,
    HandOverChannel,
    Kill,
    Loaded,
    News,
    Order,
    ProcessExited,
    ProcessForked,
    decode_order,
    encode,
)
from dtrain_lab.rank import preload
from dtrain_lab.wire.links import CONTROLLER

LAST = 4000
IDLE_S = 15.0
"""Seconds without an agent after which a server that others can connect to ends."""


def threads() -> int:
    """Number of OS threads of this process; Python's own count misses those of torch and ZeroMQ."""
    return len(os.listdir("/proc/self/task"))


class Child(NamedTuple):
    """A forked process.

    `channel`: to the agent that ordered it; `key`: its rank, or `CONTROLLER`; `log`: file with the end of its
    output, may be empty; `ends_group`: whether its children end with it. A job's rank's may outlive it,
    as its agent decides.
    """

    channel: socket.socket
    key: int
    log: str
    ends_group: bool


class ForkServer:
    """Forks on request, and reports each child's exit to the agent that ordered it.

    Children end with the channel to their agent.

    Args:
        channel: To an agent; without a path, the server ends with it.
        path: Socket at which agents connect. The server ends when none has been connected for `IDLE_S`.
    """

    def __init__(self, channel: socket.socket | None = None, path: str | None = None) -> None:
        self._channels = [] if channel is None else [channel]
        self._path = path
        self._listener: socket.socket | None = None
        self._pid = os.getpid()
        self._loaded = Loaded()
        self._children: dict[int, Child] = {}
        self._wake = os.pipe()

    def run(self, load: Callable[[], Loaded]) -> NoReturn:
        """Serve until no agent is left, then end all children and this process.

        Args:
            load: Imports what children need, and says what it has found.
        """
        try:
            self._load(load)
        except (ImportError, RuntimeError, OSError) as error:
            for channel in self._channels:
                _send(channel, Loaded(error=f"{type(error).__name__}: {error}"))
            raise
        code = 1
        try:
            self._listen()
            self._serve()
            code = 0
        except SystemExit:
            code = 0
        # into the log: `_exit` below would hide it
        except Exception:  # noqa: BLE001
            traceback.print_exc()
        finally:
            if self._listener is not None and self._path is not None:
                os.unlink(self._path)
            for pid in self._children:
                _kill_group(pid)
            sys.stderr.flush()
            os._exit(code)

    def _load(self, load: Callable[[], Loaded]) -> None:
        began = time.monotonic()
        gc.disable()  # the collector would only traverse modules while they are loading
        loaded = load()
        preload.freeze()
        if threads() != 1:
            raise RuntimeError(f"the fork server has {threads()} threads; a fork would not be safe")
        self._loaded = replace(loaded, seconds=time.monotonic() - began)
        for channel in self._channels:
            _send(channel, self._loaded)

    def _listen(self) -> None:
        if self._path is None:
            return
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        if os.path.exists(self._path):  # left by a killed process: this one has the lock
            os.unlink(self._path)
        listener.bind(self._path)
        self._listener = listener
        listener.listen()

    def _serve(self) -> None:
        for end in self._wake:
            os.set_blocking(end, False)
        signal.set_wakeup_fd(self._wake[1], warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        if self._path is None:  # another leads a session of its own, and scripts keep its handler
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        listening = [] if self._listener is None else [self._listener]
        while self._channels or listening:
            watched: list[Any] = [self._wake[0], *self._channels, *listening]
            ready, _, _ = select.select(watched, [], [], None if self._channels else IDLE_S)
            if not ready:
                return
            if self._wake[0] in ready:
                os.read(self._wake[0], 4096)
                self._reap()
            for channel in [other for other in self._channels if other in ready]:
                self._read(channel)
            for listener in listening:
                if listener in ready:
                    self._channels.append(listener.accept()[0])

    def _read(self, channel: socket.socket) -> None:
        descriptors: list[int] = []
        try:
            data, descriptors, _, _ = socket.recv_fds(channel, MESSAGE, FILES)
            order = decode_order(data) if data else None
        except (ConnectionResetError, WireMismatch) as error:
            print(f"an agent was dropped: {error}", file=sys.stderr, flush=True)
            order = None
        try:
            if order is None:
                self._drop(channel)
            else:
                self._obey(channel, order, descriptors)
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    def _drop(self, channel: socket.socket) -> None:
        """End the children of an agent that has ended."""
        for pid in [pid for pid, child in self._children.items() if child.channel is channel]:
            _kill_group(pid)
            del self._children[pid]
        self._channels.remove(channel)
        channel.close()

    def _obey(self, channel: socket.socket, order: Order, descriptors: list[int]) -> None:
        match order:
            case ForkRank(spec):
                child = Child(channel, spec.rank, spec.log, ends_group=True)
                self._fork(child, partial(children.be_rank, spec, descriptors))
            case ForkController(arguments, log):
                child = Child(channel, CONTROLLER, log, ends_group=True)
                self._fork(child, partial(children.be_controller, arguments, log))
            case ForkScript(rank):
                child = Child(channel, rank, "", ends_group=False)
                self._fork(child, partial(children.be_script, order, descriptors))
            case Kill(keys, number):
                for pid, child in self._children.items():
                    if child.channel is channel and child.key in keys:
                        os.kill(pid, number)
            case HandOverChannel():
                processes.end_with_parent(0)
                _send(channel, self._loaded)

    def _fork(self, child: Child, become: Callable[[], None]) -> None:
        try:
            pid = os.fork()
        except OSError as error:  # no memory, or the process limit is reached: the other ranks live on
            how = f"could not be forked: {error.strerror}"
            _send(child.channel, ProcessForked(child.key, NO_PROCESS))
            _send(child.channel, ProcessExited(child.key, NO_PROCESS, 1, "", how))
            return
        if pid == 0:
            self._become(become)
        self._children[pid] = child
        _send(child.channel, ProcessForked(child.key, pid))

    def _become(self, become: Callable[[], None]) -> NoReturn:
        code = 1
        try:
            processes.end_with_parent(signal.SIGKILL)
            if os.getppid() != self._pid:  # the server had ended before the line above
                sys.exit(128 + signal.SIGKILL)
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGTERM, signal.SIGCHLD):
                signal.signal(number, signal.SIG_DFL)
            # an agent's death is seen by the end of its channel, which no child may hold open
            for channel in (*self._channels, self._listener):
                if channel is not None:
                    channel.close()
            for end in self._wake:
                os.close(end)
            os.setsid()
            children.reseed()
            become()
            code = 0
        except SystemExit as leave:
            code = leave.code if isinstance(leave.code, int) else 1
        # print the error to the child's log; the child must never return into our loop
        except BaseException:  # noqa: BLE001
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)

    def _reap(self) -> None:
        while True:
            try:
                ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            if ended is None:
                return
            pid = ended.si_pid
            child = self._children.pop(pid, None)
            if child is not None and child.ends_group:
                _kill_group(pid)  # before reaping, while the pid can't be reused
            _, status, _ = os.wait4(pid, 0)
            # without one, it is an orphaned grandchild, reparented to this subreaper, or its agent has ended
            if child is not None:
                code = os.waitstatus_to_exitcode(status)
                _send(child.channel, ProcessExited(child.key, pid, code, _tail(child.log)))


def _send(channel: socket.socket, news: News) -> None:
    # an agent that has ended is dropped when its channel is read
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        channel.sendall(encode(news))


def _kill_group(pid: int) -> None:
    """End a rank with its DataLoader workers and other children: each rank leads its own session."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:  # no members left
        pass
    except PermissionError:  # only another user's processes (sudo) are left: no reason to fail
        pass


def _tail(log: str) -> str:
    try:
        with open(log, "rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - LAST))
            return file.read().decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
