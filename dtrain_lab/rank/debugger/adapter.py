"""Client of the debug adapter protocol for the pydevd in this process: requests, responses, events."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable

from dtrain_lab.debugger import framing
from dtrain_lab.debugger.state import Dap
from dtrain_lab.rank.debugger import tracing

RESUMES = ("next", "stepIn", "stepOut", "continue")
WAKE_TIMES = 7
"""Wake-ups after a step command, 1, 2, 4 … ms apart: a thread may sleep for 0.2 s after it got the command
(pydevd's `_do_wait_suspend`)."""
PIECE = 1 << 20


class Adapter:
    """Speaks the debug adapter protocol with pydevd; all calls are made in one asyncio loop.

    Args:
        loop: the loop, of a thread that pydevd doesn't trace.
        heard: called with each event's name and body.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, heard: Callable[[str, Dap], None]) -> None:
        self._loop = loop
        self._on_event = heard
        self._socket: socket.socket | None = None
        self._decoder = framing.Decoder()
        self._seq = 0
        self._waiting: dict[int, asyncio.Future[Dap]] = {}

    async def install(self) -> None:
        """Start tracing, in a separate thread: pydevd takes a second, which would block the loop."""
        first = self._socket is None
        installed: asyncio.Future[None] = self._loop.create_future()
        thread = threading.Thread(target=self._install, args=(installed,), daemon=True)
        # pydevd must neither trace this thread nor wait for it
        thread.pydev_do_not_trace = thread.is_pydev_daemon_thread = True  # type: ignore[attr-defined]
        thread.start()
        await installed
        if first:
            assert self._socket is not None
            self._loop.add_reader(self._socket.fileno(), self._readable)

    async def attach(self) -> None:
        """Open the session: `initialize`, `attach`, `configurationDone`."""
        await self.ask(
            "initialize",
            {
                "clientID": "dtrain-lab",
                "adapterID": "python",
                "pathFormat": "path",
                "linesStartAt1": True,
                "columnsStartAt1": True,
                "supportsVariableType": True,
            },
        )
        rules = {"justMyCode": False, "debugOptions": ["DebugStdLib"], "rules": tracing.rules()}
        attached = asyncio.ensure_future(self.ask("attach", rules))
        await asyncio.sleep(0)  # `attach` must be sent first, or pydevd complains in the user's output
        await self.ask("configurationDone", {})
        await attached

    async def ask(self, command: str, arguments: Dap) -> Dap:
        """Send a request and wait for its response.

        Args:
            command: of the debug adapter protocol.
            arguments: the request's arguments.

        Returns:
            The whole response message.
        """
        assert self._socket is not None
        self._seq += 1
        future: asyncio.Future[Dap] = self._loop.create_future()
        self._waiting[self._seq] = future
        request = {"type": "request", "seq": self._seq, "command": command, "arguments": arguments}
        self._socket.setblocking(True)
        self._socket.sendall(framing.encode(request))
        self._socket.setblocking(False)
        if command in RESUMES:
            self.wake()
        return await future

    def wake(self, times: int = 0) -> None:
        """Wake threads that got a step or continue command; repeats with growing pauses.

        Args:
            times: wake-ups so far.
        """
        tracing.wake()
        if times < WAKE_TIMES:
            self._loop.call_later(0.001 * 2**times, self.wake, times + 1)

    def _install(self, installed: asyncio.Future[None]) -> None:
        error: Exception | None = None
        try:
            if self._socket is None:
                self._socket = tracing.begin()
            else:
                tracing.trace_again()
        except Exception as failure:  # noqa: BLE001 - raised in `install`
            error = failure

        def done() -> None:
            if error is not None:
                installed.set_exception(error)
            else:
                installed.set_result(None)

        self._loop.call_soon_threadsafe(done)

    def _readable(self) -> None:
        assert self._socket is not None
        try:
            data = self._socket.recv(PIECE)
        except BlockingIOError:
            return
        if not data:
            self._loop.remove_reader(self._socket.fileno())
            return
        for message in self._decoder.feed(data):
            self._received(message)

    def _received(self, message: Dap) -> None:
        if message["type"] == "response":
            future = self._waiting.pop(message["request_seq"], None)
            if future is not None and not future.done():
                future.set_result(message)
        elif message["type"] == "event":
            self._on_event(message["event"], message.get("body") or {})
