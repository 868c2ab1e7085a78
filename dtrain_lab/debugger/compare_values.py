"""Comparison of one expression's value across ranks: groups of equal values and their differences."""

from __future__ import annotations

import base64
from array import array
from collections.abc import Collection, Mapping
from typing import Any

from msgspec import Struct

from dtrain_lab.cells.diff import Comparison, Leaf, compare, describe
from dtrain_lab.text import rank_names


class AcrossGroup(Struct, frozen=True):
    """Ranks with the same value.

    `outlier`: more ranks have another value, or this one is NaN; False if each rank has its own value.
    `text`: the value, or the error if `error` is set. `norm` and `nans` (number of NaNs) are
    only known for tensors.
    """

    ranks: tuple[int, ...]
    text: str
    outlier: bool = False
    shape: tuple[int, ...] | None = None
    dtype: str | None = None
    device: str | None = None
    norm: float | None = None
    nans: int = 0
    max_abs: float | None = None
    """Largest absolute difference from the first group, in the first part that differs."""
    error: bool = False


class AcrossRow(Struct, frozen=True):
    """An expression's values on all ranks.

    `same`: every rank was asked, and they agree; while some run, that isn't known. `first`: path of the
    first part that differs; empty if the value has no parts. `differing` and `total` count parts. `text`:
    description of the comparison.
    """

    expression: str
    same: bool
    groups: tuple[AcrossGroup, ...]
    first: str = ""
    differing: int = 0
    total: int = 0
    text: str = ""
    running: tuple[int, ...] = ()
    """Ranks on which it could not be evaluated, because they are running."""
    comparable: bool = True
    """False if values look the same, and it is unknown whether they are equal."""


def wanted_leaf(answers: Mapping[int, dict[str, Any]]) -> tuple[str, tuple[int, ...]] | None:
    """Choose the part whose numbers are needed to tell how far ranks are apart.

    Args:
        answers: rank → result of `rank.debugger.values.value_summary.glance`.

    Returns:
        Path of the part, and one rank of each group; None if no part differs or its numbers aren't
        comparable.
    """
    comparison = _compared(answers)
    if comparison is None or comparison.first is None or not comparison.first.comparable:
        return None
    first = comparison.first
    return first.path, tuple(group[0] for group in (first.same, *first.others))


def row(
    expression: str,
    answers: Mapping[int, dict[str, Any]],
    errors: Mapping[int, str],
    values: Mapping[int, str | None],
    running: tuple[int, ...] = (),
    waiting: Collection[int] = (),
) -> AcrossRow:
    """Compare an expression's values on all ranks.

    Args:
        expression: the expression that was evaluated.
        answers: rank → result of `rank.debugger.values.value_summary.glance`.
        errors: rank → why it could not be evaluated there.
        values: rank → numbers of the part that `wanted_leaf` chose, as base64 of float64.
        running: ranks on which it could not be evaluated, because they are running.
        waiting: those of them that wait in a collective.
    """
    comparison = _compared(answers)
    unclear = comparison is not None and comparison.first is None and bool(comparison.opaque)
    groups: dict[Any, list[int]] = {}
    for rank, found in sorted(answers.items()):
        groups.setdefault(found["type"] if unclear else _key(found), []).append(rank)
    ordered = sorted(groups.values(), key=lambda ranks: (-len(ranks), ranks[0]))
    reference = next((values[r] for r in (ordered[0] if ordered else ()) if values.get(r)), None)
    largest = len(ordered[0]) if ordered else 0
    whole = any(not _has_nan(answers[ranks[0]]) for ranks in ordered)
    made = [
        _group(
            ranks,
            answers[ranks[0]],
            len(ranks) < largest or (whole and _has_nan(answers[ranks[0]])),
            _apart(reference, values, ranks) if position else None,
        )
        for position, ranks in enumerate(ordered)
    ]
    failures: dict[str, list[int]] = {}
    for rank, message in sorted(errors.items()):
        failures.setdefault(message, []).append(rank)
    made += [
        AcrossGroup(tuple(ranks), message, outlier=bool(made), error=True)
        for message, ranks in failures.items()
    ]
    first = comparison.first if comparison is not None else None
    alone = len(ordered) == 1 and len(answers) > 1
    opaque = alone and (unclear or any(a.get("opaque") for a in answers.values()))
    same = len(made) == 1 and not running and not opaque
    return AcrossRow(
        expression,
        same,
        tuple(made),
        first.path if first is not None else "",
        comparison.differing if comparison is not None else 0,
        comparison.total if comparison is not None else 0,
        f"{made[0].text}, not compared" if opaque else _sentence(made, comparison, running, waiting),
        running,
        not opaque,
    )


def _compared(answers: Mapping[int, dict[str, Any]]) -> Comparison | None:
    if len(answers) < 2:
        return None
    return compare(
        {
            rank: [
                Leaf(path, kind, dtype, tuple(shape), *digests)
                for path, kind, dtype, shape, *digests in found["leaves"]
            ]
            for rank, found in answers.items()
        }
    )


def _key(found: dict[str, Any]) -> Any:
    """Return a key that is equal for equal values: by their parts, or by their text if they have none."""
    # what an object looks like from outside counts only where it has no digest of its content
    leaves = [leaf[:5] if leaf[4] else leaf for leaf in found["leaves"]]
    return (found["type"], str(leaves), _device_free(found))


def _device_free(found: dict[str, Any]) -> Any:
    tensor = found.get("tensor")
    return (
        (tuple(tensor["shape"]), tensor["dtype"])
        if tensor
        else found["text"]
        if not found["leaves"]
        else None
    )


def _has_nan(found: dict[str, Any]) -> bool:
    tensor = found.get("tensor") or {}
    return bool(tensor.get("nans")) or found["text"] == "nan"


def _group(ranks: list[int], found: dict[str, Any], outlier: bool, max_abs: float | None) -> AcrossGroup:
    tensor = found.get("tensor") or {}
    return AcrossGroup(
        tuple(ranks),
        found["text"],
        outlier,
        tuple(tensor["shape"]) if tensor else None,
        tensor.get("dtype"),
        tensor.get("device"),
        tensor.get("norm"),
        int(tensor.get("nans", 0)),
        max_abs,
    )


def _apart(reference: str | None, values: Mapping[int, str | None], ranks: list[int]) -> float | None:
    other = next((values[r] for r in ranks if values.get(r)), None)
    if reference is None or other is None:
        return None
    one, two = array("d", base64.b64decode(reference)), array("d", base64.b64decode(other))
    return max((abs(a - b) for a, b in zip(one, two, strict=True)), default=0.0)


def _sentence(
    groups: list[AcrossGroup],
    comparison: Comparison | None,
    running: tuple[int, ...],
    waiting: Collection[int],
) -> str:
    """Describe the groups: "412 on all", "1.731 to 1.842", "differs first in layers.11.mlp.w2"."""
    if not groups:
        return _running(running, waiting) if running else "no rank has it"
    if len(groups) == 1:
        one = groups[0]
        everywhere = len(one.ranks) > 1 and not running
        where = "on all" if everywhere else f"on {rank_names.name(one.ranks)}"
        return f"{one.text} {where}"
    shapes = {g.shape for g in groups if not g.error}
    first = comparison.first if comparison is not None else None
    if len(shapes) > 1 and None not in shapes:
        return f"shape {_shape(groups[0].shape)} on {rank_names.name(groups[0].ranks)}"
    if first is not None and first.path:
        leaf = next((leaf for leaf in first.leaves if leaf is not None), None)
        return f"differs first in {first.path} ({describe(leaf)})"
    numbers = [_number(g.text) for g in groups if not g.error]
    if all(n is not None for n in numbers) and len(numbers) > 1:
        finite = [g.text for g in groups if not g.error and _number(g.text) == _number(g.text)]
        ordered = sorted(finite, key=lambda t: _number(t) or 0.0)
        return f"{ordered[0]} to {ordered[-1]}" if len(ordered) > 1 else ordered[0] if ordered else "nan"
    return f"{len(groups)} different values"


def _running(ranks: tuple[int, ...], waiting: Collection[int]) -> str:
    parts = []
    for verb, some in (
        ("run", [r for r in ranks if r not in waiting]),
        ("wait", [r for r in ranks if r in waiting]),
    ):
        if some:
            parts.append(f"{rank_names.name(some)} {verb}{'s' if len(some) == 1 else ''}")
    return f"not looked at: {', '.join(parts)}"


def _shape(shape: tuple[int, ...] | None) -> str:
    return f"({', '.join(str(n) for n in shape or ())})"


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
