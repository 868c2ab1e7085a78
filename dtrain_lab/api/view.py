"""ipyparallel's view of a cluster, taking turns with its cells."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from ipyparallel.client.view import DirectView


class TurnedView(DirectView):  # type: ignore[misc]
    """A `DirectView` whose calls never reach two ranks in another order than a cell does.

    It takes the ranks for itself before a call leaves, waiting for a cell that runs there, and gives them
    back when the last call has been answered. Calls of one view may overlap, as ever.
    """

    def hold_turns(self, take: Callable[[], None], give: Callable[[], None]) -> TurnedView:
        """Use these to take and to give back a turn."""
        self._take, self._give = take, give
        self._calls = 0
        self._counting = threading.Lock()
        return self

    def execute(self, code: str, silent: bool = True, targets: Any = None, block: bool | None = None) -> Any:
        """Run code on the ranks; as `DirectView.execute`."""
        return self._in_turn(lambda: super(TurnedView, self).execute(code, silent, targets, False), block)

    def _really_apply(
        self,
        f: Any,
        args: Any = None,
        kwargs: Any = None,
        targets: Any = None,
        block: bool | None = None,
        track: bool | None = None,
    ) -> Any:
        return self._in_turn(
            lambda: super(TurnedView, self)._really_apply(f, args, kwargs, targets, False, track), block
        )

    def _in_turn(self, call: Callable[[], Any], block: bool | None) -> Any:
        self._begin()
        try:
            result = call()
        except BaseException:
            self._end()
            raise
        result.add_done_callback(lambda _: self._end())
        if block is None:
            block = self.block
        return result.get() if block else result

    def _begin(self) -> None:
        with self._counting:
            if self._calls == 0:
                self._take()
            self._calls += 1

    def _end(self) -> None:
        with self._counting:
            self._calls -= 1
            if self._calls == 0:
                self._give()
