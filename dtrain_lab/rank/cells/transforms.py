"""Spares most cells IPython's search for magics, which tokenizes the whole cell and looks at each name."""

from __future__ import annotations

import re
from typing import Any

from IPython.core.autocall import IPyAutocall
from IPython.core.macro import Macro

SIGNS = frozenset("%!?")
"""One of these is in each magic, shell command and request for help."""
FIRST = (",", ";", "/")
"""Signs that are commands at the beginning of a line only."""
NAME = re.compile(r"[A-Za-z_][\w.]*")


def quick_transforms(shell: Any) -> None:
    """Make a shell take cells of plain Python as they are.

    What is registered with the shell later, by the user or a library, sees every cell.
    """
    manager, prefilter = shell.input_transformer_manager, shell.prefilter_manager
    usual, usual_line = manager.do_token_transforms, prefilter.prefilter_lines
    own, own_checkers = list(manager.token_transformers), list(prefilter.checkers)

    def transform(lines: list[str]) -> Any:
        if manager.token_transformers == own and not any(map(_may_be_magic, lines)):
            return lines
        return usual(lines)

    def transform_line(text: str, continue_prompt: bool = False) -> Any:
        line = text.rstrip("\n")
        name = NAME.match(line)
        if (
            name is None
            or "\n" in line
            or shell.autocall
            or prefilter.transformers
            or prefilter.checkers != own_checkers
            or shell.find_magic(name[0]) is not None
            or isinstance(shell.user_ns.get(name[0]), Macro | IPyAutocall)
        ):
            return usual_line(text, continue_prompt)
        return line

    manager.do_token_transforms = transform
    prefilter.prefilter_lines = transform_line


def _may_be_magic(line: str) -> bool:
    return not SIGNS.isdisjoint(line) or line.lstrip().startswith(FIRST)
