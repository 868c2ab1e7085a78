"""Completion, inspection and values of expressions on a rank, and the refusal of `input()` in cells."""

from __future__ import annotations

import asyncio
import builtins
import concurrent.futures
import getpass
from collections.abc import Callable
from typing import Any, NoReturn

import msgspec
from ipykernel.jsonutil import json_clean
from IPython.core.error import StdinNotImplementedError

from dtrain_lab.rank.cells.runner import CellRunner
from dtrain_lab.wire.links import Complete, Completed, Message


class NamespaceQueries:
    """Answers what a notebook and a debugger ask of the user's names while no cell runs.

    Args:
        kernel: this rank's kernel.
        cells: runs the cells of this rank.
        send: sends a message to the head.
        rank: number of this rank.
        loop: loop of the main thread.
    """

    def __init__(
        self,
        kernel: Any,
        cells: CellRunner,
        send: Callable[[Message], None],
        rank: int,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._kernel = kernel
        self._cells = cells
        self._send = send
        self._rank = rank
        self._loop = loop
        # completion needs existing names only, and jedi's import alone takes longer than a client waits
        kernel.shell.Completer.use_jedi = False
        builtins.input = refuse_input
        getpass.getpass = refuse_input

    async def answer(self, order: Complete) -> None:
        """Complete or inspect; while a cell runs the answer is empty."""
        content: Any = {}
        if not self._cells.busy:
            if order.inspect:
                content = self._kernel.do_inspect(order.code, order.cursor, order.detail)
            else:
                content = self._kernel.do_complete(order.code, order.cursor)
        data = msgspec.json.encode(json_clean(content), enc_hook=str) if content else b""
        self._send(Completed(rank=self._rank, id=order.id, data=data))

    def look(self, expression: str, leaf: str | None) -> concurrent.futures.Future[str | None]:
        """Evaluate an expression on the main thread.

        Args:
            expression: in the user's namespace.
            leaf: path of a leaf, to get only its numbers; None for a summary of the value.

        Returns:
            The value, summarized as JSON; None while a cell runs.
        """
        if self._cells.busy:  # the main thread could answer only once the cell has ended
            busy: concurrent.futures.Future[str | None] = concurrent.futures.Future()
            busy.set_result(None)
            return busy

        async def evaluated() -> str | None:
            from dtrain_lab.rank.debugger.values.value_summary import glance

            shell = self._kernel.shell
            return glance(eval(expression, shell.user_global_ns, shell.user_ns), leaf)

        return asyncio.run_coroutine_threadsafe(evaluated(), self._loop)


def refuse_input(prompt: object = "", *_: object, **__: object) -> NoReturn:
    """Replaces `input` and `getpass`, because several ranks can't share one prompt.

    Raises:
        StdinNotImplementedError: Always; it is IPython's error where a front end can't be asked.
    """
    raise StdinNotImplementedError(
        "input() can't ask from a rank. Ask in an ordinary cell, then: %distributed push NAME"
    )
