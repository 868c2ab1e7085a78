"""Values of variables as ranks summarize them for a debugger, small enough to compare across ranks."""

from __future__ import annotations

import json

import msgspec
from msgspec import Struct


class Leaf(Struct, frozen=True, array_like=True):
    """One part of a variable, such as a parameter of a model or an entry of a dict.

    `digest` is a hash of the part's bytes; for a plain value it is the value's text. It is empty for an
    object that can't be pickled. `outside`: a hash of what an object prints, and of its plain attributes;
    empty if its type prints nothing of its own, or if its pickle tells enough; `cells.diff.UNSEEN` if it
    can't be had.
    """

    path: str
    kind: str
    dtype: str
    shape: tuple[int, ...]
    digest: str
    outside: str = ""


class TensorFacts(Struct, frozen=True):
    """What is known of a tensor or array. `norm`: None if it has no numbers, or complex ones."""

    shape: tuple[int, ...]
    dtype: str
    device: str
    norm: float | None = None
    nans: int = 0


class ValueSummary(Struct, frozen=True, omit_defaults=True):
    """An expression's value on a rank.

    `text`: short; `exact`: the same with all digits, if the text has fewer. `left`: number of leaves that
    are not sent. `opaque`: a part of the value has nothing to compare but its address.
    """

    type: str
    text: str
    leaves: tuple[Leaf, ...]
    left: int = 0
    opaque: bool = False
    exact: str = ""
    tensor: TensorFacts | None = None


class LeafNumbers(Struct, frozen=True):
    """Numbers of a leaf, as base64 of float64; None if they are not known, or too many to send."""

    values: str | None


class VisibleNames(Struct, frozen=True):
    """Names of the user's that code sees in a place, in the order in which they were defined."""

    module: str
    names: tuple[str, ...]


Looked = ValueSummary | LeafNumbers | VisibleNames


def to_json(looked: Looked) -> str:
    """Return what a rank has seen as JSON, in which a number may be NaN: msgspec would write null.

    Args:
        looked: What it has seen.
    """
    return json.dumps(msgspec.to_builtins(looked))
