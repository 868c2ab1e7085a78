"""A cell of ranks as output of the notebook's cell: while it runs, or after the fact."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

import msgspec

from dtrain_lab.api.cluster import Cluster
from dtrain_lab.api.portal import Portal
from dtrain_lab.api.result import Result
from dtrain_lab.core.cluster import Output
from dtrain_lab.core.wire.links import CellOutput
from dtrain_lab.kernel.comms import Comms
from dtrain_lab.kernel.emit import Emitter

OnOutput = Callable[[CellOutput], None]


class Shown:
    """Shows one cell's output below the cell that runs now.

    Args:
        shell: of this kernel.
        portal: of this process.
        target: whose cell it is.
        cell: its id.
        ranks: that run it.
        by_rank: a block for each rank.
    """

    def __init__(
        self, shell: Any, portal: Portal, target: Cluster, cell: str, ranks: Iterable[int], by_rank: bool
    ) -> None:
        self._portal = portal
        self._target = target
        self._cell = cell
        self._emitter = Emitter(shell, tuple(ranks), by_rank=by_rank)
        self._comms = Comms(shell, portal, target)

    def until_end(
        self, begin: Callable[[OnOutput], Coroutine[Any, Any, Result]], *, keep: bool = False
    ) -> Result:
        """Show output until the end.

        Args:
            begin: starts or follows the cell; its output goes to what it is given.
            keep: an interrupt ends the waiting, and not the cell.

        Raises:
            KeyboardInterrupt: `keep`, and somebody has had enough.
        """

        async def shown() -> Result:
            try:
                return await begin(self._put)
            finally:
                self._emitter.finish()

        future = asyncio.run_coroutine_threadsafe(shown(), self._portal.loop)
        while True:
            try:
                return future.result()
            except KeyboardInterrupt:
                if future.done():
                    raise
                if keep:
                    future.cancel()
                    raise
                self._portal.post(self._target.interrupt_cell(self._cell))

    def at_once(self, outputs: Iterable[Output]) -> None:
        """Show what is there."""

        async def show() -> None:
            for output in outputs:
                data = msgspec.json.encode(output.data) if output.data else b""
                self._put(CellOutput(self._cell, output.ranks[0], output.kind, output.text or "", data))
            self._emitter.finish()

        self._portal.call(show())

    def _put(self, output: CellOutput) -> None:
        self._comms.see(output)
        self._emitter.put(output)
