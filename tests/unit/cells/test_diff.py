"""What a comparison of a variable says."""

from __future__ import annotations

import pytest

from dtrain_lab.cells.diff import Leaf, compare, sentence


@pytest.mark.parametrize(
    ("differing", "first", "end"),
    [
        ((1, 2), "model: 0.weight is the first of 2 of 3 parts", "Also different: 0.bias."),
        (
            (0, 1, 2),
            "model: 0.weight is the first of 3 of 3 parts",
            "The other one is a running statistic of BatchNorm, which normally differ "
            "between ranks under DDP.",
        ),
        (
            (0,),
            "model: 1.running_mean is the first of 1 of 3 parts",
            "It is a running statistic of BatchNorm, which normally differ between ranks under DDP.",
        ),
    ],
)
def test_all_that_differs_is_named_and_what_normally_does(
    differing: tuple[int, ...], first: str, end: str
) -> None:
    paths = ("1.running_mean", "0.weight", "0.bias")
    one = [Leaf(path, "tensor", "float32", (2,), "same") for path in paths]
    other = [
        Leaf(path, "tensor", "float32", (2,), "other" if at in differing else "same")
        for at, path in enumerate(paths)
    ]
    told = sentence("model", (0, 1), compare({0: one, 1: other}), ["at most 0.1 apart"])
    assert told.startswith(first)
    assert told.endswith(end)
