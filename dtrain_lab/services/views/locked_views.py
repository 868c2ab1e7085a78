"""ipyparallel views of a cluster whose calls are queued with its cells."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import threading
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, Protocol, TypeVar

from ipyparallel import Client
from ipyparallel.client.view import DirectView

from dtrain_lab.errors import DtrainError, Unreachable
from dtrain_lab.machine import processes
from dtrain_lab.machine.net import ipv6
from dtrain_lab.services.connection import Connection
from dtrain_lab.wire import clients

T = TypeVar("T")
VIEW_WITHIN_S = 15.0
POLL_S = 2.0
ATTEMPTS = 4


class LockedView(DirectView):  # type: ignore[misc]
    """A `DirectView` whose calls and the cluster's cells reach all ranks in the same order.

    It locks its ranks before a call is sent, which waits for cells that run there, and releases them when the
    last call has been answered. Calls of one view may overlap, as in ipyparallel.
    """

    def lock_with(
        self, acquire: Callable[[], None], release: Callable[[], None], lost: Callable[[], bool]
    ) -> LockedView:
        """Set the functions that lock and release the ranks.

        Args:
            acquire: Waits for the lock.
            release: Releases the ranks.
            lost: Whether sent calls can't be answered any more.
        """
        self._acquire, self._release, self._lost = acquire, release, lost
        self._calls = 0
        self._counting = threading.Lock()
        return self

    def execute(self, code: str, silent: bool = True, targets: Any = None, block: bool | None = None) -> Any:
        """Run code on the ranks, as `DirectView.execute` does.

        Args:
            code: The code.
            silent: Whether the ranks publish nothing about it.
            targets: Engines to run it on; None for those of the view.
            block: Whether to wait for the results; None for the setting of the view.
        """
        return self._locked(lambda: super(LockedView, self).execute(code, silent, targets, False), block)

    def _really_apply(
        self,
        f: Any,
        args: Any = None,
        kwargs: Any = None,
        targets: Any = None,
        block: bool | None = None,
        track: bool | None = None,
    ) -> Any:
        return self._locked(
            lambda: super(LockedView, self)._really_apply(f, args, kwargs, targets, False, track), block
        )

    def _locked(self, call: Callable[[], Any], block: bool | None) -> Any:
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
                return result.get(timeout=POLL_S)
            except TimeoutError:
                if result.done():  # the code's own exception
                    raise
            if self._lost():
                raise Unreachable(
                    "ipyparallel's controller ended while the call ran; another runs now.",
                    "Create a new view with cluster.view() and call again. Variables are kept.",
                )

    def _begin(self) -> None:
        with self._counting:
            if self._calls == 0:
                self._acquire()
            self._calls += 1

    def _end(self) -> None:
        with self._counting:
            self._calls -= 1
            if self._calls == 0:
                self._release()


class Loop(Protocol):
    """The loop of the connection, for threads."""

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the loop, and wait for its result."""

    def post(self, work: Coroutine[Any, Any, Any]) -> None:
        """Run a coroutine in the loop without waiting for it."""


class Views:
    """Creates views of one cluster, which share one ipyparallel client.

    Args:
        loop: The loop of the connection.
        connection: Connection to the cluster's head.
    """

    def __init__(self, loop: Loop, connection: Connection) -> None:
        self._loop = loop
        self._connection = connection
        self._client: Any = None
        self._held: set[str] = set()
        """Locks that are held at a head on another machine."""
        self._begun = 0
        """Number of the controller that the client is connected to."""

    def of(self, ranks: Iterable[int], size: int) -> LockedView:
        """Return a view of these ranks, once all ranks of the world are registered with ipyparallel.

        Args:
            ranks: The ranks.
            size: Number of ranks of the world.
        """
        if self._client is not None and self._loop.call(self._count()) != self._begun:
            self.close()
        for attempt in range(ATTEMPTS):
            if self._client is None:
                self._client = Client(connection_info=self._loop.call(self._where()), context=ipv6.context())
            try:
                self._client.wait_for_engines(size, timeout=VIEW_WITHIN_S, interactive=False)
                break
            except TimeoutError:
                # a client that misses the engines while it connects never learns of them: make another client
                self._client.close()
                self._client = None
                if attempt == ATTEMPTS - 1:
                    raise
        plain = self._client[list(ranks)]
        lock = f"view.{secrets.token_hex(6)}"
        view = LockedView(client=self._client, socket=plain._socket, targets=plain.targets)
        begun = self._begun
        return view.lock_with(
            lambda: self._acquire(lock, tuple(plain.targets)),
            lambda: self._release(lock),
            lambda: self._loop.call(self._count()) != begun,
        )

    def _release(self, lock: str) -> None:
        self._held.discard(lock)
        self._loop.post(self._connection.ask(clients.ReleaseRanks(lock)))

    async def _renew(self, order: clients.AcquireRanks) -> None:
        """Renew a lock while it is held: a head on another machine can't watch this process."""
        while True:
            await asyncio.sleep(clients.RANKS_HELD_S / 4)
            if order.name not in self._held or self._connection.closed:
                return
            with contextlib.suppress(DtrainError):  # the connection is restored, or the lock expires
                await self._connection.ask(order, None)

    async def _count(self) -> int:
        return int((await self._info())[clients.BEGUN])

    async def _info(self) -> dict[str, Any]:
        """Return ipyparallel's connection info, once all ranks are registered; the head limits the wait."""
        info: dict[str, Any] = json.loads(await self._connection.ask(clients.Engines(), None))
        return info

    async def _where(self) -> dict[str, Any]:
        """Return the connection info, with local addresses that lead to the controller."""
        info = await self._info()
        self._begun = info.pop(clients.BEGUN)
        address = info["interface"].removeprefix("tcp://").strip("[]")
        for key in [k for k, v in info.items() if isinstance(v, int) and not isinstance(v, bool)]:
            near, info[key] = await self._connection.forward(address, info[key])
            info["interface"], info["location"] = f"tcp://{ipv6.host(near)}", near
        return info

    def close(self) -> None:
        """Close the client."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def _acquire(self, lock: str, ranks: tuple[int, ...]) -> None:
        order = clients.AcquireRanks(lock, os.getpid(), ranks, processes.system())
        try:
            self._loop.call(self._connection.ask(order, None))
            if not self._connection.presence.sees_clients:
                self._held.add(lock)
                self._loop.post(self._renew(order))
        except BaseException:  # also an interrupt: release the ranks
            self._loop.post(self._connection.ask(clients.ReleaseRanks(lock)))
            raise
