"""The debugger of a job's rank: a thread that sleeps until the agent passes on a request.

Until then it costs nothing: no import, no tracing. Requests come over a socket pair that the agent made.
"""

from __future__ import annotations

import os
import socket
import struct
import sys
import threading
from typing import TYPE_CHECKING, Any

from dtrain_lab.core import jobfiles

if TYPE_CHECKING:
    from dtrain_lab.rank.debugger import CellFiles, RankDebugger

HEADER = struct.Struct("!I")
"""Each message follows its length."""


class JobDebugger:
    """Waits for somebody who debugs.

    Args:
        rank: who this is.
        cells: which files are cells.
    """

    def __init__(self, rank: int, cells: CellFiles) -> None:
        self._rank = rank
        self._cells = cells
        self._debugger: RankDebugger | None = None
        number = os.environ.pop(jobfiles.DEBUG_VARIABLE, "")
        if number:
            self._socket = socket.socket(fileno=int(number))
            self._socket.set_inheritable(False)
            thread = threading.Thread(target=self._wait, daemon=True, name="dtrain-debugger")
            # pydevd must neither trace this thread nor wait for it
            thread.pydev_do_not_trace = thread.is_pydev_daemon_thread = True  # type: ignore[attr-defined]
            thread.start()
            sys.breakpointhook = self._reached

    def failed(self, error: BaseException) -> None:
        """The notebook has failed: stop there, if somebody wants that."""
        if self._debugger is not None:
            self._debugger.failed(error)

    def _reached(self, *args: Any, **kwargs: Any) -> None:
        """`breakpoint()`: nobody else could answer in a job."""
        if self._debugger is not None and self._debugger.attached:
            from dtrain_lab.rank import tracing

            tracing.stop_here(sys._getframe(1))
        else:
            print("dtrain-lab: breakpoint() stops only while this job is debugged.", file=sys.stderr)

    def _wait(self) -> None:
        if not self._socket.recv(1, socket.MSG_PEEK):
            return
        import asyncio

        asyncio.run(self._serve())

    async def _serve(self) -> None:
        import asyncio
        import concurrent.futures

        from dtrain_lab.core.wire import links
        from dtrain_lab.rank.debugger import RankDebugger

        reader, writer = await asyncio.open_connection(sock=self._socket)
        loop = asyncio.get_running_loop()

        def send(message: links.Message) -> None:
            data = links.encode(message)
            loop.call_soon_threadsafe(writer.write, HEADER.pack(len(data)) + data)

        def look(_: str, __: str | None) -> concurrent.futures.Future[str | None]:
            found: concurrent.futures.Future[str | None] = concurrent.futures.Future()
            found.set_result(None)  # the script always runs
            return found

        def note(text: str) -> None:
            print(f"dtrain-lab: {text}", file=sys.stderr)

        self._debugger = RankDebugger(self._rank, self._cells, loop, send, look, note)
        try:
            while True:
                (length,) = HEADER.unpack(await reader.readexactly(HEADER.size))
                order = links.decode_to_rank(await reader.readexactly(length))
                if isinstance(order, links.Debug):
                    self._debugger.received(order)
        except (asyncio.IncompleteReadError, ConnectionError):  # the agent has ended
            return
