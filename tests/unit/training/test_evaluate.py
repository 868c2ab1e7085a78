"""`dt.evaluate` in one process, and the names and values of metrics."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.data import TensorDataset
from torchmetrics import MeanMetric, MeanSquaredError, MetricCollection
from torchmetrics.classification import MulticlassAccuracy, MulticlassAUROC, MulticlassConfusionMatrix

import dtrain_lab as dt
from dtrain_lab.errors import BadRequest
from dtrain_lab.training.inference.metrics import Metrics

X = torch.randn(57, 4, generator=torch.Generator().manual_seed(0))
Y = torch.arange(57) % 3
DATA = TensorDataset(X, Y)
TWO = MetricCollection([MulticlassAccuracy(3), MulticlassAUROC(3)])


@pytest.fixture
def net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 3), nn.Dropout(0.5))


def right(predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    return (predictions.argmax(1) == targets).sum()


def test_values_are_those_of_the_whole_set(net: nn.Module) -> None:
    predictions = dt.predict(net, DATA, batch_size=7)
    metrics = {
        "accuracy": MulticlassAccuracy(3, average="micro"),
        "auroc": MulticlassAUROC(3),
        "confusion": MulticlassConfusionMatrix(3),
    }
    found = dt.evaluate(net, DATA, {**metrics, "right": right}, batch_size=7)
    assert found["right"] == int(right(predictions, Y))
    assert found["accuracy"] == pytest.approx(found["right"] / 57)
    assert found["auroc"] == pytest.approx(float(metrics["auroc"](predictions, Y)))
    assert torch.equal(found["confusion"], metrics["confusion"](predictions, Y))
    assert net.training


@pytest.mark.parametrize(
    ("metrics", "names"),
    [
        (MulticlassAccuracy(3), ["MulticlassAccuracy"]),
        (right, ["right"]),
        ([MulticlassAccuracy(3), right], ["MulticlassAccuracy", "right"]),
        (
            MetricCollection([MulticlassAccuracy(3), MulticlassAUROC(3)]),
            ["MulticlassAccuracy", "MulticlassAUROC"],
        ),
        (MetricCollection({"a": MulticlassAccuracy(3)}, prefix="val_"), ["val_a"]),
        ({"all": MetricCollection({"a": MulticlassAccuracy(3)})}, ["all"]),
    ],
)
def test_names_of_values(net: nn.Module, metrics: Any, names: list[str]) -> None:
    assert list(dt.evaluate(net, DATA, metrics)) == names


def test_the_users_metric_keeps_its_state(net: nn.Module) -> None:
    mine = MulticlassAccuracy(3, average="micro")
    mine.update(torch.tensor([0]), torch.tensor([0]))
    dt.evaluate(net, DATA, mine)
    assert float(mine.compute()) == 1.0


def test_samples_that_are_dicts() -> None:
    data = [{"x": x, "labels": y} for x, y in zip(X, Y, strict=True)]

    def model(x: torch.Tensor) -> torch.Tensor:
        return x[:, :3]

    found = dt.evaluate(model, data, right)
    assert found == {"right": int(right(X[:, :3], Y))}


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda n: dt.evaluate(n, X, right),
            "needs samples with a target, but the dataset's samples have no target",
        ),
        (lambda n: dt.evaluate(n, DATA, "accuracy"), "dt.evaluate: 'accuracy' is not a metric"),
        (
            lambda n: dt.evaluate(n, DATA, {"acc": MulticlassAccuracy}),
            "MulticlassAccuracy is a class, not a metric",
        ),
        (lambda n: dt.evaluate(n, DATA, None), "dt.evaluate: None is not a metric"),
        (lambda n: dt.evaluate(n, DATA, {"f1": [1]}), "an object of type list, under the name f1, is not"),
        (lambda n: dt.evaluate(n, DATA, {}), "no metric to compute"),
        (lambda n: dt.evaluate(n, DATA, [right, right]), "Two metrics are called right"),
        (lambda n: dt.evaluate(n, [], right), "is empty"),
    ],
)
def test_bad_input_is_told_in_a_sentence(net: nn.Module, call: Any, words: str) -> None:
    with pytest.raises(BadRequest, match=words):
        call(net)


def test_metrics_kept_apart_ask_no_other_rank() -> None:
    made = Metrics({"nested": MetricCollection({"m": MeanSquaredError()}), "mean": MeanSquaredError()})
    made.disable_sync()
    made.update(torch.ones(2), torch.zeros(2))
    assert made.results() == {"nested": {"m": 1.0}, "mean": 1.0}
    assert MeanMetric().distributed_available_fn is not None
