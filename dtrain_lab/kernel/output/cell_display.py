"""Shows a cell of ranks as output of the notebook cell, while it runs or afterwards."""

from __future__ import annotations

import asyncio
import concurrent.futures
import math
import sys
import time
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

import msgspec

from dtrain_lab.api.cluster import Cluster
from dtrain_lab.api.portal import Portal
from dtrain_lab.api.result import Result
from dtrain_lab.kernel.output import missing_names
from dtrain_lab.kernel.output.comms import Comms
from dtrain_lab.kernel.output.emitter import Emitter
from dtrain_lab.machine.signals import held_interrupts
from dtrain_lab.wire import clients
from dtrain_lab.wire.cells import CellResult, Output
from dtrain_lab.wire.links import WIDGET_VIEW, CellOutput

OnOutput = Callable[[CellOutput], None]
PATIENT_S = 8.0
"""Time after an interrupt from which a second one stops waiting; silent ranks are reported after 5 s."""
LEFT = (
    "did not stop this cell after the interrupt. The notebook no longer waits for the cell, which may still "
    "be running. To see its state: %distributed status. To stop the cluster: %distributed stop"
)


class CellDisplay:
    """Shows one cell's output below the running notebook cell.

    Args:
        shell: This kernel's shell.
        portal: This process's portal.
        target: The cell's cluster.
        cell: Id of the cell.
        ranks: Ranks that run the cell.
        by_rank: Show one block per rank.
    """

    def __init__(
        self, shell: Any, portal: Portal, target: Cluster, cell: str, ranks: Iterable[int], by_rank: bool
    ) -> None:
        self._shell = shell
        self._portal = portal
        self._target = target
        self._cell = cell
        self._emitter = Emitter(shell, tuple(ranks), by_rank=by_rank)
        self._comms = Comms(shell, portal, target, self._put)

    def run(self, order: clients.Run) -> Result:
        """Run a cell, and show its output until its end.

        If the head is on this machine, this thread sends the request itself, so that the portal's thread is
        woken only for the response.

        Raises:
            KeyboardInterrupt: The user interrupted again `PATIENT_S` after the first interrupt, because the
                cell does not end (its head may hang).
        """
        connection = self._target.connection
        if not connection.near:
            return self.until_end(lambda put: self._target.run_order(order, check=False, on_output=put))
        ended: concurrent.futures.Future[Result] = concurrent.futures.Future()
        sent: list[asyncio.Future[CellResult]] = []

        def over(done: asyncio.Future[CellResult]) -> None:
            try:
                self._emitter.finish()
            except Exception as error:  # noqa: BLE001 # the waiting thread raises it, if it still waits
                if not ended.done():
                    ended.set_exception(error)
                return
            if self._emitter.waits:
                self._portal.post(self._settle_later(done, ended))
            else:
                _settle(done, ended)

        def begin() -> None:
            with held_interrupts():
                sent.append(connection.begin(order, order.cell, self._put, over))

        def leave() -> None:
            ended.cancel()
            self._portal.loop.call_soon_threadsafe(sent[0].cancel)

        return self._wait(ended, leave, wait_only=False, begin=begin, begun=lambda: bool(sent))

    def until_end(
        self, begin: Callable[[OnOutput], Coroutine[Any, Any, Result]], *, wait_only: bool = False
    ) -> Result:
        """Show output until the end of the cell.

        Args:
            begin: Starts or follows the cell, and passes its output to the given callback.
            wait_only: Whether an interrupt ends only the wait, not the cell.

        Raises:
            KeyboardInterrupt: The user interrupted with `wait_only`; or again `PATIENT_S` after the first
                interrupt, because the cell does not end (its head may hang).
        """

        async def shown() -> Result:
            try:
                return await begin(self._put)
            finally:
                self._emitter.finish()
                await self._emitter.sent()

        future = asyncio.run_coroutine_threadsafe(shown(), self._portal.loop)
        return self._wait(future, future.cancel, wait_only=wait_only)

    def _wait(
        self,
        future: concurrent.futures.Future[Result],
        leave: Callable[[], object],
        *,
        wait_only: bool,
        begin: Callable[[], None] = lambda: None,
        begun: Callable[[], bool] = lambda: True,
    ) -> Result:
        """Begin a cell and wait for its end.

        Args:
            future: The cell's end.
            leave: Ends the wait only.
            wait_only: Whether an interrupt ends only the wait, not the cell.
            begin: Begins the cell; called here, so that an interrupt finds no cell, or one that it can end.
            begun: Whether the cell has begun.
        """
        first = math.inf
        while True:
            try:
                if not begun():
                    begin()
                return future.result()
            except KeyboardInterrupt:
                if future.done() or not begun():
                    raise
                first = min(first, time.monotonic())
                self._portal.loop.call_soon_threadsafe(self._emitter.hurry)
                patient = time.monotonic() - first < PATIENT_S
                if wait_only or not patient:
                    leave()
                    if not patient:
                        print(f"{self._target.name} {LEFT}", file=sys.stderr)
                    raise
                self._portal.post(self._target.interrupt_cell(self._cell))

    async def _settle_later(
        self, done: asyncio.Future[CellResult], ended: concurrent.futures.Future[Result]
    ) -> None:
        try:
            await self._emitter.sent()
        finally:
            _settle(done, ended)

    def at_once(self, outputs: Iterable[Output]) -> None:
        """Show recorded output."""

        async def show() -> None:
            for output in outputs:
                data = msgspec.json.encode(self._without_view(output.data)) if output.data else b""
                self._put(CellOutput(self._cell, output.ranks[0], output.kind, output.text or "", data))
            self._emitter.finish()
            await self._emitter.sent()

        self._portal.call(show())

    def _without_view(self, content: dict[str, Any]) -> dict[str, Any]:
        """Remove a widget that this kernel does not have from a display, whose text is then shown."""
        view = content.get("data", {}).get(WIDGET_VIEW)
        if view is None or self._comms.knows(view["model_id"]):
            return content
        return {**content, "data": {kind: v for kind, v in content["data"].items() if kind != WIDGET_VIEW}}

    def raise_failure(self, result: Result) -> None:
        """Raise an exception if a rank failed; the page is told first if somebody has stopped the cluster.

        Args:
            result: The result of this cell.

        Raises:
            CellFailed: Names the failed ranks, and shows the source line.
        """
        stop = result.stop
        if stop is not None:

            async def tell() -> None:
                self._emitter.note_stop(stop)
                await self._emitter.sent()

            self._portal.call(tell())
        result.raise_failure(missing_names.hint(result.failures, self._shell.user_ns))

    def _put(self, output: CellOutput) -> None:
        self._comms.see(output)
        self._comms.answers.get(output.parent, self._emitter).put(output)


def _settle(done: asyncio.Future[CellResult], ended: concurrent.futures.Future[Result]) -> None:
    """Pass a cell's end on to the thread that waits for it, if it still does."""
    error = None if done.cancelled() else done.exception()  # retrieved, whoever still waits
    if ended.done():
        return
    if done.cancelled():
        ended.cancel()
    elif error is not None:
        ended.set_exception(error)
    else:
        ended.set_result(Result(done.result(), []))
