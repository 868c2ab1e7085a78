"""Measurements of training on a cluster: history, diagnosis, advice, forecasts."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from dtrain_lab.api.connected import ConnectedCluster
from dtrain_lab.errors import BadRequest, DtrainError
from dtrain_lab.metrics.advice import text, wording
from dtrain_lab.metrics.advice.forecast import check_numbers
from dtrain_lab.services.connection import requests
from dtrain_lab.services.metrics_export import write
from dtrain_lab.services.profiles import files as profiles
from dtrain_lab.services.profiles import speeds
from dtrain_lab.wire import clients
from dtrain_lab.wire.cluster import Cluster as ClusterInfo
from dtrain_lab.wire.metrics.diagnosis import Diagnosis
from dtrain_lab.wire.metrics.verdicts import Advice


def check_advise(
    tried: str | None, nodes: int | None, ranks_per_node: int | None, profile: str | None
) -> None:
    """Check the options of `advise`, for the notebook and the terminal.

    Args:
        tried: The change to measure, if any.
        nodes: Number of nodes of a forecast, if any.
        ranks_per_node: Ranks on each of them.
        profile: Profile of those nodes.

    Raises:
        BadRequest: Two questions at once, options of a forecast without its number of nodes, or numbers of
            nodes or ranks below 1.
    """
    if tried is not None and nodes is not None:
        raise BadRequest("advise can try a change or predict more nodes, not both.", "Leave one of them out.")
    if nodes is None and (ranks_per_node is not None or profile is not None):
        raise BadRequest("--ranks-per-node and --profile apply only to a forecast.", "Add --nodes M.")
    if nodes is not None:
        check_numbers(nodes, ranks_per_node)


class AdviceList(list[dict[str, Any]]):
    """Advice as a list; if it is empty, a notebook shows why.

    Args:
        advice: The advice.
        why: Text for an empty list.
    """

    def __init__(self, advice: Iterable[dict[str, Any]], why: str) -> None:
        super().__init__(advice)
        self._why = why

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        if self or not self._why:
            printer.pretty(list(self))
        else:
            printer.text(f"[]: {self._why}")


def as_dict(advice: Advice) -> dict[str, Any]:
    """Return advice as a dict, with its gain as precisely as it is known: `text`, and whether it is `vague`.

    Args:
        advice: The advice.
    """
    measured = advice if advice.tried is None else advice.tried
    sentences = wording.sentences(advice.change, advice.gain, advice.gain_error, advice.tried)
    vague = wording.is_vague(measured.gain, measured.gain_error)
    return {**msgspec.to_builtins(advice), "text": sentences, "vague": vague}


class Measurements(ConnectedCluster):
    """Measurements of a cluster's training loops; part of `Cluster`."""

    def history(self, since: float = 0.0) -> list[dict[str, Any]]:
        """Return the metric history, oldest first: one point per second while a training loop runs.

        Args:
            since: Seconds since 1970.
        """
        return self._portal.call(self._history(since))

    async def history_async(self, since: float = 0.0) -> list[dict[str, Any]]:
        """Async twin of `history`."""
        return await self._portal.wrap(self._history(since))

    async def _history(self, since: float) -> list[dict[str, Any]]:
        return [msgspec.to_builtins(point) for point in await self.ask(clients.ReadHistory(since))]

    def export(self, path: str | Path) -> Path:
        """Write the metric history to a file.

        Args:
            path: A `.csv` or `.json` file, or a folder for a TensorBoard event file.

        Returns:
            Path of the file.

        Raises:
            BadRequest: The suffix names no known format.
        """
        points = self._portal.call(self.ask(clients.ReadHistory(0.0)))
        return write(points, Path(path))

    async def export_async(self, path: str | Path) -> Path:
        """Async twin of `export`."""
        return await asyncio.to_thread(self.export, path)

    def diagnose(self) -> Diagnosis:
        """Measure what takes a step's time, by running it without communication and without loading data.

        Between cells, the last training step is repeated some dozens of times, and everything that it changes
        is restored. While a training cell runs, its own metrics are used instead.

        Raises:
            BadRequest: No training has run yet, or the model can't be run again.
            Conflict: A cell that does not train is running, or a rank failed.
        """
        return self._portal.call(requests.diagnose(self._connection))

    async def diagnose_async(self) -> Diagnosis:
        """Async twin of `diagnose`."""
        return await self._portal.wrap(requests.diagnose(self._connection))

    def advise(self) -> list[dict[str, Any]]:
        """Return advice on the training loop that runs, or ran last; nothing is applied.

        Returns:
            Best first: `id`, `change`, `gain` (predicted throughput over today's: 1.6 is 60 % more),
            `gain_error`, `vague` (whether the gain is too uncertain for a number), `text` (change
            and gain in sentences), `cost`, `diff` (of the cell; empty if its loop is not understood),
            `values`.
            Empty if nothing surely helps, or nothing was measured yet; a notebook shows why then.
        """
        return self._portal.call(self._advise())

    async def advise_async(self) -> list[dict[str, Any]]:
        """Async twin of `advise`."""
        return await self._portal.wrap(self._advise())

    async def _advise(self) -> list[dict[str, Any]]:
        advice = [as_dict(item) for item in await self.ask(clients.Advise())]
        info: ClusterInfo | None = None if advice else await self.ask(clients.Info())
        return AdviceList(advice, "" if info is None else "\n".join(text.lines((), info)))

    def forecast(
        self, nodes: int, ranks_per_node: int | None = None, profile: str | None = None
    ) -> dict[str, Any]:
        """Predict the loop that trains, or trained last, on more nodes, with the same batch on each rank.

        Args:
            nodes: Number of nodes, at least 2.
            ranks_per_node: Ranks on each; by default as many as on a node of this cluster.
            profile: Profile of those nodes, whose network `profile check` has measured; by default this
                cluster's.

        Returns:
            `gain` (throughput over today's) and `gain_error`, `step_s`, `transfer_s`, `text`.

        Raises:
            NotFound: There is no such profile.
            BadRequest: Something that the prediction needs is unknown.
        """
        return self._portal.call(self._forecast(nodes, ranks_per_node, profile))

    async def forecast_async(
        self, nodes: int, ranks_per_node: int | None = None, profile: str | None = None
    ) -> dict[str, Any]:
        """Async twin of `forecast`.

        Args:
            nodes: Number of nodes, at least 2.
            ranks_per_node: Ranks on each; by default as many as on a node of this cluster.
            profile: Profile of those nodes; by default this cluster's.
        """
        return await self._portal.wrap(self._forecast(nodes, ranks_per_node, profile))

    async def _forecast(self, nodes: int, ranks_per_node: int | None, profile: str | None) -> dict[str, Any]:
        check_numbers(nodes, ranks_per_node)
        info: ClusterInfo = await self.ask(clients.Info())
        each = ranks_per_node or max(1, info.world.size // max(1, len(info.nodes)))
        try:
            mine = speeds.of(profiles.load(info.profile))
        except DtrainError:  # the profile was deleted or broken after the cluster's start
            mine = None
        speed = speeds.of(profiles.load(profile)) if profile is not None else mine
        forecast = await self.ask(clients.ForecastNodes(nodes, nodes * each, speed, mine))
        fields: dict[str, Any] = msgspec.to_builtins(forecast)
        return fields

    def try_advice(self, advice: str) -> dict[str, Any]:
        """Measure the gain of advice: steps are run with and without the change, and undone.

        Args:
            advice: `id` of the advice, such as "accumulate".

        Returns:
            `gain` and `gain_error` as measured, `predicted` and `predicted_error`, `steps` (batches that were
            timed with the change) and `text`.

        Raises:
            NotFound: There is no such advice now.
            BadRequest: The change can't be tried on this model.
            Conflict: A cell is running, or a rank failed.
        """
        return self._portal.call(self._try_advice(advice))

    async def try_advice_async(self, advice: str) -> dict[str, Any]:
        """Async twin of `try_advice`."""
        return await self._portal.wrap(self._try_advice(advice))

    async def _try_advice(self, advice: str) -> dict[str, Any]:
        trial: dict[str, Any] = msgspec.to_builtins(await requests.try_advice(self._connection, advice))
        return trial
