"""Post-mortem debugging of the notebook's last cell: ranks stop where it failed until they are continued."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from dtrain_lab.api.cluster import Cluster, cell_id
from dtrain_lab.debugger import events
from dtrain_lab.debugger.state import Outcome
from dtrain_lab.errors import BadRequest, DtrainError
from dtrain_lab.machine import supervision
from dtrain_lab.services.debugger.debugging import Debugging
from dtrain_lab.wire import clients

STANDS_WITHIN_S = 10.0
POLL_S = 0.05
NEWER = "What the last cell failed with is gone from its ranks: {}"


class PostMortem:
    """Stops ranks where the last cell failed. Runs in the portal's loop.

    Args:
        debugging: The debugger of the ranks.
        busy: Whether a cell of ranks runs, which reports its own end.
    """

    def __init__(self, debugging: Debugging, busy: Callable[[], bool]) -> None:
        self._debugging = debugging
        self._busy = busy
        self._looking = False
        self._failed: str | None = None
        """Why no rank could stop; None while that isn't known."""

    async def begin(self, target: Cluster) -> None:
        """Pause the ranks where the last cell failed or was interrupted; the others stay idle.

        Does nothing while ranks are already stopped there.

        Raises:
            BadRequest: The last cell has not failed, or no rank knows where any more.
        """
        if self._looking:
            return
        if self._debugging.state.on:  # an interrupt or a restart has detached ranks
            await self._debugging.begin(target.connection)
        state = self._debugging.state
        outcome = state.outcome
        if not outcome.unfinished:
            raise BadRequest("The last cell has not failed.", "Run a cell that does, then look at it.")
        self._looking, self._failed = True, None
        # set before the order is sent, so that a second click finds it in progress
        self._debugging.state = events.post_mortem(state)
        self._debugging.cell_began(outcome.unfinished)
        order = clients.Run(
            cell=cell_id(), code="%debug", label="%debug", ranks=outcome.unfinished, detached=True
        )
        try:
            await target.ask(order)
        except BaseException:  # also if the wait is cancelled: the button must work again
            self._ended(outcome)
            raise
        supervision.here().once("debug.postmortem", self._follow(target, order.cell, outcome))
        await self._stands()

    async def _stands(self) -> None:
        """Wait until a rank has stopped.

        Raises:
            BadRequest: No rank could.
        """
        until = asyncio.get_running_loop().time() + STANDS_WITHIN_S
        while not self._debugging.state.paused and asyncio.get_running_loop().time() < until:
            if self._failed:
                raise BadRequest(NEWER.format(self._failed), "Run the cell again with the debugger on.")
            if not self._looking:
                return
            await asyncio.sleep(POLL_S)

    async def _follow(self, target: Cluster, cell: str, outcome: Outcome) -> None:
        try:
            result = await target.follow(cell, lambda _: None)
            if result.failures and not self._debugging.state.paused:
                self._failed = next(
                    (f.message for f in result.failures if f.kind == "raised"), result.sentence
                )
        except DtrainError:  # the cluster has ended, which its connection reports
            pass
        finally:
            self._ended(outcome)

    def _ended(self, outcome: Outcome) -> None:
        """All ranks have continued; allow another post-mortem, unless another cell has started."""
        self._looking = False
        if self._debugging.state.on and not self._busy():
            self._debugging.cell_ended(outcome.unfinished, outcome)
