"""Handles `diagnose` and trials of advice: measured on idle ranks, queued like a cell.

While a training cell runs, a diagnosis is read from its metrics.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from dtrain_lab.errors import BadRequest, Conflict, NotFound
from dtrain_lab.head.cells.cell_requests import CellRequests
from dtrain_lab.head.cells.cells import Cells
from dtrain_lab.head.membership import Membership
from dtrain_lab.metrics.advice.diagnosis_certainty import with_busy
from dtrain_lab.metrics.advice.measured import Measured, metrics_of, waiting_share
from dtrain_lab.metrics.advice.tried import NUMBERS, change, tried
from dtrain_lab.metrics.diagnosis import BARE, GONE, MODEL_GONE, NO_MODEL, conclude, from_live
from dtrain_lab.wire import clients
from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.wire.kinds import ENDING, CellKind
from dtrain_lab.wire.metrics.diagnosis import Change, Diagnosis, StepTimings, Tried
from dtrain_lab.wire.metrics.verdicts import Advice, Verdict

WITHIN_S = 600.0
LABELS: dict[CellKind, str] = {"diagnosis": "diagnose", "advice_trial": "try"}
"""Names of measurements among the cells."""


WITHOUT_MODEL = {MODEL_GONE: f"{GONE} Until then these are", NO_MODEL: f"{BARE} These are"}
"""Code of a refusal → why the monitor's metrics are the diagnosis, and the beginning of saying so."""


class Loop(Protocol):
    """The training loop that was seen last."""

    @property
    def slow(self) -> Verdict | None:
        """The verdict on a rank that was slow in it, if there was one."""

    @property
    def measured(self) -> Measured | None:
        """Its last metrics; None before any were seen."""

    @property
    def too_busy(self) -> str:
        """That a machine had too few cores for its threads while it ran; empty if all had enough."""

    @property
    def busy_now(self) -> str:
        """The clause that a machine has too few cores for its threads now; empty if all have enough."""

    def diagnosed(self, diagnosis: Diagnosis, size: int) -> None:
        """Replace the monitor's estimates by those of a diagnosis.

        Args:
            diagnosis: The diagnosis.
            size: Number of ranks that took part in it.
        """

    def tried(self, trial: Tried, size: int) -> None:
        """Advice on it was tried.

        Args:
            trial: What it gained.
            size: Number of ranks that took part.
        """

    def cannot_try(self, advice: str) -> None:
        """Advice on it can't be tried.

        Args:
            advice: Its id.
        """


class Diagnoses:
    """Answers requests for a diagnosis, and for trying advice.

    Args:
        requests: Says which ranks can run cells.
        cells: All cells of the world.
        membership: State of the world.
        cluster: Makes the current snapshot of the world.
        loop: The training loop that was seen last.
        advice: Returns the advice on it, with its changes.
        on_result: Called when something was found.
    """

    def __init__(
        self,
        requests: CellRequests,
        cells: Cells,
        membership: Membership,
        cluster: Callable[[], Cluster],
        loop: Loop,
        advice: Callable[[], tuple[Advice, ...]],
        on_result: Callable[[], None],
    ) -> None:
        self._requests = requests
        self._cells = cells
        self._membership = membership
        self._cluster = cluster
        self._loop = loop
        self._advice = advice
        self._on_result = on_result

    async def diagnose(self, client: bytes, order: clients.Diagnose) -> Diagnosis:
        """Run both checks on idle ranks; while a training cell runs, conclude from its metrics instead.

        Args:
            client: Socket identity of the client that waits for the measurement.
            order: The request, with its id in the queue.

        Returns:
            The diagnosis; times in seconds per step.

        Raises:
            BadRequest: No training has run yet, or the model can't be run again.
            Conflict: A cell that does not train is running, or the ranks failed.
        """
        if self._cells.find(order.cell) is None:
            info = self._cluster()
            if info.running:
                if info.metrics.step_s is None:
                    raise Conflict("The running cell is not training.", "Diagnose once it has ended.")
                return from_live(info.metrics, asleep=self._asleep)
        try:
            timings = await self._measured(client, order.cell, "diagnosis", None)
        except BadRequest as error:
            of = self._seen()
            why = WITHOUT_MODEL.get(error.code)
            if why is None or of is None or of.step_s is None:
                raise
            return from_live(metrics_of(of), f"{why} the monitor's metrics of its last steps.", of.asleep)
        of = self._seen()
        waits = of.data_s / of.step_s if of is not None and of.step_s and of.data_s is not None else None
        shown_s = of.step_s if of is not None else None
        late = waiting_share(of) if of is not None else None
        diagnosis = conclude(timings, self._loop.slow, self._asleep, waits, shown_s, late)
        diagnosis = with_busy(diagnosis, self._loop.too_busy, self._loop.busy_now)
        self._loop.diagnosed(diagnosis, len(timings))
        self._on_result()
        return diagnosis

    def _seen(self) -> Measured | None:
        """What was measured of the loop that trained last; a short one is seen only after its end."""
        self._cluster()  # takes the newest samples into account
        return self._loop.measured

    @property
    def _asleep(self) -> float:
        return self._loop.measured.asleep if self._loop.measured is not None else 0.0

    async def try_advice(self, client: bytes, order: clients.TryAdvice) -> Tried:
        """Run steps with a change and without it on idle ranks, and take the change back.

        Args:
            client: Socket identity of the client that waits for the measurement.
            order: The request, with its id in the queue, and the id of the advice.

        Returns:
            The measured gain of the change.

        Raises:
            NotFound: There is no such advice now.
            BadRequest: The change can't be tried.
            Conflict: A cell is running, or the ranks failed.
        """
        info = self._cluster()  # looks at the newest samples
        known_now = self._advice()
        advice = next((a for a in known_now if a.id == order.advice), None)
        if advice is None and order.advice not in NUMBERS:
            raise NotFound(
                f'There is no advice named "{order.advice}".', f"What can be tried: {', '.join(NUMBERS)}."
            )
        # before anything about the loop, whose advice may change until the cell's end
        if info.running and self._cells.find(order.cell) is None:
            raise Conflict("A cell is running.", "Try the change once the cell has ended.")
        if advice is None:
            choices = ", ".join(a.id for a in known_now if change(a) is not None)
            raise NotFound(
                f'There is no advice "{order.advice}" on the loop that trained last.',
                f"What can be tried: {choices}."
                if choices
                else info.metrics.no_advice or "Train some steps first, then ask for advice.",
            )
        wanted = change(advice)
        if wanted is None:
            raise BadRequest(
                f'"{advice.change}" can\'t be tried by itself.', "Make the change in a cell, and compare."
            )
        try:
            timings = await self._measured(client, order.cell, "advice_trial", wanted)
        except BadRequest:
            self._loop.cannot_try(advice.id)
            self._on_result()
            raise
        trial = tried(timings, advice)
        self._loop.tried(trial, len(timings))
        self._on_result()
        return trial

    async def _measured(
        self, client: bytes, name: str, kind: CellKind, change_to_try: Change | None
    ) -> list[StepTimings]:
        """Have all ranks measure, once earlier cells have ended; returns their timings in order of ranks."""
        cell = self._cells.find(name)
        if cell is None:
            ranks = self._requests.usable(None)
            run = clients.Run(
                cell=name, code="", label=LABELS[kind], ranks=ranks, timeout_s=WITHIN_S, kind=kind
            )
            cell = self._cells.diagnose(run, ranks, client, change_to_try)
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        cell.on_end.append(lambda: None if ended.done() else ended.set_result(None))
        if cell.result is None:
            await self._membership.until_done(ended, lambda s: s.phase in ENDING)
        if cell.result is None:
            raise Conflict(self._cluster().summary.text, "Start a cluster: %distributed start")
        timings = [mine for _, mine in sorted((cell.timings or {}).items())]
        if failed := next((r for r in timings if r.error), None):
            hint = (
                "While a training cell runs, it is diagnosed from its own steps."
                if change_to_try is None
                else ""
            )
            raise BadRequest(failed.error, hint, code=failed.code or None)
        if cell.result.failures or len(timings) < len(cell.ranks):
            raise Conflict(
                f"The ranks could not be measured: {cell.result.sentence}", "The cell's output says more."
            )
        return timings
