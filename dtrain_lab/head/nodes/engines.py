"""ipyparallel's controller on demand: the first request starts it, and has all ranks register with it."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterable
from functools import partial

from dtrain_lab.errors import Conflict
from dtrain_lab.head.membership import Membership
from dtrain_lab.head.nodes.controller import Controller
from dtrain_lab.machine import supervision
from dtrain_lab.text import rank_names
from dtrain_lab.wire import clients, links
from dtrain_lab.wire.kinds import ENDING

QUIET_S = 20.0
"""Timeout for a request, in seconds without any progress."""
CONFIRMED_WITHIN_S = 5.0
"""Maximum wait for the controller's confirmation, which it gives after two heartbeats of an engine."""
POLL_S = 0.02
NO_ANSWER = (
    "A rank can't register while it is stopped, or while its code keeps Python's lock in C. "
    "Interrupt its cell, then try again."
)


class Engines:
    """The controller of a world, and the ranks that have registered with it.

    A cluster without views has no controller: it takes memory, and its heartbeats take time of the ranks.

    Args:
        make: Makes a controller that is not started.
        send: Sends a message to ranks; those that are gone get none.
        membership: State of the world.
        lost: Called when a controller that clients know has ended.
    """

    def __init__(
        self,
        make: Callable[[], Controller],
        send: Callable[[Iterable[int], links.Message], None],
        membership: Membership,
        lost: Callable[[], None],
    ) -> None:
        self._make = make
        self._send = send
        self._membership = membership
        self._lost = lost
        self._controller: Controller | None = None
        self._start: supervision.BackgroundTask | None = None
        self._reports: dict[int, links.Registered] = {}
        self._news = asyncio.Event()

    async def where(self, _: bytes, __: clients.Engines) -> str:
        """Answer a request for the connection of ipyparallel's clients: JSON, with `clients.BEGUN` added.

        Starts the controller if there is none. Returns once all ranks that live are registered.

        Raises:
            Conflict: The world has no ranks, the controller can't start, or a rank does not register.
        """
        if self._membership.state.phase in ("pending", "starting"):
            raise Conflict("The ranks are not there yet.", "Wait until the cluster is ready.")
        controller = self._controller or self._begin()
        # ranks that could not register at an earlier request try again
        again = self._missing()
        for rank in again:
            self._reports.pop(rank, None)
        self._register(again)
        await self._registered(controller)
        await self._confirmed(controller)
        info = json.loads(controller.client_file)
        return json.dumps({**info, clients.BEGUN: 1 + controller.endings})

    def received(self, message: links.Message) -> None:
        """Handle a message of a rank, or of the agent beside which the controller runs."""
        match message:
            case links.RankHello(rank):
                self._reports.pop(rank, None)
                self._register((rank,))
            case links.Registered(rank):
                self._reports[rank] = message
                self._news.set()
            case links.Exited():
                self._ended(message.how or message.last)
            case links.Preloaded(node=0):  # a new agent: the earlier one's controller has ended
                self._ended("The node agent that started it ended.")

    def moved(self) -> None:
        """The world has a new state."""
        self._news.set()

    def close(self) -> None:
        """Restart the controller no more."""
        if self._start is not None:
            self._start.cancel()
        if self._controller is not None:
            self._controller.close()

    # ----

    def _begin(self) -> Controller:
        try:
            controller = self._controller = self._make()
        except OSError as error:
            raise Conflict(
                f"ipyparallel's controller can't start: {error}.",
                "Views need it; cells don't. Set [network] ports in the profile to a range with more ports.",
            ) from None
        self._reports.clear()
        self._start = supervision.here().start_loop("head.controller", partial(self._listen, controller))
        return controller

    async def _listen(self, controller: Controller) -> None:
        await controller.start()
        self._register(range(self._membership.state.size))
        self._news.set()

    def _ended(self, why: str) -> None:
        """The controller has ended: restart it now if clients know it, else at the next request."""
        controller = self._controller
        if controller is None or self._membership.state.phase in ENDING:
            return
        if controller.listens:
            controller.ended()
            self._lost()
            return
        controller.failure = why.strip().rpartition("\n")[2][-500:] or "no reason is known"
        self.close()
        self._controller = None
        self._news.set()

    def _register(self, ranks: Iterable[int]) -> None:
        if self._controller is not None and self._controller.listens:
            self._send(ranks, links.Register(self._controller.engine_file))

    def _missing(self) -> tuple[int, ...]:
        """Ranks that live and are not registered."""
        missing = []
        for member in self._membership.state.members:
            report = self._reports.get(member.rank)
            registered = report is not None and not report.error and report.pid == member.pid
            if not registered and not member.lost:
                missing.append(member.rank)
        return tuple(missing)

    async def _registered(self, controller: Controller) -> None:
        before: tuple[bool, tuple[int, ...]] | None = None
        until = 0.0
        while True:
            self._check(controller)
            now = controller.listens, self._missing()
            if now == (True, ()):
                return
            if now != before:
                before, until = now, time.monotonic() + QUIET_S
            self._news.clear()
            try:
                async with asyncio.timeout(until - time.monotonic()):
                    await self._news.wait()
            except TimeoutError:
                raise _too_late(*now) from None

    def _check(self, controller: Controller) -> None:
        """Check that the controller and all ranks can still come.

        Raises:
            Conflict: They can't.
        """
        if self._membership.state.phase in ENDING:
            raise Conflict("The cluster has ended.", "Start a cluster: %distributed start")
        if controller.failure:
            raise Conflict(
                f"ipyparallel's controller ended as it started: {controller.failure}",
                f"Its log is {controller.log}. Try again; cells don't need it.",
            )
        for rank in self._missing():
            report = self._reports.get(rank)
            if report is not None and report.error:
                raise Conflict(
                    f"Rank {rank} could not register with ipyparallel: {report.error}",
                    f"Try again, or restart it: %distributed restart {rank}",
                )

    async def _confirmed(self, controller: Controller) -> None:
        """Wait until the controller has confirmed all engines to its clients, if it reports that at all."""
        until = time.monotonic() + CONFIRMED_WITHIN_S
        while time.monotonic() < until:
            confirmed = controller.confirmed()
            live = (member.rank for member in self._membership.state.members if not member.lost)
            if all(r in self._reports and confirmed.get(r) == self._reports[r].engine for r in live):
                return
            await asyncio.sleep(POLL_S)


def _too_late(listens: bool, missing: tuple[int, ...]) -> Conflict:
    if not listens:
        return Conflict(
            f"ipyparallel's controller did not start in {QUIET_S:.0f} s.",
            "Try again; cells don't need it.",
        )
    verb = "has" if len(missing) == 1 else "have"
    return Conflict(
        f"{rank_names.sentence_name(missing)} {verb} not registered with ipyparallel in {QUIET_S:.0f} s.",
        NO_ANSWER,
    )
