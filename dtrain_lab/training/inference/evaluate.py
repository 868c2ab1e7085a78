"""`dt.evaluate(model, dataset, metrics)`: metrics over a whole dataset, computed on all ranks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from dtrain_lab.errors import BadRequest
from dtrain_lab.training.inference import model as models
from dtrain_lab.training.inference.arguments import InferenceArguments, agreed
from dtrain_lab.training.inference.batch_shares import Plan, plan
from dtrain_lab.training.inference.inputs import ModelCall, Splitter, placed
from dtrain_lab.training.inference.loop import Loop
from dtrain_lab.training.inference.metrics import Metrics, plain
from dtrain_lab.training.inference.rank_exchange import Ranks, ranks
from dtrain_lab.training.inference.results.gather import gathered
from dtrain_lab.training.inference.results.output_parts import Output, parts, retained


def evaluate(
    model: Callable[..., Any],
    dataset: Any,
    metrics: Any,
    *,
    batch_size: int | None = None,
    collate_fn: Callable[[list[Any]], Any] | None = None,
    num_workers: int = 0,
) -> dict[str, Any]:
    """Compute metrics over a whole dataset, shared among all ranks; a collective.

    Each sample counts once, however many ranks there are: counts are exactly those of one process, other
    values differ by rounding at most. Samples are pairs of inputs and a target, or dicts with `labels`,
    `label`, `targets` or `target`. The model is called as `dt.predict` calls it. The metrics' own states stay
    as they are.

    Args:
        model: as for `dt.predict`.
        dataset: as for `dt.predict`.
        metrics: of torchmetrics (a metric or a collection), a function of (predictions, targets), or a dict
            or list of these. A function is called once, on every rank, with those of all samples, which
            then have to fit into each rank's memory.
        batch_size: samples of a batch; None for 32, and for fewer than 2,048 samples less (a 64th of them).
        collate_fn: makes a batch of a list of samples; None for torch's own.
        num_workers: processes of each rank that load samples.

    Returns:
        On every rank: values by name: of the dict, of a collection, else of the metric's class or the
        function. Those of one element are numbers.

    Raises:
        BadRequest: As for `dt.predict`; the samples have no target, or `metrics` has something else in it.
        PeerFailed: It failed on another rank, which raises what happened.
    """
    here = ranks("dt.evaluate")
    arguments = InferenceArguments(model, dataset, batch_size, collate_fn, num_workers)
    made_metrics: list[Metrics] = []
    batches = agreed(here, arguments, also=lambda: made_metrics.append(Metrics(metrics)))
    models.agree(here, model, whole=False)
    return _Evaluation(here, arguments, plan(batches, here.size), made_metrics[0]).run()


class _Evaluation:
    """One call. Predictions and targets are gathered where a rank has no batch, or for functions."""

    def __init__(self, here: Ranks, arguments: InferenceArguments, todo: Plan, metrics: Metrics) -> None:
        self._here, self._asked, self._plan, self._metrics = here, arguments, todo, metrics
        self._few = here.size > 1 and len(todo.chunks) < here.size
        self._outputs: dict[int, Output] = {}
        self._pairs: dict[int, Any] = {}
        device = models.device(arguments.model) or torch.device("cpu")
        self._device = here.carrier if device.type == "cpu" else device

    def run(self) -> dict[str, Any]:
        model, batches = self._asked.model, self._plan.batches
        self._metrics.to(self._device)
        with models.predicting(model) as forward:
            Loop(
                self._here, self._plan, lambda numbers: self._asked.load(batches, numbers), forward,
                Splitter(model, True), models.device(model), models.in_step(model), self._take,
            ).run()  # fmt: skip
        everything = gathered(self._here, self._plan, self._outputs) if self._metrics.functions else None
        if self._few:
            self._replay()
        results = self._here.everyone(self._metrics.results)[self._here.number]
        return {**results, **self._here.everyone(lambda: self._of_functions(everything))[self._here.number]}

    def _take(self, number: int, predictions: Any, call: ModelCall) -> None:
        if not call.has_target:
            raise BadRequest(
                "dt.evaluate needs samples with a target, but the dataset's samples have no target.",
                "Let the dataset return pairs of inputs and a target, or dicts with labels.",
                code="no_target",
            )
        if self._few:
            self._pairs[number] = retained((predictions, call.target))
        else:
            self._metrics.update(placed(predictions, self._device), placed(call.target, self._device))
        if self._metrics.functions:
            self._outputs[number] = parts((predictions, call.target), len(self._plan.batches.of(number)))

    def _replay(self) -> None:
        """Update every rank's metrics with all (few) batches: a metric without a batch can't be synced."""
        self._metrics.disable_sync()
        pairs: dict[int, Any] = {}
        for some in self._here.exchange(self._pairs):
            pairs.update(some)
        for number in sorted(pairs):
            self._metrics.update(*placed(pairs[number], self._device))

    def _of_functions(self, everything: tuple[Any, Any] | None) -> dict[str, Any]:
        if everything is None:
            return {}
        return {name: plain(function(*everything)) for name, function in self._metrics.functions.items()}
