"""The fork server: torch loaded once, one OS thread, one socket, `wait4` and nothing else.

A process that forks must have no second thread (locks held elsewhere stay locked in the child for ever)
and must not have touched CUDA or run a tensor operation (their pools do not survive a fork). So ZeroMQ,
measuring and the network live in the node agent, and this process only reads orders from a socketpair.

Runs as `python -m dtrain_lab.node.forkserver FD`, with OMP_NUM_THREADS=OPENBLAS_NUM_THREADS=1 from its exec
on: torch and numpy then start no thread of their own.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import mmap
import os
import select
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any, NoReturn

import msgspec

from dtrain_lab.core import words
from dtrain_lab.core.estimate import ring
from dtrain_lab.core.stacks import STACKS_SIGNAL
from dtrain_lab.core.wire.links import CONTROLLER, RankSpec

PRELOAD = (
    "numpy",
    "torch",
    "torch.distributed",
    "torch.nn.parallel",
    "torch.distributed.fsdp",
    "torch.utils.data",
    "ipyparallel.engine.app",
    "ipyparallel.controller.app",
    "ipyparallel.controller.task_scheduler",
    "ipyparallel.controller.dictdb",
    "ipyparallel.serialize.codeutil",
    "ipykernel.debugger",
    "ipykernel.zmqshell",
    "matplotlib_inline.backend_inline",
    "dtrain_lab.rank.main",
)
OPTIONAL = frozenset({"matplotlib_inline.backend_inline"})
MESSAGE = 1 << 20
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
LAST = 4000


class ForkRank(msgspec.Struct, frozen=True, tag=True):
    """Fork a rank; its metrics ring, words, fault file and two pipes come along as descriptors."""

    spec: RankSpec


class ForkController(msgspec.Struct, frozen=True, tag=True):
    """Fork the ipyparallel controller."""

    arguments: tuple[str, ...]
    log: str


class Kill(msgspec.Struct, frozen=True, tag=True):
    """Send a signal to processes."""

    keys: tuple[int, ...]
    number: int


Order = ForkRank | ForkController | Kill


class Loaded(msgspec.Struct, frozen=True, tag=True):
    """Everything is imported; or what went wrong. `on_gpus`: this build of torch can compute on some."""

    seconds: float = 0.0
    torch: str = ""
    on_gpus: bool = False
    error: str = ""


class Born(msgspec.Struct, frozen=True, tag=True):
    """A process was forked."""

    key: int
    pid: int


class Died(msgspec.Struct, frozen=True, tag=True):
    """A process ended."""

    key: int
    pid: int
    code: int
    last: str


News = Loaded | Born | Died
encode = msgspec.msgpack.Encoder().encode
decode_order = msgspec.msgpack.Decoder(Order).decode
decode_news = msgspec.msgpack.Decoder(News).decode

_libc = ctypes.CDLL(None, use_errno=True)


def threads() -> int:
    """OS threads of this process; Python's own count sees none of torch's or ZeroMQ's."""
    return len(os.listdir("/proc/self/task"))


class ForkServer:
    """Forks on order, and reports every death."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._children: dict[int, tuple[int, str]] = {}
        self._wake = os.pipe()

    def run(self) -> None:
        """Serve until the agent is gone; then nothing that was forked lives on."""
        try:
            self._load()
        except (ImportError, RuntimeError, OSError) as error:
            self._say(Loaded(error=f"{type(error).__name__}: {error}"))
            raise
        try:
            self._serve()
        finally:
            self._end()

    def _load(self) -> None:
        began = time.monotonic()
        for name in PRELOAD:
            try:
                importlib.import_module(name)
            except ImportError:
                if name not in OPTIONAL:
                    raise
        gc.collect()
        gc.freeze()  # the collector must not write to pages that children share
        if threads() != 1:
            raise RuntimeError(f"the fork server has {threads()} threads; a fork would not be safe")
        import torch

        if not torch.distributed.is_available():
            raise RuntimeError("this build of torch has no torch.distributed")
        on_gpus = torch.version.cuda is not None or torch.version.hip is not None
        self._say(Loaded(time.monotonic() - began, str(torch.__version__), on_gpus))

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

    def _fork(self, key: int, log: str, child: Callable[[], None]) -> None:
        pid = os.fork()
        if pid == 0:
            self._become(log, child)
        self._children[pid] = (key, log)
        self._say(Born(key, pid))

    def _become(self, log: str, child: Callable[[], None]) -> NoReturn:
        code = 1
        try:
            _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGTERM, signal.SIGCHLD):
                signal.signal(number, signal.SIG_DFL)
            self._channel.close()
            for end in self._wake:
                os.close(end)
            os.setsid()
            _streams(log)
            gc.unfreeze()
            child()
            code = 0
        except SystemExit as leave:
            code = leave.code if isinstance(leave.code, int) else 1
        # the child's last word goes to its log; it must never return into our loop
        except BaseException:  # noqa: BLE001
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)

    def _reap(self) -> None:
        while self._children:
            try:
                pid, status, _ = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            known = self._children.pop(pid, None)
            if known is None:  # a grandchild that came to us because its parent died
                continue
            _kill_group(pid)
            key, log = known
            self._say(Died(key, pid, os.waitstatus_to_exitcode(status), _tail(log)))

    def _say(self, news: News) -> None:
        self._channel.sendall(encode(news))

    def _end(self) -> None:
        for pid in list(self._children):
            _kill_group(pid)
        os._exit(0)


def _kill_group(pid: int) -> None:
    """End a rank with its DataLoader workers and child processes: each rank leads its own session."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:  # it had none
        pass


def _streams(log: str) -> None:
    """stdin from nowhere, stdout and stderr to the rank's log until its kernel takes them."""
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

    from dtrain_lab.rank import link, main

    metrics, kept, fault, *ends = descriptors
    faulthandler.enable(fault)
    faulthandler.register(STACKS_SIGNAL, file=fault, all_threads=True, chain=False)
    memory = link.Shared(
        memoryview(mmap.mmap(metrics, ring.BYTES)),
        memoryview(mmap.mmap(kept, words.BYTES)),
        {"stdout": (ends[0], ends[1]), "stderr": (ends[2], ends[3])},
    )
    os.close(metrics)
    os.close(kept)
    main.run(spec, memory)


def _be_controller(arguments: tuple[str, ...]) -> None:
    from ipyparallel.controller.app import IPController

    from dtrain_lab.machine import ipv6

    if any(argument.startswith("--ip=[") for argument in arguments):
        ipv6.in_every_context()
    sys.argv = ["dtrain-controller"]
    IPController.launch_instance(argv=list(arguments))


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
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    _libc.prctl(PR_SET_CHILD_SUBREAPER, 1)
    ForkServer(channel).run()


if __name__ == "__main__":
    main(sys.argv[1:])
