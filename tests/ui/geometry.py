"""Where things lie on a page: below each other, beside their labels, inside their parts, and how large."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any, NamedTuple

MEASURE = Path(__file__).with_suffix(".js").read_text()
CHECKS = ("stacked", "beside", "cut", "overlap", "sideways", "target", "stray")
COLOURS = ("contrast",)
"""What another theme may break: text against what it stands on."""
SIDEWAYS = (
    ".jp-DtrainJob-code",
    ".jp-DtrainJob-code *",
    ".jp-DtrainOutput-failure",
    "[data-dtrain-rank] *",
    "pre",
    ".cm-scroller",
)
"""What scrolls sideways by design: code and tables, whose lines are not to be broken."""
EDGE = 1.5
"""Pixels that rounding may take."""


class Fault(NamedTuple):
    """Something that lies wrongly. `where`: a selector, as far as it has a name; `what`: in words."""

    check: str
    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.check}: {self.where}: {self.what}"


def faults_of(root: Any, checks: Sequence[str] = CHECKS) -> list[Fault]:
    """Everything that lies wrongly in a part of a page.

    Args:
        root: Playwright's locator of the part.
        checks: of `CHECKS` and `COLOURS`.
    """
    found = root.evaluate(
        f"(root, [checks, sideways]) => ({MEASURE})(root, checks, sideways)", [list(checks), list(SIDEWAYS)]
    )
    return [Fault(**fault) for fault in found]


def assert_stacked(lines: Sequence[Any]) -> None:
    """Each of these locators lies below the one before."""
    for above, below in pairwise(lines):
        a, b = above.bounding_box(), below.bounding_box()
        assert b["y"] >= a["y"] + a["height"] - EDGE, f"{below} lies beside {above}: {a}, {b}"


def assert_inside(parent: Any, children: Sequence[Any]) -> None:
    """None of these locators reaches out of its parent."""
    p = parent.bounding_box()
    for child in children:
        c = child.bounding_box()
        inside = (
            c["x"] >= p["x"] - EDGE
            and c["y"] >= p["y"] - EDGE
            and c["x"] + c["width"] <= p["x"] + p["width"] + EDGE
            and c["y"] + c["height"] <= p["y"] + p["height"] + EDGE
        )
        assert inside, f"{child} reaches out of {parent}: {c}, {p}"


def assert_level(elements: Sequence[Any]) -> None:
    """The middles of these locators are at one height."""
    middles = [box["y"] + box["height"] / 2 for box in (each.bounding_box() for each in elements)]
    assert max(middles) - min(middles) <= EDGE, f"{elements} have their middles at {middles}"


def assert_no_overlap(elements: Sequence[Any]) -> None:
    """No two of these locators cover the same pixels."""
    for one, other in combinations(elements, 2):
        a, b = one.bounding_box(), other.bounding_box()
        wide = min(a["x"] + a["width"], b["x"] + b["width"]) - max(a["x"], b["x"])
        high = min(a["y"] + a["height"], b["y"] + b["height"]) - max(a["y"], b["y"])
        assert wide <= EDGE or high <= EDGE, f"{one} and {other} overlap by {wide} x {high} px"


def assert_targets(root: Any) -> None:
    """What can be clicked has at least 24 x 24 pixels; a link in a sentence is as high as its line."""
    _assert_none(root, "target")


def assert_nothing_cut(root: Any) -> None:
    """All text is shown; what ends in an ellipsis has a title."""
    _assert_none(root, "cut")


def assert_no_sideways_scroll(root: Any) -> None:
    """Nothing but code, tables and a job's charts scrolls sideways."""
    _assert_none(root, "sideways")


def _assert_none(root: Any, check: str) -> None:
    found = faults_of(root, (check,))
    assert not found, "\n".join(map(str, found))
