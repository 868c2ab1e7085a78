"""Evaluates one expression on all ranks."""

from __future__ import annotations

import ast
from typing import Protocol, TypeVar

import msgspec

from dtrain_lab.debugger import compare_values, requests, visible_names
from dtrain_lab.debugger.state import Dap, State
from dtrain_lab.debugger.view import shown_state
from dtrain_lab.errors import BadRequest
from dtrain_lab.wire.links.values import LeafNumbers, ValueSummary, VisibleNames

T = TypeVar("T")
UNREADABLE = "unreadable_expression"
"""Error code for an expression that is not valid Python; the panel does not list such expressions."""


class DebugTarget(Protocol):
    """The world that is being debugged."""

    @property
    def state(self) -> State: ...
    async def ask(self, order: requests.Order) -> dict[int, Dap]: ...


async def evaluate(world: DebugTarget, expression: str) -> compare_values.AcrossRow:
    """Evaluate an expression on all ranks: in the current frame if paused, in the namespace if idle.

    Args:
        world: The world that is being debugged.
        expression: What to evaluate.

    Raises:
        BadRequest: The expression is empty or not valid Python, or runs a collective while some ranks are
            not paused.
    """
    if not expression.strip():
        raise BadRequest("The expression is empty.", "Write one, such as: loss")
    try:
        ast.parse(f"({expression}\n)", mode="eval")  # as ranks evaluate it; also while none can
    except (SyntaxError, ValueError) as error:
        why = error.msg if isinstance(error, SyntaxError) else error
        raise BadRequest(
            f"The expression can't be read: {why}.", "Write one, such as: loss", code=UNREADABLE
        ) from error
    if requests.COLLECTIVE.search(expression) and len(world.state.paused) < len(world.state.ranks):
        raise BadRequest(
            "This expression runs a collective, and not all ranks are paused.", "Pause all ranks first."
        )
    ranks = _halted(world)
    arguments = {"expression": expression}
    answers = await world.ask(requests.Order("look", {r: arguments for r in ranks}))
    replies = _bodies(answers, ValueSummary)
    errors = {rank: str(a.get("message", "")) for rank, a in answers.items() if not a.get("success")}
    values: dict[int, str | None] = {}
    wanted = compare_values.wanted_leaf(replies)
    if wanted is not None:
        leaf, some = wanted
        order = requests.Order("look", {r: {**arguments, "leaf": leaf} for r in some})
        numbers = _bodies(await world.ask(order), LeafNumbers)
        values = {rank: those.values for rank, those in numbers.items()}
    state = shown_state(world.state)
    running = tuple(r.rank for r in state.ranks if r.phase == "running")
    return compare_values.row(expression, replies, errors, values, running, state.waiting)


async def names(world: DebugTarget) -> tuple[visible_names.Only, ...]:
    """Find the names that only some ranks have, of those that are paused or idle.

    Args:
        world: The world that is being debugged.
    """
    arguments = {"expression": visible_names.EXPRESSION}
    answers = await world.ask(requests.Order("look", {r: arguments for r in _halted(world)}))
    return visible_names.only_on_some(_bodies(answers, VisibleNames))


def _halted(world: DebugTarget) -> list[int]:
    """Ranks that are paused or idle, which answer also while an interrupt has detached them for a moment."""
    return [r.rank for r in shown_state(world.state).ranks if r.phase not in ("running", "gone")]


def _bodies(answers: dict[int, Dap], kind: type[T]) -> dict[int, T]:
    """Return what ranks have answered, without those that refuse."""
    return {rank: msgspec.convert(a["body"], kind) for rank, a in answers.items() if a.get("success")}
