"""A cluster's agent and its fork server: starts it, has it fork ranks, and ends or hands it over."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import mmap
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable

import psutil

from dtrain_lab.cells import output_buffer
from dtrain_lab.errors import WireMismatch
from dtrain_lab.machine import processes
from dtrain_lab.metrics import ring
from dtrain_lab.node.forkserver import handover, messages
from dtrain_lab.node.forkserver.crash_output import CrashOutput
from dtrain_lab.node.forkserver.start import start
from dtrain_lab.wire.links import CONTROLLER, ForkController, RankSpec
from dtrain_lab.wire.processes.settings import HEIR_WITHIN_S

log = logging.getLogger("dtrain_lab.node")
END_WITHIN_S = 1.0
"""Time that a fork server has to end by itself; one that hangs in an import is killed."""
FOREIGN = ("SLURM", "SRUN_", "PMI", "OMPI_", "JUPYTERHUB_", "JPY_", "JUPYTER_TOKEN", "CONFIGPROXY_AUTH_TOKEN")
"""Variables of the process that started us: with them a rank would act as the scheduler's or Hub's task."""


class ForkServerClient:
    """Starts the fork server, has it fork ranks, and receives their exits.

    Args:
        variables: The profile's environment. It is set when the fork server is exec'ed, so that libraries
            that read it at import see it; a changed environment needs a new fork server.
        heard: Called in the loop with each message of the fork server.
        gone: Called when the fork server itself has ended, after the process groups that it left were killed.
    """

    def __init__(
        self,
        variables: dict[str, str],
        heard: Callable[[messages.News], None],
        gone: Callable[[], None],
    ) -> None:
        self._variables = variables
        self._on_message = heard
        self._gone = gone
        self._channel: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        """The fork server, if it is this agent's child."""
        self._server: tuple[int, float] | None = None
        """Its pid, and when it started."""
        self._loaded = asyncio.Event()
        self._began: dict[int, float] = {}
        """Process id of a rank → when the process began, as `processes.started` returns it."""
        self.rings: dict[int, ring.Reader] = {}
        """Rank → its metrics ring."""
        self.crash_outputs: dict[int, CrashOutput] = {}
        """Rank → its output buffer and crash traceback."""

    def start(self, log: str) -> None:
        """Start the fork server, logging to this file; it reports `Loaded` once torch is imported."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        environment = {k: v for k, v in os.environ.items() if not k.startswith(FOREIGN)}
        environment |= self._variables
        with theirs, open(log, "ab") as output:
            self._process = start(
                ["channel", str(theirs.fileno())],
                environment,
                pass_fds=[theirs.fileno()],
                stdout=output,
                stderr=output,
            )
        self._server = self._process.pid, processes.started(self._process.pid)
        self._listen(ours)

    async def take_over(self, path: str, log: str) -> None:
        """Take over the fork server of an ending agent; start one if none arrives that answers.

        Args:
            path: Socket at which it arrives.
            log: Log file of a fork server that has to be started.
        """
        inherited = await handover.receive(path)
        if inherited is None:
            self.start(log)
            return
        channel = inherited.channel
        self._server = inherited.pid, inherited.began
        self._listen(channel)
        try:
            self._order(messages.HandOverChannel(), [])  # for its answer that it is loaded
        except OSError:  # it ended during the handover
            asyncio.get_running_loop().remove_reader(channel)
            channel.close()
            self.start(log)
            return
        try:
            async with asyncio.timeout(2 * HEIR_WITHIN_S):
                await self._loaded.wait()
        except TimeoutError:
            if self._channel is channel:  # it exists, but reads nothing
                self.end()
                self.start(log)

    async def hand_on(self, path: str) -> bool:
        """Hand the fork server, without children, over to another agent.

        Args:
            path: Socket at which that agent waits.

        Returns:
            Whether that succeeded; otherwise call `end`.
        """
        if self._channel is None or not self._loaded.is_set():
            return False
        try:
            return await self._hand_on(path, self._channel)
        except OSError:  # it has just ended
            return False

    async def _hand_on(self, path: str, channel: socket.socket) -> bool:
        self._on_message = lambda _: (
            None
        )  # otherwise the head, which waits for this agent's end, would start everything again
        self._order(messages.Kill((*self.crash_outputs, CONTROLLER), signal.SIGKILL), [])
        self._loaded.clear()
        self._order(messages.HandOverChannel(), [])
        until = time.monotonic() + HEIR_WITHIN_S
        while self._began or not self._loaded.is_set():
            if time.monotonic() > until or self._channel is None:
                return False
            await asyncio.sleep(0.01)
        asyncio.get_running_loop().remove_reader(channel)
        if self._server is None or not await handover.send(
            path, handover.Inherited(channel, *self._server), until
        ):
            return False
        channel.close()
        self._channel = self._process = self._server = None
        return True

    def _listen(self, channel: socket.socket) -> None:
        self._channel = channel
        asyncio.get_running_loop().add_reader(channel, self._read)

    def fork(self, spec: RankSpec) -> None:
        """Fork a rank, with new shared memory for its metrics and its output."""
        metrics, memory = _shared(f"dtrain-metrics-{spec.rank}", ring.BYTES)
        self.rings[spec.rank] = ring.Reader(memory)
        self.crash_outputs.pop(spec.rank, None)
        kept, memory = _shared(f"dtrain-output-{spec.rank}", output_buffer.BYTES)
        fault = os.memfd_create(f"dtrain-fault-{spec.rank}")
        pipes = {stream: os.pipe() for stream in output_buffer.STREAMS}
        ends = [end for pipe in pipes.values() for end in pipe]
        # reopen the pipes: non-blocking mode belongs to the open file, so dup'ed descriptors would share it
        mine = {stream: os.open(f"/proc/self/fd/{pipe[0]}", os.O_RDONLY) for stream, pipe in pipes.items()}
        self.crash_outputs[spec.rank] = CrashOutput(memory, fault, mine)
        self._order(messages.ForkRank(spec), [metrics, kept, fault, *ends])
        for descriptor in (metrics, kept, *ends):
            os.close(descriptor)

    def fork_controller(self, order: ForkController) -> None:
        """Fork the ipyparallel controller."""
        self._order(messages.ForkController(order.arguments, order.log), [])

    def signal(self, keys: tuple[int, ...], number: int) -> None:
        """Send a signal to ranks, or to the controller.

        Args:
            keys: Ranks, or `links.CONTROLLER`.
            number: Number of the signal.
        """
        self._order(messages.Kill(keys, number), [])

    def end(self) -> None:
        """End the fork server and all its children."""
        channel, self._channel = self._channel, None
        if channel is not None:
            asyncio.get_running_loop().remove_reader(channel)
            channel.close()  # it reads EOF, ends its children and itself
        if self._process is not None:
            try:
                self._process.wait(timeout=END_WITHIN_S)
            except subprocess.TimeoutExpired:  # it may hang in an import
                self._process.kill()
                self._process.wait()
        elif self._server is not None and not processes.gone(*self._server, END_WITHIN_S):
            processes.signal_process(*self._server, signal.SIGKILL)
        self._end_left()

    def _order(self, order: messages.Order, descriptors: list[int]) -> None:
        if self._channel is not None:
            socket.send_fds(self._channel, [messages.encode(order)], descriptors)

    def _read(self) -> None:
        assert self._channel is not None
        try:
            data = self._channel.recv(messages.MESSAGE)
        except ConnectionResetError:
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(self._channel)
            self._channel.close()
            self._channel = None
            self._end_left()
            self._gone()
            return
        try:
            news = messages.decode_news(data)
        except WireMismatch as error:
            log.warning("dropped %s bytes: %s", len(data), error.message)
            return
        if isinstance(news, messages.ProcessForked):
            with contextlib.suppress(psutil.NoSuchProcess):  # its exit is reported next
                self._began[news.pid] = processes.started(news.pid)
        elif isinstance(news, messages.ProcessExited):
            self._began.pop(news.pid, None)
        elif not news.error:
            self._loaded.set()
        self._on_message(news)

    def _end_left(self) -> None:
        """Kill the ranks' children: when the fork server is killed, only the ranks themselves die with it."""
        for pid, began in self._began.items():
            processes.signal_group(pid, began, signal.SIGKILL)
        self._began.clear()


def _shared(name: str, size: int) -> tuple[int, memoryview]:
    """Create memory to share with a forked rank; returns its descriptor and our view of it."""
    descriptor = os.memfd_create(name)
    os.ftruncate(descriptor, size)
    return descriptor, memoryview(mmap.mmap(descriptor, size))
