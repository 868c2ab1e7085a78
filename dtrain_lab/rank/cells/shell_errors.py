"""Keeps a rank's shell from printing a cell's own error, which the reply contains."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

STORED_FORMATTER = "_format_exception_for_storage"
SHELL = "IPython.core.interactiveshell"


class ShellErrors:
    """Lets the shell show exceptions that a library has caught, but not the cell's own: the reply has it."""

    def __init__(self) -> None:
        self._showing = False
        self.inner: BaseException | None = None
        """The error that the shell would have shown; for code that a magic ran this is its only record."""

    def wrap(self, usual: Callable[..., None]) -> Callable[..., None]:
        """Wrap one of the shell's methods that show errors."""

        def show(*args: object, **kwargs: object) -> None:
            of_shell = sys._getframe(1).f_globals.get("__name__") == SHELL
            if of_shell and not self._showing:
                # post-mortem debuggers read these
                sys.last_type, sys.last_value, sys.last_traceback = sys.exc_info()
                if isinstance(sys.last_value, Exception):
                    self.inner = sys.last_value
                return
            self._showing = True
            try:
                usual(*args, **kwargs)
            finally:
                self._showing = False

        return show


@contextlib.contextmanager
def quiet(shell: Any) -> Iterator[ShellErrors]:
    """Keep the shell from printing the cell's error: the reply has it, and torch's take a second.

    Args:
        shell: the kernel's.

    Yields:
        What the shell would have shown.
    """
    replaced = ["showtraceback", "showsyntaxerror", "showindentationerror"]
    shown = ShellErrors()
    for name in replaced:
        setattr(shell, name, shown.wrap(getattr(shell, name)))
    # IPython stores each failure's formatted traceback, half a second for the first one through torch
    if hasattr(shell, STORED_FORMATTER):
        setattr(shell, STORED_FORMATTER, _name_only)
        replaced.append(STORED_FORMATTER)
    try:
        yield shown
    finally:
        for name in replaced:
            delattr(shell, name)


def _name_only(error: BaseException, *_: object, **__: object) -> dict[str, Any]:
    return {"ename": type(error).__name__, "evalue": "", "traceback": []}
