"""What a comparison of a variable says."""

from __future__ import annotations

import pytest

from dtrain_lab.cells.diff import STATISTICS_SYNC, compare, sentence
from dtrain_lab.wire.links.values import Leaf


@pytest.mark.parametrize(
    ("differing", "first", "end"),
    [
        ((1, 2), "model: 0.weight is the first of 2 of 3 parts", "Also different: 0.bias."),
        (
            (0, 1, 2),
            "model: 0.weight is the first of 3 of 3 parts",
            f"The other one is a running statistic of BatchNorm. {STATISTICS_SYNC}",
        ),
        (
            (0,),
            "model: 1.running_mean is the first of 1 of 3 parts",
            f"It is a running statistic of BatchNorm. {STATISTICS_SYNC}",
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


def thing(digest: str, outside: str, path: str = "") -> Leaf:
    return Leaf(path, "object", "Figure", (), digest, outside)


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        (thing("a", "x"), thing("b", "x"), "fig can't be compared: it looks the same on ranks 0–1, but"),
        (thing("", "x"), thing("", "x"), "fig can't be compared"),
        (thing("", ""), thing("", ""), "fig can't be compared"),
        (thing("a", "x"), thing("a", "y"), "fig is the same on ranks 0–1 (1 part compared)."),
        (thing("a", "x"), thing("b", "y"), "fig differs: rank 0 has another Figure"),
        (thing("", "x"), thing("", "y"), "fig differs"),
        (thing("a", ""), thing("b", ""), "fig differs"),  # nothing but its pickle tells it apart
    ],
)
def test_objects_that_look_the_same_are_neither_equal_nor_different(
    one: Leaf, other: Leaf, said: str
) -> None:
    found = compare({0: [one], 1: [other]})
    assert sentence("fig", (0, 1), found, [""] * (1 if found.first else 0)).startswith(said)


def test_what_can_not_be_compared_is_counted_apart() -> None:
    value = Leaf("n", "value", "int", (), "1")
    found = compare({0: [value, thing("a", "x", "fig")], 1: [value, thing("b", "x", "fig")]})
    assert (found.differing, found.opaque) == (0, (("fig", "Figure"),))
    assert sentence("state", (0, 1), found, []) == (
        "state is the same on ranks 0–1 (1 part compared). "
        "Not compared, as processes pickle it differently: fig (Figure)."
    )
