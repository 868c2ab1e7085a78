"""A look at where the notebook's last cell failed: ranks stand there until they are continued."""

from __future__ import annotations

from collections.abc import Callable

from dtrain_lab.api.cluster import Cluster, cell_id
from dtrain_lab.debugger import events
from dtrain_lab.debugger.state import Outcome
from dtrain_lab.errors import BadRequest, DtrainError
from dtrain_lab.machine import supervision
from dtrain_lab.services.debugger.debugging import Debugging
from dtrain_lab.wire import clients


class PostMortem:
    """Brings ranks to where the last cell failed. Lives in the portal's loop.

    Args:
        debugging: The debugger of the ranks.
        busy: Whether a cell of ranks runs, whose own end is told.
    """

    def __init__(self, debugging: Debugging, busy: Callable[[], bool]) -> None:
        self._debugging = debugging
        self._busy = busy
        self._looking = False

    async def begin(self, target: Cluster) -> None:
        """Pause the ranks where the last cell failed or was interrupted; the others stay idle.

        Does nothing while ranks stand there already.

        Raises:
            BadRequest: The last cell has not failed.
        """
        if self._looking:
            return
        state = self._debugging.state
        outcome = state.outcome
        if not outcome.unfinished:
            raise BadRequest("The last cell has not failed.", "Run a cell that does, then look at it.")
        self._looking = True
        # before the order is sent: a second click meanwhile finds ranks that are on their way
        self._debugging.state = events.post_mortem(state)
        self._debugging.cell_began(outcome.unfinished)
        order = clients.Run(
            cell=cell_id(), code="%debug", label="%debug", ranks=outcome.unfinished, detached=True
        )
        try:
            await target.ask(order)
        except BaseException:  # also where the wait is cancelled: the button must work again
            self._ended(outcome)
            raise
        supervision.here().once("debug.postmortem", self._follow(target, order.cell, outcome))

    async def _follow(self, target: Cluster, cell: str, outcome: Outcome) -> None:
        try:
            await target.follow(cell, lambda _: None)
        except DtrainError:  # the cluster has ended, which its connection has told
            pass
        finally:
            self._ended(outcome)

    def _ended(self, outcome: Outcome) -> None:
        """All ranks have continued; one can look again, unless another cell has begun."""
        self._looking = False
        if self._debugging.state.on and not self._busy():
            self._debugging.cell_ended(outcome.unfinished, outcome)
