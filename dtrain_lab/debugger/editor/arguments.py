"""Validation of an editor's requests: arguments, and whether threads, frames and variables exist. Pure.

Ranks get only validated requests: an argument of an unexpected type ends pydevd's reader.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from dtrain_lab.debugger import pydevd_texts
from dtrain_lab.debugger.editor import msgspec_texts
from dtrain_lab.debugger.state import FIRST_THREAD, PER_RANK, Dap, State, inward
from dtrain_lab.errors import BadRequest, Conflict
from dtrain_lab.text import rank_names


class _Thread(Struct, omit_defaults=True):
    threadId: int
    singleThread: bool | None = None
    granularity: str | None = None
    targetId: int | None = None


class _Stack(Struct, omit_defaults=True):
    threadId: int
    startFrame: int | None = None
    levels: int | None = None


class _Scopes(Struct, omit_defaults=True):
    frameId: int


class _Variables(Struct, omit_defaults=True):
    variablesReference: int
    filter: str | None = None
    start: int | None = None
    count: int | None = None


class _SetVariable(Struct, omit_defaults=True):
    variablesReference: int
    name: str
    value: str


class _Evaluate(Struct, omit_defaults=True):
    expression: str
    frameId: int | None = None
    context: str | None = None


class _Completions(Struct, omit_defaults=True):
    text: str
    column: int
    line: int | None = None
    frameId: int | None = None


class _Source(Struct, omit_defaults=True):
    path: str | None = None
    name: str | None = None
    sourceReference: int | None = None


class _Text(Struct, omit_defaults=True):
    sourceReference: int = 0
    source: _Source | None = None


class _Point(Struct, omit_defaults=True):
    line: int
    column: int | None = None
    condition: str | None = None
    hitCondition: str | None = None
    logMessage: str | None = None


class _Points(Struct, omit_defaults=True):
    source: _Source
    breakpoints: list[_Point] | None = None


class _Exceptions(Struct, omit_defaults=True):
    filters: list[str]


class _Attach(Struct, omit_defaults=True):
    cluster: str | None = None
    job: str | None = None


class _Anything(Struct):
    pass


SERVED: dict[str, type[Struct]] = {
    **dict.fromkeys(("continue", "next", "stepIn", "stepOut", "pause", "exceptionInfo"), _Thread),
    **dict.fromkeys(("threads", "configurationDone", "loadedSources", "disconnect", "terminate"), _Anything),
    **dict.fromkeys(("initialize", "launch"), _Anything),
    "attach": _Attach,
    "stackTrace": _Stack,
    "scopes": _Scopes,
    "variables": _Variables,
    "setVariable": _SetVariable,
    "evaluate": _Evaluate,
    "completions": _Completions,
    "source": _Text,
    "setBreakpoints": _Points,
    "setExceptionBreakpoints": _Exceptions,
}
"""Command → its arguments."""
FILTERS = ("uncaught", "raised")
AS_THEY_ARE = ("initialize", "attach", "launch")
"""Commands whose arguments may have additional keys."""


def valid(request: Dap) -> Dap:
    """Return the arguments of a request, without null and unknown ones.

    Raises:
        BadRequest: there is no such command, or an argument is missing or has another type.
    """
    command, given = request.get("command"), request.get("arguments")
    if not isinstance(command, str) or command not in SERVED:
        raise BadRequest(f"This debugger has no request {_short(command)}.", "")
    if given is None:
        given = {}
    if not isinstance(given, dict):
        raise BadRequest(f"The arguments of {command} must be an object.", "")
    try:
        converted = msgspec.convert(given, SERVED[command])
    except msgspec.ValidationError as error:
        raise BadRequest(f"{command}: {msgspec_texts.in_words(str(error))}", "") from None
    if isinstance(converted, _Attach) and converted.cluster and converted.job:
        raise BadRequest("attach names both a cluster and a job.", "Name one of them.")
    if command == "setExceptionBreakpoints":
        for name in given["filters"]:
            if name not in (*FILTERS, "userUnhandled"):  # debugpy's, kept by editors
                raise BadRequest(
                    f"There is no exception filter {_short(name)}.", f"Use {' or '.join(FILTERS)}."
                )
    if command in AS_THEY_ARE:
        return given
    plain: Dap = _without_null(msgspec.to_builtins(converted))
    return plain


def check_target(state: State, command: str, arguments: Dap) -> None:
    """Check that the thread, frame or variable of a request belongs to a rank that is there.

    Args:
        state: current state.
        command: the request's.
        arguments: valid ones.

    Raises:
        BadRequest: there is no such thread, frame or variable.
        Conflict: the ranks have ended, or this one did not stop at an exception.
    """
    rank: int | None = None
    if "threadId" in arguments:
        rank = arguments["threadId"] - FIRST_THREAD
        if not 0 <= rank < len(state.ranks):
            raise BadRequest(f"There is no thread {arguments['threadId']}.", _threads(state))
    else:
        for key, kind in (("frameId", "frame"), ("variablesReference", "variable")):
            if key in arguments:
                rank, number = inward(arguments[key])
                if arguments[key] < PER_RANK or number == 0 or not rank < len(state.ranks):
                    raise BadRequest(f"There is no {kind} {arguments[key]}.", "Ask for the stack first.")
    if rank is None:
        return
    if state.ranks[rank].phase == "gone":
        raise Conflict(f"Rank {rank} has ended.", "Choose another rank.")
    if command == "exceptionInfo" and state.ranks[rank].reason != "exception":
        raise Conflict(f"Rank {rank} did not stop at an exception.", "")


def in_words(request: Dap, answer: Dap) -> Dap:
    """Convert a refusal of pydevd to a message.

    Args:
        request: The editor's request.
        answer: pydevd's answer to it.

    Returns:
        The answer with a sentence for the user; the same answer if it is none of the known refusals.
    """
    message = str(answer.get("message") or "")
    name = pydevd_texts.unchanged(message)
    if answer.get("success") or not (name is not None or pydevd_texts.is_gone(message)):
        return answer
    arguments = request.get("arguments") or {}
    number = arguments.get("frameId", arguments.get("variablesReference", ""))
    message = (
        f"The rank has no frame or variable {number}: it has resumed since, or the number was never valid."
    )
    if name is not None:
        value = str(arguments.get("value", ""))
        message = f"{name} could not be set: {_short(value)} can't be evaluated, or is no value for it."
    return {**answer, "message": message}


# ----


def _threads(state: State) -> str:
    there = [rank.rank for rank in state.ranks if rank.phase != "gone"]
    if not there:
        return ""
    numbers = (
        rank_names.compact(FIRST_THREAD + rank for rank in there).replace(",", ", ").replace("-", " to ")
    )
    whose = "each rank" if len(there) == len(state.ranks) else "each rank that is there"
    return f"{'Threads are' if len(there) > 1 else 'The thread is'} {numbers}: one for {whose}."


def _without_null(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_null(part) for key, part in value.items() if part is not None}
    return [_without_null(part) for part in value] if isinstance(value, list) else value


def _short(value: object) -> str:
    return f'"{str(value)[:60]}"'
