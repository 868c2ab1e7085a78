"""Keeps ranks of a job: their output durable, their end known, their peers ended with them.

`python -m dtrain_lab.node attached FOLDER` keeps the one rank that srun or torchrun started it as;
`… FOLDER NODE RANKS` makes the ranks of a node itself, where there is no such launcher; with `apart` behind
it, nodes have a script each, and ranks that have ended well wait for those of other nodes: an attempt ends
everywhere, or begins anew everywhere. The ranks' lines go to `log.NODE`, their metrics to the job's head, if
there is one: a job does not need it.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import fcntl
import json
import os
import re
import signal
import socket
import struct
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dtrain_lab.core import jobfiles
from dtrain_lab.core.estimate import ring
from dtrain_lab.core.stacks import ASK_SIGNAL, STACKS_SIGNAL, without_writer
from dtrain_lab.node.side_signal import signal_beside

if TYPE_CHECKING:
    from dtrain_lab.node.headlink import HeadLink

GRACE_S = 5.0
"""Peers of a rank that failed may say what they know before they are ended."""
TELL_WITHIN_S = 20.0
"""A head that is starting is waited for."""
LOOK_S = 0.5
TAIL_S = 0.5
ASKED_WITHIN_S = 0.4
"""Between two lines of Python, a rank writes its stacks at once …"""
STACKS_WITHIN_S = 2.0
"""… and out of C code, as soon as its node has the time."""
PIECE = 1 << 16
SIOCGIFADDR = 0x8915
"""ioctl of Linux: the IPv4 address of an interface. psutil would take 30 ms to say it."""


class Kept:
    """One rank, and what is shared with it."""

    def __init__(self, rank: int, local_rank: int) -> None:
        self.rank = rank
        self.local_rank = local_rank
        self.process: asyncio.subprocess.Process | None = None
        self.metrics = os.memfd_create(f"dtrain-metrics-{rank}")
        os.ftruncate(self.metrics, ring.BYTES)
        self.stacks = os.memfd_create(f"dtrain-stacks-{rank}")
        self.debugger, self.its_debugger = socket.socketpair()
        """Our end of the way to its debugger, and its own."""
        self.stopped = False
        """Ended by us."""

    @property
    def pid(self) -> int:
        """Of its process."""
        assert self.process is not None
        return self.process.pid


class Attached:
    """The agent.

    Args:
        folder: of the job.
        node: index of this node.
        ranks: rank and local rank of each that is kept here.
        size: ranks in all.
        apart: other nodes have scripts of their own.
    """

    def __init__(
        self, folder: Path, node: int, ranks: list[tuple[int, int]], size: int, *, apart: bool = False
    ) -> None:
        self.folder = folder
        self.node = node
        self.kept = [Kept(rank, local) for rank, local in ranks]
        self._size = size
        self._apart = apart
        self._log = os.open(
            folder / jobfiles.log(node), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600
        )
        restart = os.environ.get(jobfiles.ATTEMPT_VARIABLE) or os.environ.get("TORCHELASTIC_RESTART_COUNT")
        self.attempt = int(restart or "0")
        never = os.environ.get(jobfiles.NEVER_VARIABLE)
        self._never = json.loads(never)["message"].rstrip(".") if never else None
        """Why the ranks can't start here: their peers elsewhere are told, as of any that fail."""
        self._warned = False
        self._ending = False
        self._cancelled = asyncio.Event()
        self._peer_failed = asyncio.Event()
        self._first: tuple[int, int] | None = None
        """Rank that failed first here, and its code."""

    async def run(self) -> int:
        """Keep the ranks to their end; the exit code of the first that failed."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, self._cancel)
        # schedulers send it to all processes; ranks get it from us, once
        loop.add_signal_handler(signal.SIGUSR2, self._warn)
        await asyncio.gather(*(self._start(kept) for kept in self.kept))
        # only now: the ranks load torch meanwhile
        from dtrain_lab.machine.cgroup import OutOfMemory
        from dtrain_lab.node.headlink import HeadLink

        self._memory = OutOfMemory()
        link = HeadLink(self)
        tasks: list[asyncio.Task[Any]] = [asyncio.create_task(self._look()), asyncio.create_task(link.run())]
        await asyncio.gather(*(self._keep(kept, link) for kept in self.kept))
        if self._first is not None and self._size > len(self.kept):
            # it failed at once: its peers on other nodes end when the head tells them
            either = [asyncio.create_task(event.wait()) for event in (link.connected, self._cancelled)]
            await asyncio.wait(either, timeout=TELL_WITHIN_S, return_when=asyncio.FIRST_COMPLETED)
            tasks += either
        code = self._first[1] if self._first is not None else 0
        if self._apart and not code:
            code = await self._wait_for_others(link)
        for task in tasks:
            task.cancel()
        link.close()
        return code

    async def _wait_for_others(self, link: HeadLink) -> int:
        """Ranks elsewhere may fail yet; 0 where they end well, or nobody knows of them."""
        told = link.others_end(TELL_WITHIN_S)
        ends = [asyncio.ensure_future(e) for e in (told, self._peer_failed.wait(), self._cancelled.wait())]
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        for end in ends:
            end.cancel()
        if self._cancelled.is_set():
            return 128 + signal.SIGTERM
        return int(self._peer_failed.is_set())

    # ---- ranks

    async def _start(self, kept: Kept) -> None:
        (self.folder / jobfiles.error(kept.rank)).unlink(missing_ok=True)  # of the attempt before
        environment = dict(os.environ)
        local = len(self.kept)
        if "RANK" not in os.environ:
            environment.update(
                RANK=str(kept.rank),
                LOCAL_RANK=str(kept.local_rank),
                WORLD_SIZE=str(self._size),
                LOCAL_WORLD_SIZE=str(local),
                NODE_RANK=str(self.node),
            )
        if kept.rank == 0 and jobfiles.ATTEMPT_VARIABLE not in os.environ and self.attempt:
            # torchrun has begun anew by itself: the script that wrote the first attempt does not know
            (self.folder / jobfiles.ATTEMPT).write_text(f"{self.attempt}\n")
        environment[jobfiles.ATTEMPT_VARIABLE] = str(self.attempt)
        environment[jobfiles.AGENT_VARIABLE] = str(os.getpid())
        environment[jobfiles.METRICS_VARIABLE] = str(kept.metrics)
        environment[jobfiles.STACKS_VARIABLE] = str(kept.stacks)
        environment[jobfiles.DEBUG_VARIABLE] = str(kept.its_debugger.fileno())
        rank = [sys.executable, "-P", "-u", "-m", "dtrain_lab.rank", str(self.folder)]
        kept.process = await asyncio.create_subprocess_exec(
            *(rank if self._never is None else ["false"]),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=environment,
            pass_fds=(kept.metrics, kept.stacks, kept.its_debugger.fileno()),
            limit=PIECE,
            # as torchrun does: Linux shares processors among sessions; in one, a step took 2 % longer
            start_new_session=True,
        )
        kept.its_debugger.close()

    async def _keep(self, kept: Kept, link: HeadLink) -> None:
        process = kept.process
        assert process is not None
        assert process.stdout is not None
        assert process.stderr is not None
        readers = [
            asyncio.create_task(self._copy(kept.rank, process.stdout, "o")),
            asyncio.create_task(self._copy(kept.rank, process.stderr, "e")),
        ]
        code = await _exit_code(process)
        # a child of the rank may hold its streams open for ever
        await asyncio.wait(readers, timeout=TAIL_S)
        for reader in readers:
            reader.cancel()
        if code or self._ending:  # what it has started ends with it
            _signal_all(process, signal.SIGKILL)
        if code:
            self._failed(kept, code)
        link.ended(kept, code)

    async def _copy(self, rank: int, stream: asyncio.StreamReader, kind: str) -> None:
        rest = b""
        while True:
            data = await stream.read(PIECE)
            if not data:
                break
            lines = (rest + data).split(b"\n")
            rest = lines.pop()
            if len(rest) > PIECE:  # a line without an end
                lines.append(rest)
                rest = b""
            self._write(rank, kind, lines)
        if rest:
            self._write(rank, kind, [rest])

    def _write(self, rank: int, kind: str, lines: list[bytes]) -> None:
        if not lines:
            return
        mark = f"{time.time():.3f} {rank} {kind} ".encode()
        text = b"".join(mark + line.replace(b"\r", b"\\r") + b"\n" for line in lines)
        try:
            os.write(self._log, text)
        except OSError as error:  # a full disk: the training goes on
            _complain(f"the log of node {self.node}: {error.strerror}")

    def _failed(self, kept: Kept, code: int) -> None:
        if self._first is None:
            self._first = kept.rank, code if code > 0 else 128 - code
        if not (self.folder / jobfiles.error(kept.rank)).exists():
            self._say_how(kept, code)
        marker = self.folder / jobfiles.failed(self.attempt)
        try:
            with open(os.open(marker, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                json.dump({"rank": kept.rank, "code": code, "at": time.time()}, file)
        except OSError:  # another rank was first, or the disk is full
            pass
        asyncio.get_running_loop().call_later(GRACE_S, self._end_soon)

    def _say_how(self, kept: Kept, code: int) -> None:
        """A rank that could not say itself why it ended."""
        if self._never is not None:
            kind, message = "Ended", f"could not start: {self._never}"
        elif kept.stopped:
            kind, message = "Stopped", "was ended with the others"
        elif code < 0:
            name = (
                signal.Signals(-code).name
                if -code in signal.valid_signals() and -code in set(map(int, signal.Signals))
                else f"signal {-code}"
            )
            how = self._memory.how(in_job="SLURM_JOB_ID" in os.environ) if code == -signal.SIGKILL else ""
            kind, message = "Killed", f"was {how}" if how else f"was killed by {name}"
        else:
            kind, message = "Ended", f"ended with code {code}"
        told = {
            "rank": kept.rank,
            "cell": None,
            "cell_id": None,
            "line": None,
            "type": kind,
            "message": message,
            "time": time.time(),
            "node": socket.gethostname().split(".")[0],
            "signal": -code if code < 0 else None,
        }
        try:
            (self.folder / jobfiles.error(kept.rank)).write_text(json.dumps(told))
        except OSError as error:
            _complain(f"rank {kept.rank} {message}; {error.strerror}")

    # ---- end

    def _cancel(self) -> None:
        """Somebody wants an end: nobody has to be told of it."""
        self._cancelled.set()
        self._end_soon()

    def _end_soon(self) -> None:
        """SIGTERM now, SIGKILL if that does not do."""
        if self._ending:
            return
        self._ending = True
        self._signal(signal.SIGTERM)
        asyncio.get_running_loop().call_later(GRACE_S, self._signal, signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        for kept in self.kept:
            process = kept.process
            if process is not None and process.returncode is None:
                kept.stopped = True
                _signal_all(process, number)

    def _warn(self) -> None:
        if self._warned:
            return
        self._warned = True
        for kept in self.kept:
            if kept.process is not None and kept.process.returncode is None:
                kept.process.send_signal(signal.SIGUSR2)

    def end_with_peers(self) -> None:
        """A rank elsewhere has failed: those here may say what they know, and then end."""
        self._peer_failed.set()
        asyncio.get_running_loop().call_later(GRACE_S, self._end_soon)

    async def _look(self) -> None:
        told = False
        while True:
            await asyncio.sleep(LOOK_S)
            if not told and (self.folder / jobfiles.failed(self.attempt)).exists():
                told = True
                self.end_with_peers()
            if (self.folder / jobfiles.WARNED).exists():
                self._warn()
            if (self.folder / jobfiles.CANCELLED).exists():
                self._cancel()

    # ---- stacks

    async def stacks(self, kept: Kept) -> str:
        """What the threads of a rank do now, also while one holds the GIL.

        faulthandler reads frames without the GIL, and can end a process whose main thread runs Python
        meanwhile. So a rank is asked to write them itself first; one that does not is in C code, where its
        frames stay as they are.
        """
        for number, within_s in ((ASK_SIGNAL, ASKED_WITHIN_S), (STACKS_SIGNAL, STACKS_WITHIN_S)):
            before = os.fstat(kept.stacks).st_size
            try:
                if not signal_beside(kept.pid, number):
                    return "It is starting."
            except ProcessLookupError:
                return ""
            text = await self._written(kept.stacks, before, within_s)
            if text:
                return without_writer(text)
        return ""

    async def _written(self, file: int, before: int, within_s: float) -> str:
        """What has come into a file since it had this size, once it grows no more."""
        until = time.monotonic() + within_s
        size = before
        while time.monotonic() < until or size > before:
            await asyncio.sleep(0.02)
            now = os.fstat(file).st_size
            if now > before and now == size:
                break
            size = now
        return os.pread(file, 1 << 20, before).decode("utf-8", "replace")


async def _exit_code(process: asyncio.subprocess.Process) -> int:
    """How it ended. `process.wait()` waits for whoever holds its streams, too: its children, for ever."""
    loop, over = asyncio.get_running_loop(), asyncio.Event()
    try:
        end = os.pidfd_open(process.pid)
    except ProcessLookupError:  # asyncio has seen it already
        over.set()
    else:
        loop.add_reader(end, over.set)
        await over.wait()
        loop.remove_reader(end)
        os.close(end)
    while process.returncode is None:  # asyncio is about to
        await asyncio.sleep(0.01)
    return process.returncode


def _signal_all(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    """A rank, and what it has started; nobody where none is left, or only what runs as root (sudo)."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _complain(text: str) -> None:
    """To the launcher's log; where that is on a full disk, too, nobody can be told."""
    with contextlib.suppress(OSError):
        # past Python's buffer: what it could not write would spoil the exit code
        os.write(2, f"dtrain-lab: {text}\n".encode())


def _ranks(arguments: list[str]) -> tuple[int, list[tuple[int, int]], int]:
    """This node's index, its ranks, and how many there are in all."""
    if arguments:
        node, count = int(arguments[0]), int(arguments[1])
        size = int(os.environ["DTRAIN_SIZE"])
        return node, [(node * count + local, local) for local in range(count)], size
    rank, local = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
    # torchrun says the node's index by GROUP_RANK
    node = int(os.environ.get("NODE_RANK") or os.environ.get("GROUP_RANK") or "0")
    return node, [(rank, local)], int(os.environ["WORLD_SIZE"])


def interface_to(address: str) -> str | None:
    """Name of the interface through which this node reaches an address; None for its own loopback."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((address, 9))
            mine = probe.getsockname()[0]
    except OSError:
        return None
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        for _, name in socket.if_nameindex():
            try:
                answer = fcntl.ioctl(asked, SIOCGIFADDR, struct.pack("256s", name.encode()[:15]))
            except OSError:  # an interface without an address
                continue
            if socket.inet_ntoa(answer[20:24]) == mine:
                return name if not re.fullmatch(r"lo\d*", name) else None
    return None


def _choose_interface(node: int) -> None:
    """gloo guesses by the host's name, which may lead to loopback: say which interface reaches the peers."""
    peer = os.environ.get("MASTER_ADDR", "127.0.0.1") if node else os.environ.get("DTRAIN_PEER", "")
    name = interface_to(peer) if peer else None
    if name is None and (node == 0 and not peer):
        name = "lo"
    if name is not None:
        os.environ.setdefault("GLOO_SOCKET_IFNAME", name)
        if name != "lo":
            os.environ.setdefault("NCCL_SOCKET_IFNAME", name)


def main(arguments: list[str]) -> int:
    """Entry point: `attached FOLDER [NODE RANKS [apart]]`."""
    if hasattr(ctypes.CDLL(None), "prctl"):  # a launcher that is killed takes us along
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)
    node, ranks, size = _ranks(arguments[2:])
    _choose_interface(node)
    apart = len(arguments) > 4
    return asyncio.run(Attached(Path(arguments[1]), node, ranks, size, apart=apart).run())
