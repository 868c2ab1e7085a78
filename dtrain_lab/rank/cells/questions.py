"""Completion and inspection on a rank, and the refusal of `input()` in cells."""

from __future__ import annotations

import builtins
import getpass
from collections.abc import Callable
from typing import Any, NoReturn

import msgspec
from ipykernel.jsonutil import json_clean

from dtrain_lab.errors import BadRequest
from dtrain_lab.rank.cells.runner import CellRunner
from dtrain_lab.wire.links import Complete, Completed, Message


class Questions:
    """Answers a notebook's completion and inspection requests.

    Args:
        kernel: this rank's kernel.
        cells: runs the cells of this rank.
        send: sends a message to the head.
        rank: number of this rank.
    """

    def __init__(self, kernel: Any, cells: CellRunner, send: Callable[[Message], None], rank: int) -> None:
        self._kernel = kernel
        self._cells = cells
        self._send = send
        self._rank = rank
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


def refuse_input(prompt: object = "", *_: object, **__: object) -> NoReturn:
    """Replaces `input` and `getpass`, because several ranks can't share one prompt.

    Raises:
        BadRequest: always.
    """
    raise BadRequest(
        "input() can't ask from a rank.", "Ask in an ordinary cell, then: %distributed push NAME"
    )
