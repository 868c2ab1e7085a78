"""What a notebook asks about a rank's names; and why a rank can't ask its user anything."""

from __future__ import annotations

import builtins
import getpass
from collections.abc import Callable
from typing import Any, NoReturn

import msgspec
from ipykernel.jsonutil import json_clean

from dtrain_lab.core.wire.links import Complete, Completed, Message
from dtrain_lab.rank.cells import CellRunner


class Questions:
    """Answers what a notebook asks about a rank's names.

    Args:
        kernel: of this rank.
        cells: says whether one runs.
        send: to the head.
        rank: who answers.
    """

    def __init__(self, kernel: Any, cells: CellRunner, send: Callable[[Message], None], rank: int) -> None:
        self._kernel = kernel
        self._cells = cells
        self._send = send
        self._rank = rank
        # names that are there are what is asked for; jedi's import alone takes longer than anybody waits
        kernel.shell.Completer.use_jedi = False
        builtins.input = refuse_input
        getpass.getpass = refuse_input

    async def answer(self, order: Complete) -> None:
        """Complete or inspect; a rank that runs a cell answers with nothing."""
        content: Any = {}
        if not self._cells.busy:
            if order.inspect:
                content = self._kernel.do_inspect(order.code, order.cursor, order.detail)
            else:
                content = self._kernel.do_complete(order.code, order.cursor)
        data = msgspec.json.encode(json_clean(content), enc_hook=str) if content else b""
        self._send(Completed(rank=self._rank, id=order.id, data=data))


def refuse_input(prompt: object = "", *_: object, **__: object) -> NoReturn:
    """In place of `input` and `getpass`: several ranks can't share one prompt."""
    raise RuntimeError("input() can't ask from a rank. Ask in an ordinary cell, then: %distributed push NAME")
