"""Request handlers for measurements of a cluster's training: advice and diagnosis."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from jupyter_server.auth.decorator import authorized
from msgspec.structs import replace
from tornado import web

from dtrain_lab.server import long_work
from dtrain_lab.server.long_work import Key, Work
from dtrain_lab.server.routes.cluster_route import ClusterRoute
from dtrain_lab.services.connection import requests
from dtrain_lab.wire import clients
from dtrain_lab.wire.site import AdviceToTry, Measurement

KINDS = ("diagnosis", "advice_trial")


class _MeasuringRoute(ClusterRoute):
    async def measure(self, key: Key, begin: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        """Answer 200 with the result of a measurement, or 202 with its state if it takes longer.

        Args:
            key: Its kind, the cluster's id, and the advice that it tries, if it does; joined if it runs.
            begin: Makes the coroutine that measures.

        Raises:
            DtrainError: Nothing could be measured.
        """
        work = self.ours.long_work.join(key, begin)
        if await work.within(long_work.ANSWER_WITHIN_S):
            self.answer(work.result(), 200)
        else:
            self.answer(_measurement(key, work), 202)


class AdviseHandler(_MeasuringRoute):
    """`clusters/{id}/advise`."""

    @web.authenticated
    @authorized
    async def get(self, identity: str) -> None:
        """Return advice on the training loop that runs, or ran last."""
        connection = await self.connection(identity)
        self.answer(await connection.ask(clients.Advise()))

    @web.authenticated
    @authorized
    async def post(self, identity: str) -> None:
        """Try advice: steps are run with the change and without it, and their changes are undone.

        Answers 202 if that takes long; `measurements` has the result.
        """
        advice = self.body(AdviceToTry).advice
        connection = await self.connection(identity)
        key = "advice_trial", connection.id, advice
        await self.measure(key, lambda: requests.try_advice(connection, advice))


class DiagnoseHandler(_MeasuringRoute):
    """`clusters/{id}/diagnose`."""

    @web.authenticated
    @authorized
    async def post(self, identity: str) -> None:
        """Measure what takes a step's time; steps are repeated for it, and their changes are undone.

        Answers 202 if that takes long; `measurements` has the result.
        """
        self.no_body()
        connection = await self.connection(identity)
        await self.measure(("diagnosis", connection.id), lambda: requests.diagnose(connection))


class MeasurementsHandler(ClusterRoute):
    """`clusters/{id}/measurements`."""

    @web.authenticated
    @authorized
    async def get(self, identity: str) -> None:
        """Return the latest diagnosis and trials of advice that requests to this server have begun.

        With `wait=1`, wait until one that runs has ended, if that happens soon.
        """
        connection = await self.connection(identity)
        mine = [(kind, connection.id) for kind in KINDS]
        found = {key: work for key, work in self.ours.long_work.all() if key[:2] in mine}
        if self.flag("wait"):
            await long_work.one_ended(found.values())
        self.answer([_measurement(key, work) for key, work in found.items()])


def _measurement(key: Key, work: Work[Any]) -> Measurement:
    kind, _, *tried = key
    made = Measurement(work.id, "diagnosis", work.state, work.began_at, error=work.error)
    result = work.result() if work.state == "done" else None
    if kind == "diagnosis":
        return replace(made, diagnosis=result)
    return replace(made, kind="advice_trial", advice=tried[0], tried=result)
