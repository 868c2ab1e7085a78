"""Prints what IPython would show in a pager (`x?`, `%pdoc`, `%prun`), because ranks have no pager."""

from __future__ import annotations

from typing import Any


def in_cells(shell: Any) -> None:
    """Make the shell print what it would show in a pager."""

    def show(_: Any, shown: Any, start: int = 0, *__: Any, **___: Any) -> None:
        text = shown.get("text/plain", "") if isinstance(shown, dict) else str(shown)
        print("\n".join(text.split("\n")[max(0, start) :]))

    shell.set_hook("show_in_pager", show)
