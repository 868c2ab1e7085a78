"""Metrics of `dt.evaluate`: those of torchmetrics, and functions of predictions and targets."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Mapping
from typing import Any

import torch

from dtrain_lab.errors import BadRequest

Function = Callable[[Any, Any], Any]


class Metrics:
    """Metrics by name. The user's own objects are copied, and keep their state.

    Args:
        metrics: one, or a dict or list of them: metrics and collections of torchmetrics, and functions.

    Raises:
        BadRequest: One of them is something else, there is none, or two have the same name.
    """

    def __init__(self, metrics: Any) -> None:
        self.functions: dict[str, Function] = {}
        self._stateful: dict[str, Any] = {}
        for name, metric in _named(metrics):
            if _is_stateful(metric):
                self._stateful[name] = copy.deepcopy(metric)
                self._stateful[name].reset()
            elif callable(metric) and not isinstance(metric, type):
                self.functions[name] = metric
            else:
                raise _refused(name, metric)

    @property
    def names(self) -> list[str]:
        """The names, in a fixed order: all ranks have to agree."""
        return [*self._stateful, *self.functions]

    def to(self, device: torch.device) -> None:
        """Move states to a device."""
        for metric in self._stateful.values():
            metric.to(device)

    def update(self, predictions: Any, targets: Any) -> None:
        """Update the metrics with a batch.

        Args:
            predictions: the model's output for the batch.
            targets: the batch's targets.
        """
        for metric in self._stateful.values():
            metric.update(predictions, targets)

    def disable_sync(self) -> None:
        """Compute from this rank's states only, from now on."""
        for metric in self._stateful.values():
            for part in metric.modules():
                if _is_stateful(part):
                    part.distributed_available_fn = lambda: False

    def results(self) -> dict[str, Any]:
        """Values of the metrics with a state; a collective, unless `disable_sync` was called."""
        by_name: dict[str, Any] = {}
        for name, metric in self._stateful.items():
            value = metric.compute()
            if name == _collection_name(metric):
                by_name.update({key: plain(part) for key, part in value.items()})
            else:
                by_name[name] = plain(value)
        return by_name


def plain(value: Any) -> Any:
    """A value for the user: a number for a tensor of one element, other tensors on the CPU."""
    if isinstance(value, torch.Tensor):
        return value.item() if value.dim() == 0 or value.numel() == 1 else value.detach().cpu()
    if isinstance(value, Mapping):
        return {name: plain(part) for name, part in value.items()}
    return value


def _named(metrics: Any) -> list[tuple[str, Any]]:
    if isinstance(metrics, Mapping) and not _is_stateful(metrics):
        named = [(str(name), metric) for name, metric in metrics.items()]
    else:
        some = metrics if isinstance(metrics, list | tuple) else [metrics]
        named = [(_name(metric), metric) for metric in some]
    if not named:
        raise BadRequest(
            "dt.evaluate has no metric to compute.", "Pass a metric of torchmetrics.", code="no_metric"
        )
    names = [name for name, _ in named]
    for name in names:
        if names.count(name) > 1:
            raise BadRequest(f"Two metrics are called {name}.", "Name them: pass a dict.", code="two_metrics")
    return named


def _name(metric: Any) -> str:
    return _collection_name(metric) or str(getattr(metric, "__name__", type(metric).__name__))


def _refused(name: str, metric: Any) -> BadRequest:
    """The error of something that is not a metric."""
    kind = type(metric).__name__
    if isinstance(metric, type):
        return BadRequest(
            f"dt.evaluate: {metric.__name__} is a class, not a metric.",
            f"Pass an instance of it: {metric.__name__}(…).",
            code="not_a_metric",
        )
    given = f"{metric!r}" if isinstance(metric, str | int | float | None) else f"an object of type {kind}"
    where = "" if name == kind else f", under the name {name},"
    return BadRequest(
        f"dt.evaluate: {given}{where} is not a metric.",
        "Pass metrics of torchmetrics, or functions of (predictions, targets).",
        code="not_a_metric",
    )


def _collection_name(metric: Any) -> str:
    """Key of a collection without a name: its metrics have names."""
    return "MetricCollection" if _is_stateful(metric) and hasattr(metric, "compute_groups") else ""


def _is_stateful(metric: Any) -> bool:
    torchmetrics = sys.modules.get("torchmetrics")  # it is loaded if a metric exists
    return torchmetrics is not None and isinstance(
        metric, torchmetrics.Metric | torchmetrics.MetricCollection
    )
