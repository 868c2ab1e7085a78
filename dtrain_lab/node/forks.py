"""The agent's handle on its fork server."""

from __future__ import annotations

import asyncio
import mmap
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable

from dtrain_lab.core import words
from dtrain_lab.core.estimate import ring
from dtrain_lab.core.wire.links import ForkController, RankSpec
from dtrain_lab.node import forkserver
from dtrain_lab.node.last_words import LastWords

FOREIGN = ("SLURM", "SRUN_", "PMI", "OMPI_", "JUPYTERHUB_", "JPY_", "JUPYTER_TOKEN", "CONFIGPROXY_AUTH_TOKEN")
"""Of whoever started us: a rank that inherits these takes itself for the scheduler's task, or the Hub's."""


class Forks:
    """Starts the fork server, orders ranks from it, and hears of their deaths.

    Args:
        variables: the profile's environment; it is set when the fork server is exec'ed, so that libraries
            that read it at import see it. A changed environment means a new fork server.
        heard: called with each piece of news, in the loop.
        gone: called when the fork server itself has ended, with the process groups it left.
    """

    def __init__(
        self,
        variables: dict[str, str],
        heard: Callable[[forkserver.News], None],
        gone: Callable[[], None],
    ) -> None:
        self._variables = variables
        self._heard = heard
        self._gone = gone
        self._channel: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._pids: set[int] = set()
        self.rings: dict[int, ring.Reader] = {}
        """Rank → its metrics."""
        self.words: dict[int, LastWords] = {}
        """Rank → what is left of its output after its death."""

    def start(self, log: str) -> None:
        """Start the fork server; `Loaded` is heard once torch is in."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        environment = {k: v for k, v in os.environ.items() if not k.startswith(FOREIGN)}
        environment |= self._variables
        environment.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")
        with theirs, open(log, "ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "dtrain_lab.node.forkserver", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=environment,
            )
        self._channel = ours
        asyncio.get_running_loop().add_reader(ours, self._read)

    def fork(self, spec: RankSpec) -> None:
        """Make a rank, with fresh memory that it shares with us: metrics and last words."""
        metrics, memory = _shared(f"dtrain-metrics-{spec.rank}", ring.BYTES)
        self.rings[spec.rank] = ring.Reader(memory)
        self.words.pop(spec.rank, None)
        kept, memory = _shared(f"dtrain-words-{spec.rank}", words.BYTES)
        fault = os.memfd_create(f"dtrain-fault-{spec.rank}")
        pipes = {stream: os.pipe() for stream in words.STREAMS}
        ends = [end for pipe in pipes.values() for end in pipe]
        # reading from a copy of our own: blocking or not is said of the open file, not of the descriptor
        mine = {stream: os.open(f"/proc/self/fd/{pipe[0]}", os.O_RDONLY) for stream, pipe in pipes.items()}
        self.words[spec.rank] = LastWords(memory, fault, mine)
        self._order(forkserver.ForkRank(spec), [metrics, kept, fault, *ends])
        for descriptor in (metrics, kept, *ends):
            os.close(descriptor)

    def fork_controller(self, order: ForkController) -> None:
        """Make the ipyparallel controller."""
        self._order(forkserver.ForkController(order.arguments, order.log), [])

    def signal(self, keys: tuple[int, ...], number: int) -> None:
        """Send a signal to ranks, or to the controller."""
        self._order(forkserver.Kill(keys, number), [])

    def end(self) -> None:
        """End the fork server and all it made."""
        channel, self._channel = self._channel, None
        if channel is not None:
            asyncio.get_running_loop().remove_reader(channel)
            channel.close()  # it reads EOF, ends its children and itself
        if self._process is not None:
            try:
                self._process.wait(timeout=1.0)
            except subprocess.TimeoutExpired:  # it may be inside an import that never ends
                self._process.kill()
                self._process.wait()
        self._end_left()

    def _order(self, order: forkserver.Order, descriptors: list[int]) -> None:
        if self._channel is not None:
            socket.send_fds(self._channel, [forkserver.encode(order)], descriptors)

    def _read(self) -> None:
        assert self._channel is not None
        try:
            data = self._channel.recv(forkserver.MESSAGE)
        except ConnectionResetError:
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(self._channel)
            self._channel.close()
            self._channel = None
            self._end_left()
            self._gone()
            return
        news = forkserver.decode_news(data)
        if isinstance(news, forkserver.Born):
            self._pids.add(news.pid)
        elif isinstance(news, forkserver.Died):
            self._pids.discard(news.pid)
        self._heard(news)

    def _end_left(self) -> None:
        """Where the fork server was killed, its ranks die with it, but not what they had started."""
        for pid in self._pids:
            try:
                os.killpg(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self._pids.clear()


def _shared(name: str, size: int) -> tuple[int, memoryview]:
    """Memory that a forked rank will share: its descriptor, and our view of it."""
    descriptor = os.memfd_create(name)
    os.ftruncate(descriptor, size)
    return descriptor, memoryview(mmap.mmap(descriptor, size))
