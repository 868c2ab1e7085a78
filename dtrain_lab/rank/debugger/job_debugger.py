"""The debugger of a job's rank: a thread that sleeps until the node agent passes a request on.

Until then it costs nothing: no import, no tracing. Requests come over a socket pair made by the agent.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
from typing import TYPE_CHECKING, Any

from dtrain_lab.errors import WireMismatch
from dtrain_lab.jobs import environment_variables

if TYPE_CHECKING:
    from dtrain_lab.rank.debugger.debugger import RankDebugger
    from dtrain_lab.rank.debugger.sources import CellFiles
from dtrain_lab.machine.net.framing import framed, messages


class JobDebugger:
    """Starts the rank's debugger at the first request.

    Args:
        rank: number of this rank.
        cells: maps files of compiled code to cells.
    """

    def __init__(self, rank: int, cells: CellFiles) -> None:
        self._rank = rank
        self._cells = cells
        self._debugger: RankDebugger | None = None
        number = os.environ.pop(environment_variables.DEBUG, "")
        if number:
            self._socket = socket.socket(fileno=int(number))
            self._socket.set_inheritable(False)
            thread = threading.Thread(target=self._wait, daemon=True, name="dtrain-debugger")
            # pydevd must neither trace this thread nor wait for it
            thread.pydev_do_not_trace = thread.is_pydev_daemon_thread = True  # type: ignore[attr-defined]
            thread.start()
            sys.breakpointhook = self._reached
            # otherwise pydevd prints a warning about frozen modules to the job's log
            os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")

    def failed(self, error: BaseException) -> None:
        """Stop where the notebook failed, if a debugger is attached and its failure breakpoints are on."""
        if self._debugger is not None:
            self._debugger.failed(error)

    def _reached(self, *args: Any, **kwargs: Any) -> None:
        """`breakpoint()`: stop, or print a note; Python's own hook would wait for a terminal."""
        if self._debugger is not None and self._debugger.attached:
            from dtrain_lab.rank.debugger import tracing

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

        from dtrain_lab.rank.debugger.debugger import RankDebugger
        from dtrain_lab.wire import links

        reader, writer = await asyncio.open_connection(sock=self._socket)
        loop = asyncio.get_running_loop()

        def send(message: links.Message) -> None:
            loop.call_soon_threadsafe(writer.write, framed(links.encode(message)))

        def look(_: str, __: str | None) -> concurrent.futures.Future[str | None]:
            nothing: concurrent.futures.Future[str | None] = concurrent.futures.Future()
            nothing.set_result(None)  # as while a cell runs: a job's script always does
            return nothing

        def note(text: str) -> None:
            print(f"dtrain-lab: {text}", file=sys.stderr)

        self._debugger = RankDebugger(self._rank, self._cells, loop, send, look, note)
        async for data in messages(reader):  # until the agent has ended
            try:
                order = links.decode_to_rank(data)
            except WireMismatch as error:
                note(f"{error.message}")
                continue
            if isinstance(order, links.DebugRequest):
                self._debugger.received(order)
