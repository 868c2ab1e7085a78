"""The `__repr__` of objects, which is the user's code: called only where pickles tell too little, bounded."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from dtrain_lab.cells.diff import UNSEEN, compare, undecided, with_appearance
from dtrain_lab.rank.data import fingerprint
from dtrain_lab.wire.links.values import Leaf

PRINTED: list[str] = []
GO_ON = threading.Event()


class Prints:
    """An object whose `__repr__` has a side effect."""

    def __init__(self, what: str) -> None:
        self.what = what

    def __repr__(self) -> str:
        PRINTED.append(self.what)
        return f"Prints({self.what})"


class Number(float):
    """A number that prints by itself."""

    def __repr__(self) -> str:
        PRINTED.append("number")
        return "Number()"


class Hangs:
    """An object that prints only when somebody lets it."""

    def __repr__(self) -> str:
        GO_ON.wait()
        return "Hangs()"

    def __reduce__(self) -> Any:
        raise TypeError("it can't be pickled")


class Fails(Hangs):
    def __repr__(self) -> str:
        raise ValueError("not ready")


@pytest.fixture(autouse=True)
def printed() -> Iterator[list[str]]:
    PRINTED.clear()
    GO_ON.clear()
    yield PRINTED
    GO_ON.set()


def told(monkeypatch: pytest.MonkeyPatch, value: Any) -> list[Leaf]:
    monkeypatch.setattr(fingerprint, "_value", lambda _: value)
    return fingerprint.leaves("x")


def test_values_are_compared_without_printing_them(
    monkeypatch: pytest.MonkeyPatch, printed: list[str]
) -> None:
    one, other = ({"a": Prints("a"), "n": Number(0.5)}, {"a": Prints("a"), "n": Number(0.5)})
    found = {rank: told(monkeypatch, value) for rank, value in enumerate((one, other))}
    assert undecided(found) == []
    assert compare(found).differing == 0
    assert [leaf.digest for leaf in found[0] if leaf.kind == "value"] == ["0.5"]
    assert printed == []


def test_objects_whose_pickles_differ_are_printed(
    monkeypatch: pytest.MonkeyPatch, printed: list[str]
) -> None:
    values = (Prints("a"), Prints("b"))
    found = {rank: told(monkeypatch, value) for rank, value in enumerate(values)}
    assert undecided(found) == [""]
    for rank, value in enumerate(values):
        monkeypatch.setattr(fingerprint, "_value", lambda _, value=value: value)
        found[rank] = with_appearance(found[rank], fingerprint.appearances("x", [""]))
    assert printed == ["a", "b"]
    assert compare(found).differing == 1
    assert compare({0: found[0], 1: found[0]}).differing == 0


@pytest.mark.parametrize("value", [Hangs(), Fails()], ids=["too slow", "fails"])
def test_an_object_that_can_not_be_printed_is_not_compared(
    monkeypatch: pytest.MonkeyPatch, value: Any
) -> None:
    leaves = told(monkeypatch, {"fig": value, "n": 1})
    found = {0: leaves, 1: leaves}
    assert undecided(found) == ["fig"]
    seen = fingerprint.appearances("x", ["fig"], within_s=0.05)
    assert seen == {"fig": UNSEEN}
    result = compare({rank: with_appearance(mine, seen) for rank, mine in found.items()})
    assert (result.differing, result.opaque) == (0, (("fig", type(value).__name__),))
