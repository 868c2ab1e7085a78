"""The fork server: torch loaded once, one OS thread, one socket, `wait4` and nothing else.

A process that forks must have no second thread (locks held by it would stay locked in the child forever)
and must not have touched CUDA or run a tensor operation (their pools do not survive a fork). So ZeroMQ,
sampling and the network live in the node agent, and this process only reads messages from a socketpair.

Runs as `python -m dtrain_lab.node.forkserver FD`, with OMP_NUM_THREADS=OPENBLAS_NUM_THREADS=1 in its
environment from exec on, so that torch and numpy start no threads of their own.
"""

from __future__ import annotations

import gc
import mmap
import os
import select
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NoReturn

from dtrain_lab.cells import output_buffer
from dtrain_lab.debugger.faulthandler import STACKS_SIGNAL
from dtrain_lab.machine import processes
from dtrain_lab.metrics import ring
from dtrain_lab.node.fork_messages import (
    MESSAGE,
    NO_PROCESS,
    ForkController,
    ForkRank,
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
from dtrain_lab.rank.link import shared_memory
from dtrain_lab.rank.torch import names
from dtrain_lab.wire.links import CONTROLLER, RankSpec

LAST = 4000


def threads() -> int:
    """Number of OS threads of this process; Python's own count misses those of torch and ZeroMQ."""
    return len(os.listdir("/proc/self/task"))


class ForkServer:
    """Forks on request, and reports every child's exit."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._loaded = Loaded()
        self._children: dict[int, tuple[int, str]] = {}
        self._wake = os.pipe()

    def run(self) -> None:
        """Serve until the agent is gone, then end all children."""
        try:
            self._load()
        except (ImportError, RuntimeError, OSError) as error:
            self._send(Loaded(error=f"{type(error).__name__}: {error}"))
            raise
        try:
            self._serve()
        finally:
            self._end()

    def _load(self) -> None:
        began = time.monotonic()
        gc.disable()  # the collector would only traverse modules while they are loading
        preload.load()
        names.lost()  # looked up once here: ranks inherit the answer
        preload.freeze()
        if threads() != 1:
            raise RuntimeError(f"the fork server has {threads()} threads; a fork would not be safe")
        import torch

        if not torch.distributed.is_available():
            raise RuntimeError("this build of torch has no torch.distributed")
        on_gpus = torch.version.cuda is not None or torch.version.hip is not None
        self._loaded = Loaded(time.monotonic() - began, str(torch.__version__), on_gpus)
        self._send(self._loaded)

    def _serve(self) -> None:
        for end in self._wake:
            os.set_blocking(end, False)
        signal.set_wakeup_fd(self._wake[1], warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        while True:
            watched: list[Any] = [self._channel, self._wake[0]]
            ready, _, _ = select.select(watched, [], [])
            if self._wake[0] in ready:
                os.read(self._wake[0], 4096)
                self._reap()
            if self._channel in ready:
                data, descriptors, _, _ = socket.recv_fds(self._channel, MESSAGE, 8)
                if not data:
                    return
                self._obey(decode_order(data), descriptors)

    def _obey(self, order: Order, descriptors: list[int]) -> None:
        match order:
            case ForkRank(spec):
                self._fork(spec.rank, spec.log, lambda: _be_rank(spec, descriptors))
                for descriptor in descriptors:
                    os.close(descriptor)
            case ForkController(arguments, log):
                self._fork(CONTROLLER, log, lambda: _be_controller(arguments))
            case Kill(keys, number):
                for pid, (key, _) in self._children.items():
                    if key in keys:
                        os.kill(pid, number)
            case HandOverChannel():
                processes.end_with_parent(0)
                self._send(self._loaded)

    def _fork(self, key: int, log: str, child: Callable[[], None]) -> None:
        try:
            pid = os.fork()
        except OSError as error:  # no memory, or the process limit is reached: the other ranks live on
            how = f"could not be forked: {error.strerror}"
            self._send(ProcessForked(key, NO_PROCESS))
            self._send(ProcessExited(key, NO_PROCESS, 1, "", how))
            return
        if pid == 0:
            self._become(log, child)
        self._children[pid] = (key, log)
        self._send(ProcessForked(key, pid))

    def _become(self, log: str, child: Callable[[], None]) -> NoReturn:
        code = 1
        try:
            processes.end_with_parent(signal.SIGKILL)
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGTERM, signal.SIGCHLD):
                signal.signal(number, signal.SIG_DFL)
            self._channel.close()
            for end in self._wake:
                os.close(end)
            os.setsid()
            _streams(log)
            child()
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
        while self._children:
            try:
                ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            if ended is None:
                return
            pid = ended.si_pid
            known = self._children.pop(pid, None)
            if known is not None:
                _kill_group(pid)  # before reaping, while the pid can't be reused
            _, status, _ = os.wait4(pid, 0)
            if known is None:  # an orphaned grandchild, reparented to this subreaper
                continue
            key, log = known
            self._send(ProcessExited(key, pid, os.waitstatus_to_exitcode(status), _tail(log)))

    def _send(self, news: News) -> None:
        self._channel.sendall(encode(news))

    def _end(self) -> None:
        for pid in list(self._children):
            _kill_group(pid)
        os._exit(0)


def _kill_group(pid: int) -> None:
    """End a rank with its DataLoader workers and other children: each rank leads its own session."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:  # no members left
        pass
    except PermissionError:  # only another user's processes (sudo) are left: no reason to fail
        pass


def _streams(log: str) -> None:
    """Connect stdin to /dev/null, stdout and stderr to the rank's log, until its kernel replaces them."""
    nowhere = os.open(os.devnull, os.O_RDONLY)
    target = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(nowhere, 0)
    os.dup2(target, 1)
    os.dup2(target, 2)
    for number, name in ((1, "stdout"), (2, "stderr")):
        stream = open(number, "w", buffering=1, closefd=False)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _be_rank(spec: RankSpec, descriptors: list[int]) -> None:
    import faulthandler

    from dtrain_lab.rank import main

    metrics, kept, fault, *ends = descriptors
    faulthandler.enable(fault)
    faulthandler.register(STACKS_SIGNAL, file=fault, all_threads=True, chain=False)
    memory = shared_memory.Shared(
        memoryview(mmap.mmap(metrics, ring.BYTES)),
        memoryview(mmap.mmap(kept, output_buffer.BYTES)),
        {"stdout": (ends[0], ends[1]), "stderr": (ends[2], ends[3])},
    )
    os.close(metrics)
    os.close(kept)
    main.run(spec, memory)


def _be_controller(arguments: tuple[str, ...]) -> None:
    import zmq
    from ipyparallel.controller import app

    from dtrain_lab.machine.net.curve import HANDSHAKE_MS
    from dtrain_lab.machine.net.zmq_options import in_every_context

    in_every_context(zmq.HANDSHAKE_IVL, HANDSHAKE_MS)
    if any(argument.startswith("--ip=[") for argument in arguments):
        in_every_context(zmq.IPV6, 1)
    # it sleeps 0.25 s after it has made its database, and ranks would wait for that; ours has no database
    app.time = SimpleNamespace(sleep=lambda _: None)
    sys.argv = ["dtrain-controller"]
    app.IPController.launch_instance(argv=list(arguments))


def _tail(log: str) -> str:
    try:
        with open(log, "rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - LAST))
            return file.read().decode("utf-8", "replace")
    except FileNotFoundError:
        return ""


def main(arguments: list[str]) -> None:
    """Entry point."""
    os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"
    channel = socket.socket(fileno=int(arguments[0]))
    processes.end_with_parent(signal.SIGTERM)
    processes.adopt_orphans()
    ForkServer(channel).run()


if __name__ == "__main__":
    main(sys.argv[1:])
