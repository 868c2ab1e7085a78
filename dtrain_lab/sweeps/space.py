"""Search spaces: ranges and lists of values, from Python, JSON and text, parsed without `eval`."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from dtrain_lab.errors import BadRequest
from dtrain_lab.jobs.command_line_values import typed_list, typed_value
from dtrain_lab.sweeps import plain_values
from dtrain_lab.text import suggestions

ENDLESS = frozenset({"nan", "inf", "infinity"})
CALL = re.compile(r"\s*([A-Za-z_]\w*)\s*\((.*)\)\s*", re.DOTALL)
LOW_HIGH = 'Write it as "{name}(low, high)".'


class Uniform(Struct, frozen=True):
    """Numbers from `low` to `high`, all equally likely."""

    low: float
    high: float

    def __str__(self) -> str:
        return f"uniform({self.low!r}, {self.high!r})"


class LogUniform(Struct, frozen=True):
    """Numbers from `low` to `high`, each order of magnitude equally likely."""

    low: float
    high: float

    def __str__(self) -> str:
        return f"loguniform({self.low!r}, {self.high!r})"


class RandInt(Struct, frozen=True):
    """Whole numbers from `low` to `high`, both included."""

    low: int
    high: int

    def __str__(self) -> str:
        return f"randint({self.low}, {self.high})"


class Choices(Struct, frozen=True):
    """The values of a list."""

    values: tuple[Any, ...]


Range = Uniform | LogUniform | RandInt
Domain = Range | Choices
Space = dict[str, Domain]


def uniform(low: float, high: float) -> Uniform:
    """Return the range of numbers from `low` to `high`, all equally likely.

    Raises:
        BadRequest: `low` is not below `high`.
    """
    return Uniform(*_ordered("uniform", _number("uniform", low), _number("uniform", high)))


def loguniform(low: float, high: float) -> LogUniform:
    """Return the range of numbers from `low` to `high`, each order of magnitude equally likely.

    Raises:
        BadRequest: `low` is not above 0, or not below `high`.
    """
    domain = LogUniform(*_ordered("loguniform", _number("loguniform", low), _number("loguniform", high)))
    if domain.low <= 0:
        raise BadRequest(f"{domain} starts at {domain.low:g}, which has no logarithm.", "Start above 0.")
    return domain


def randint(low: int, high: int) -> RandInt:
    """Return the range of whole numbers from `low` to `high`, both included.

    Raises:
        BadRequest: A number is not whole, or `low` is not below `high`.
    """
    ends = _ordered("randint", _number("randint", low), _number("randint", high))
    if any(end != int(end) for end in ends):
        raise BadRequest(f"randint({low}, {high}) needs whole numbers.", "Use uniform for others.")
    return RandInt(int(ends[0]), int(ends[1]))


KINDS: dict[str, Callable[..., Range]] = {"uniform": uniform, "loguniform": loguniform, "randint": randint}


def parse(space: Mapping[str, Any]) -> Space:
    """Parse a search space.

    Args:
        space: Name → a range, a list of values (also a range, set, array or tensor of them), or the text of a
            range.

    Raises:
        BadRequest: The space is empty, or a part of it is: the message names the parameter.
    """
    if not isinstance(space, Mapping):
        raise BadRequest(
            f"The search space is {plain_values.kind(space)}; it must be a dict of names and values.",
            'As {"lr": dt.loguniform(1e-5, 1e-1), "layers": [2, 4, 8]}.',
            details={"field": "space"},
        )
    if not space:
        raise BadRequest(
            "The search space is empty: nothing would vary.",
            'Name a parameter: --param "lr=loguniform(1e-5, 1e-1)", or {"layers": [2, 4, 8]}.',
            code="empty_space",
            details={"field": "space"},
        )
    for name in space:
        if not isinstance(name, str):
            raise _bad(
                repr(name),
                f"The search space has the name {name!r}, which is {plain_values.kind(name)}.",
                "Use strings: the names that the notebook's tagged cell assigns.",
                "bad_value",
            )
    return {name: _domain(name, value) for name, value in space.items()}


def written(space: Space) -> dict[str, Any]:
    """Return a space as JSON values: lists, and the text of ranges."""
    return {name: list(d.values) if isinstance(d, Choices) else str(d) for name, d in space.items()}


def points(space: Space) -> int | None:
    """Return the number of points of a space; None if a range has infinitely many."""
    count = 1
    for domain in space.values():
        values = values_of(domain)
        if values is None:
            return None
        count *= len(values)
    return count


def values_of(domain: Domain) -> Sequence[Any] | None:
    """Return all values of a list or a range of whole numbers; None for other ranges."""
    if isinstance(domain, Choices):
        return domain.values
    return range(domain.low, domain.high + 1) if isinstance(domain, RandInt) else None


def first_of(space: Space) -> dict[str, Any]:
    """Return one point of a space."""
    return {n: d.values[0] if isinstance(d, Choices) else d.low for n, d in space.items()}


def from_text(text: str) -> tuple[str, Any, bool]:
    """Parse "name=value" of the terminal.

    Args:
        text: As "lr=loguniform(1e-5, 1e-1)", "layers=2,4,8" or "steps=100".

    Returns:
        The name; the text of a range, a list of values or one value; and whether it varies.

    Raises:
        BadRequest: There is no "=", or no name before it.
    """
    name, equals, value = text.partition("=")
    if not equals:
        raise BadRequest(f'--param {text} has no "=".', "Write it as --param name=value.")
    name = name.strip()
    if not name.isidentifier():
        problem = f'"{name}" is not a Python name' if name else 'there is no name before "="'
        raise BadRequest(f"--param {text}: {problem}.", "Name a parameter that the tagged cell assigns.")
    match = CALL.fullmatch(value)
    if match is not None:
        _domain(name, value)
        return name, value.strip(), True
    if value.strip() in KINDS:
        kind, ends = value.strip(), "1, 8" if value.strip() == "randint" else "1e-5, 1e-1"
        raise BadRequest(f"--param {text}: {kind} has no ends.", f'Write: --param "{name}={kind}({ends})"')
    typed = typed_value(value)
    if isinstance(typed, list):
        return name, typed, True
    if typed == value and (listed := typed_list(value)) is not None:
        return name, listed, True
    return name, typed, False


# ----


def _domain(name: str, value: Any) -> Domain:
    if isinstance(value, Range):
        return value
    value = plain_values.value(value)
    if isinstance(value, str):
        return _range(name, value)
    if isinstance(value, list):
        return Choices(_values(name, value))
    raise _bad(
        name,
        f"{name} has one value, {value!r}: it would not vary.",
        "Give a list or a range, or pass the value as a fixed parameter.",
        "no_range",
    )


def _range(name: str, text: str) -> Range:
    match = CALL.fullmatch(text)
    if match is None:
        raise _bad(name, f'{name}: "{text}" is not a range.', 'As "loguniform(1e-5, 1e-1)".', "no_range")
    kind = match[1]
    if kind not in KINDS:
        meant = suggestions.did_you_mean(kind, KINDS, suggestions.NEAR_KEY)
        hint = meant or f"Use {', '.join(KINDS)} or a list of values."
        raise _bad(name, f'{name}: there is no range "{kind}".', hint, "no_range")
    try:
        numbers = [float(part) for part in match[2].split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != 2:
        raise _bad(name, f'{name}: "{text}" must have two numbers.', LOW_HIGH.format(name=kind), "no_range")
    try:
        return KINDS[kind](*numbers)
    except BadRequest as error:
        raise _bad(name, f"{name}: {error.message}", error.hint, error.code) from None


def _values(name: str, values: Sequence[Any]) -> tuple[Any, ...]:
    if not values:
        raise _bad(name, f"The list of {name} is empty.", "Give at least one value.", "empty_space")
    for value in values:
        if value is not None and not isinstance(value, bool | int | float | str):
            raise _bad(
                name,
                f"{name} has {value!r}, which is {_kind(value)}.",
                "Give numbers, strings, True or False.",
                "bad_value",
            )
        if isinstance(value, float) and not math.isfinite(value):
            raise _bad(name, f"{name} contains {value}, which is not finite.", "Leave it out.", "bad_value")
    kinds = sorted({_kind(value) for value in values if value is not None})
    if len(kinds) > 1:
        words = [
            value for value in values if isinstance(value, str) and value.lower().lstrip("+-") in ENDLESS
        ]
        if words:  # as the terminal passes them
            raise _bad(
                name, f"{name} contains {words[0]}, which is not finite.", "Leave it out.", "bad_value"
            )
        text = next((value for value in values if isinstance(value, str)), None)
        numbers = any(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
        odd = f"{text} is not a number" if text is not None and numbers else " and ".join(kinds)
        raise _bad(
            name,
            f"The values of {name} are of mixed types: {odd}.",
            "Give values of one type; None (in JSON null) may be among them.",
            "mixed_types",
        )
    twice = next((v for i, v in enumerate(values) if v in values[:i]), None)
    if twice is not None:
        raise _bad(name, f"{name} lists {twice!r} twice.", "Give each value once.", "bad_value")
    return tuple(values)


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "booleans"
    if isinstance(value, int | float):
        return "numbers"
    return "strings" if isinstance(value, str) else plain_values.kind(value)


def _number(kind: str, value: Any) -> float:
    value = plain_values.value(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise BadRequest(f"{kind} got {value!r}.", LOW_HIGH.format(name=kind), code="no_range")
    return float(value)


def _ordered(kind: str, low: float, high: float) -> tuple[float, float]:
    if low < high:
        return low, high
    raise BadRequest(
        f"{kind}({low:g}, {high:g}) is empty: {low:g} is not below {high:g}.",
        "Give the lower number first.",
        code="empty_space",
    )


def _bad(name: str, message: str, hint: str, code: str) -> BadRequest:
    return BadRequest(message, hint, code=code, details={"field": "space", "parameter": name})
