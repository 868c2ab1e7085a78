"""ipyparallel's views of a cluster, taking turns with its cells."""

from __future__ import annotations

import json
import os
import secrets
import threading
from collections.abc import Callable, Iterable
from typing import Any

from ipyparallel import Client
from ipyparallel.client.view import DirectView

from dtrain_lab.api.portal import Portal
from dtrain_lab.core.wire import doors
from dtrain_lab.errors import Unreachable
from dtrain_lab.machine import ipv6
from dtrain_lab.services.reach import Connection

VIEW_WITHIN_S = 15.0
LOOK_S = 2.0
ATTEMPTS = 4


class TurnedView(DirectView):  # type: ignore[misc]
    """A `DirectView` whose calls never reach two ranks in another order than a cell does.

    It takes the ranks for itself before a call leaves, waiting for a cell that runs there, and gives them
    back when the last call has been answered. Calls of one view may overlap, as ever.
    """

    def hold_turns(
        self, take: Callable[[], None], give: Callable[[], None], lost: Callable[[], bool]
    ) -> TurnedView:
        """Use these to take and to give back a turn; `lost`: calls that left will not be answered."""
        self._take, self._give, self._lost = take, give, lost
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
        return self._get(result) if block else result

    def _get(self, result: Any) -> Any:
        while True:
            try:
                return result.get(timeout=LOOK_S)
            except TimeoutError:
                if result.done():  # the code's own
                    raise
            if self._lost():
                raise Unreachable(
                    "ipyparallel's controller ended while the call ran; another runs now.",
                    "Make the view anew (cluster.view()), and call again. Variables are as they were.",
                )

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


class Views:
    """Makes views of one cluster, over one client.

    Args:
        portal: of this process.
        connection: to the cluster's head.
    """

    def __init__(self, portal: Portal, connection: Connection) -> None:
        self._portal = portal
        self._connection = connection
        self._client: Any = None
        self._begun = 0
        """Which controller the client is connected to."""

    def of(self, ranks: Iterable[int], size: int) -> TurnedView:
        """A view of these ranks; waits until all of the world are registered with ipyparallel."""
        if self._client is not None and self._portal.call(self._count()) != self._begun:
            self.close()
        for attempt in range(ATTEMPTS):
            if self._client is None:
                self._client = Client(
                    connection_info=self._portal.call(self._where()), context=ipv6.context()
                )
            try:
                self._client.wait_for_engines(size, timeout=VIEW_WITHIN_S, interactive=False)
                break
            except TimeoutError:
                # one that is not told of the engines while it connects never hears of them: another is
                self._client.close()
                self._client = None
                if attempt == ATTEMPTS - 1:
                    raise
        plain = self._client[list(ranks)]
        turn = f"view.{secrets.token_hex(6)}"
        view = TurnedView(client=self._client, socket=plain._socket, targets=plain.targets)
        begun = self._begun
        return view.hold_turns(
            lambda: self._take(turn, tuple(plain.targets)),
            lambda: self._portal.post(self._connection.ask(doors.GiveTurn(turn))),
            lambda: self._portal.call(self._count()) != begun,
        )

    async def _count(self) -> int:
        return int(json.loads(await self._connection.ask(doors.Engines()))[doors.BEGUN])

    async def _where(self) -> dict[str, Any]:
        """ipyparallel's connection, with addresses that lead to the controller from here."""
        info: dict[str, Any] = json.loads(await self._connection.ask(doors.Engines()))
        self._begun = info.pop(doors.BEGUN)
        address = info["interface"].removeprefix("tcp://").strip("[]")
        for key in [k for k, v in info.items() if isinstance(v, int) and not isinstance(v, bool)]:
            near, info[key] = await self._connection.forward(address, info[key])
            info["interface"], info["location"] = f"tcp://{ipv6.host(near)}", near
        return info

    def close(self) -> None:
        """Disconnect the client."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def _take(self, turn: str, ranks: tuple[int, ...]) -> None:
        order = doors.TakeTurn(turn, os.getpid(), ranks)
        try:
            self._portal.call(self._connection.ask(order, None))
        except BaseException:  # also an interrupt: the head must not keep the turn for nobody
            self._portal.post(self._connection.ask(doors.GiveTurn(turn)))
            raise
