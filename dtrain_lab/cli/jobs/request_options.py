"""Options of `submit` and `sweep run`, made from the fields of their requests, and these requests."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import click
from msgspec import UNSET, UnsetType
from msgspec.structs import FieldInfo, fields

from dtrain_lab.jobs.request_options import RequestOption
from dtrain_lab.wire.jobs.job import JobRequest

R = TypeVar("R", bound=JobRequest)
Decorator = Callable[[Callable[..., None]], Callable[..., None]]


def request_options(kind: type[JobRequest], options: Iterable[RequestOption]) -> Decorator:
    """Return a decorator that gives a command options for fields of a request, in this order.

    Args:
        kind: Type of the request, with the fields' types and defaults.
        options: The fields.
    """
    by_name = {field.name: field for field in fields(kind)}
    of_sweep = kind is not JobRequest
    made = [_click_option(option, by_name[option.field], of_sweep=of_sweep) for option in options]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        for option in reversed(made):
            command = option(command)
        return command

    return decorate


def request_of(kind: type[R], notebook: str, given: dict[str, Any], **more: Any) -> R:
    """Return the request of a command; what was not given stays as the request has it.

    Args:
        kind: Type of the request.
        notebook: Path of the notebook, as it was typed.
        given: Field → its value; None if it was not given.
        **more: Other fields.
    """
    said = {field: value for field, value in given.items() if value is not None}
    python = None if "kernel" in said else sys.executable
    return kind(notebook=notebook, python=python, **said, **more)


def _click_option(option: RequestOption, field: FieldInfo, *, of_sweep: bool) -> Decorator:
    """Return click's option for a field: its type says whether it is a flag, a choice, or may be repeated."""
    kind, names = _kind(field.type), f"--{option.flag}"
    details: dict[str, Any] = {"help": (of_sweep and option.of_sweep) or option.help}
    if field.required:
        details["required"] = True
    elif field.default is not UNSET:
        details["default"] = field.default
    if kind is bool:
        names = f"--{option.flag}/--no-{option.flag}"
    elif get_origin(kind) is tuple:
        details["multiple"] = True
    elif get_origin(kind) is Literal:
        details["type"] = click.Choice(option.choices or get_args(kind))
    else:
        details["type"] = kind
    return click.option(names, option.field, **details)


def _kind(hint: Any) -> Any:
    """Return the type of a field's values, without what stands for a value that was not given."""
    if get_origin(hint) is Annotated:
        return _kind(get_args(hint)[0])
    if get_origin(hint) in (Union, UnionType):
        [kind] = (kind for kind in get_args(hint) if kind not in (NoneType, UnsetType))
        return kind
    return hint
