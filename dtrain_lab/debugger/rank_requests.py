"""Orders: requests to the debuggers of ranks."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from dtrain_lab.debugger.state import PER_RANK, REFERENCES, Dap, State, inward, rank_of


class Order(Struct, frozen=True):
    """A request to the debuggers of ranks. `arguments`: rank → DAP arguments; `within_s`: timeout."""

    command: str
    arguments: dict[int, Dap]
    within_s: float = 10.0


def for_rank(arguments: Dap) -> Dap:
    """Return arguments as a rank's own debugger takes them: without the thread, with its own references."""
    plain = {k: v for k, v in arguments.items() if k != "threadId"}
    for key in REFERENCES:
        value = plain.get(key)
        if isinstance(value, int) and value >= PER_RANK:
            plain[key] = inward(value)[1]
    return plain


def all_attached(state: State, command: str, arguments: Dap) -> tuple[Order, ...]:
    """Return an order to all attached ranks; none if there are none.

    Args:
        state: The debugger's state.
        command: Command of a DAP request.
        arguments: Its arguments, the same for each rank.
    """
    return (same(command, arguments, state.attached),) if state.attached else ()


def same(command: str, arguments: Dap, ranks: Sequence[int]) -> Order:
    """Return an order with the same arguments for some ranks.

    Args:
        command: Command of a DAP request.
        arguments: Its arguments.
        ranks: The ranks that get it.
    """
    return Order(command, {rank: arguments for rank in ranks})


def rich_inspection(arguments: Dap) -> tuple[Order, ...]:
    """Make the order for the rich representation of a variable; none if it is not a rank's."""
    rank = rank_of(arguments)
    if rank is None:
        return ()
    name = str(arguments.get("variableName", ""))
    if not name.isidentifier():
        return ()
    _, frame = inward(arguments["frameId"])
    expression = f"__import__('IPython').core.interactiveshell.DisplayFormatter().format({name})"
    return (Order("evaluate", {rank: {"expression": expression, "frameId": frame, "context": "clipboard"}}),)
