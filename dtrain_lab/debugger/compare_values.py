"""Comparison of one expression's value across ranks: groups of equal values and their differences."""

from __future__ import annotations

import base64
import re
from array import array
from collections.abc import Collection, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from dtrain_lab.cells.diff import Comparison, Difference, compare, describe
from dtrain_lab.text import rank_names
from dtrain_lab.text.numbers import number, readable, told_apart
from dtrain_lab.wire.links.values import ValueSummary

LACKS = re.compile(r"\bNameError\b|\bis not defined\b")
"""In the error of a rank that has no variable of that name."""
LONGEST_VALUE = 40
"""Characters of a part's value in a sentence."""
MOST_VALUES = 3
"""Values of a part in a sentence."""


class AcrossGroup(Struct, frozen=True):
    """Ranks with the same value.

    `outlier`: more ranks have another value, or this one is NaN; False if each rank has its own value.
    `text`: the value, or the error if `error` is set; `exact`: the value in full, if its text has fewer
    digits. `norm` and `nans` (number of NaNs) are only known for tensors.
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
    lacks: bool = False
    """Whether the error is that these ranks have no variable of that name."""
    exact: str = ""


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


def wanted_leaf(answers: Mapping[int, ValueSummary]) -> tuple[str, tuple[int, ...]] | None:
    """Choose the part whose numbers are needed to tell how far ranks are apart.

    Args:
        answers: rank → summary of its value.

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
    answers: Mapping[int, ValueSummary],
    errors: Mapping[int, str],
    values: Mapping[int, str | None],
    running: tuple[int, ...] = (),
    waiting: Collection[int] = (),
) -> AcrossRow:
    """Compare an expression's values on all ranks.

    Args:
        expression: the expression that was evaluated.
        answers: rank → summary of its value.
        errors: rank → why it could not be evaluated there.
        values: rank → numbers of the part that `wanted_leaf` chose, as base64 of float64.
        running: ranks on which it could not be evaluated, because they are running.
        waiting: those of them that wait in a collective.
    """
    comparison = _compared(answers)
    unclear = comparison is not None and comparison.first is None and bool(comparison.opaque)
    alike = _alike(answers, by_type=unclear)
    made = _of_values(alike, answers, values)
    made += _of_errors(errors, outlier=bool(made))
    first = comparison.first if comparison is not None else None
    alone = len(alike) == 1 and len(answers) > 1
    opaque = alone and (unclear or any(a.opaque for a in answers.values()))
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


def _alike(answers: Mapping[int, ValueSummary], *, by_type: bool) -> list[list[int]]:
    """Group ranks whose values are equal, or of one type; the largest group comes first."""
    groups: dict[Any, list[int]] = {}
    for rank, found in sorted(answers.items()):
        groups.setdefault(found.type if by_type else _key(found), []).append(rank)
    return sorted(groups.values(), key=lambda ranks: (-len(ranks), ranks[0]))


def _of_values(
    alike: list[list[int]], answers: Mapping[int, ValueSummary], values: Mapping[int, str | None]
) -> list[AcrossGroup]:
    """Describe groups of ranks with the same value; arguments as of `row`."""
    reference = next((values[r] for r in (alike[0] if alike else ()) if values.get(r)), None)
    largest = len(alike[0]) if alike else 0
    whole = any(not _has_nan(answers[ranks[0]]) for ranks in alike)
    shown = [answers[ranks[0]] for ranks in alike]
    short = [found.text for found in shown]
    texts = told_apart(short, [found.exact or found.text for found in shown])
    return [
        _group(
            ranks,
            answers[ranks[0]],
            texts[position],
            len(ranks) < largest or (whole and _has_nan(answers[ranks[0]])),
            _apart(reference, values, ranks) if position else None,
        )
        for position, ranks in enumerate(alike)
    ]


def _of_errors(errors: Mapping[int, str], *, outlier: bool) -> list[AcrossGroup]:
    """Describe groups of ranks with the same error."""
    failures: dict[str, list[int]] = {}
    for rank, message in sorted(errors.items()):
        failures.setdefault(message, []).append(rank)
    return [
        AcrossGroup(tuple(ranks), message, outlier=outlier, error=True, lacks=bool(LACKS.search(message)))
        for message, ranks in failures.items()
    ]


def _compared(answers: Mapping[int, ValueSummary]) -> Comparison | None:
    if len(answers) < 2:
        return None
    return compare({rank: found.leaves for rank, found in answers.items()})


def _key(found: ValueSummary) -> Any:
    """Return a key that is equal for equal values: by their parts, or by their text if they have none."""
    # what an object looks like from outside counts only where it has no digest of its content
    leaves = tuple(replace(leaf, outside="") if leaf.digest else leaf for leaf in found.leaves)
    return (found.type, leaves, _device_free(found))


def _device_free(found: ValueSummary) -> Any:
    if found.tensor is not None:
        return found.tensor.shape, found.tensor.dtype
    return None if found.leaves else found.exact or found.text


def _has_nan(found: ValueSummary) -> bool:
    return (found.tensor is not None and found.tensor.nans > 0) or found.text == "nan"


def _group(
    ranks: list[int], found: ValueSummary, text: str, outlier: bool, max_abs: float | None
) -> AcrossGroup:
    tensor = found.tensor
    return AcrossGroup(
        tuple(ranks),
        text,
        outlier,
        tensor.shape if tensor is not None else None,
        tensor.dtype if tensor is not None else None,
        tensor.device if tensor is not None else None,
        tensor.norm if tensor is not None else None,
        tensor.nans if tensor is not None else 0,
        max_abs,
        exact=found.exact if found.exact != text else "",
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
    """Describe the groups: "412 on all ranks", "1.731 to 1.842", "differs first in layers.11.mlp.w2"."""
    if not groups:
        return _running(running, waiting) if running else "no rank has it"
    if len(groups) == 1:
        one = groups[0]
        everywhere = len(one.ranks) > 1 and not running
        where = "on all ranks" if everywhere else f"on {rank_names.name(one.ranks)}"
        return f"{one.text} ({where})" if one.error else f"{one.text} {where}"
    shapes = {g.shape for g in groups if not g.error}
    first = comparison.first if comparison is not None else None
    if len(shapes) > 1 and None not in shapes:
        return f"shape {_shapes(groups)}"
    if first is not None and first.path:
        return f"differs first in {first.path}{_difference(first)}"
    numbers = [number(g.text) for g in groups if not g.error]
    if all(n is not None for n in numbers) and len(numbers) > 1:
        finite = [g.text for g in groups if not g.error and number(g.text) == number(g.text)]
        ordered = sorted(finite, key=lambda t: number(t) or 0.0)
        return f"{ordered[0]} to {ordered[-1]}" if len(ordered) > 1 else ordered[0] if ordered else "nan"
    return f"{len(groups)} different values"


def _difference(first: Difference) -> str:
    """Describe the first part that differs: a plain value on which ranks, otherwise what it is."""
    leaf = next((leaf for leaf in first.leaves if leaf is not None), None)
    if leaf is None or leaf.kind != "value":
        return f" ({describe(leaf)})"
    exact = [leaf.digest if leaf else "missing" for leaf in first.leaves]
    texts = told_apart(map(readable, exact), exact)
    said = [
        f"{_cut(text)} on {rank_names.name(ranks)}"
        for text, ranks in zip(texts, (first.same, *first.others), strict=True)
    ]
    return f": {_listed(said)}"


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"


def _running(ranks: tuple[int, ...], waiting: Collection[int]) -> str:
    parts = []
    for verb, some in (
        ("run", [r for r in ranks if r not in waiting]),
        ("wait", [r for r in ranks if r in waiting]),
    ):
        if some:
            parts.append(f"{rank_names.name(some)} {verb}{'s' if len(some) == 1 else ''}")
    return f"not looked at: {', '.join(parts)}"


def _shapes(groups: list[AcrossGroup]) -> str:
    """Say which shape is on which ranks: what differs is in the first line."""
    ranks: dict[tuple[int, ...] | None, list[int]] = {}
    for group in groups:
        if not group.error:
            ranks.setdefault(group.shape, []).extend(group.ranks)
    return _listed([f"{_shape(shape)} on {rank_names.name(sorted(some))}" for shape, some in ranks.items()])


def _listed(said: list[str]) -> str:
    more = f" and {len(said) - MOST_VALUES} more" if len(said) > MOST_VALUES else ""
    return f"{', '.join(said[:MOST_VALUES])}{more}"


def _shape(shape: tuple[int, ...] | None) -> str:
    return f"({', '.join(str(n) for n in shape or ())})"
