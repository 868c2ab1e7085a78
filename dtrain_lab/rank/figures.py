"""Figures of ranks: matplotlib's inline backend, made ready when the user imports pyplot.

The fork server has the backend loaded before any shell exists, so it could not tie itself to one; and tying
it at the start of each rank would cost every rank pyplot's memory.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

PYPLOT = "matplotlib.pyplot"
INLINE = "module://matplotlib_inline.backend_inline"


class _Loader(importlib.abc.Loader):
    """pyplot's own loader, and then the backend's tie to the shell."""

    def __init__(self, usual: Any) -> None:
        self._usual = usual

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        made: ModuleType | None = self._usual.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        self._usual.exec_module(module)
        tie()


class _Finder(importlib.abc.MetaPathFinder):
    """Waits for the import of pyplot."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != PYPLOT:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


def prepare() -> None:
    """Have figures shown as pictures as soon as there is a pyplot."""
    if PYPLOT in sys.modules:
        tie()
    else:
        sys.meta_path.insert(0, _Finder())


def tie() -> None:
    """Tie the inline backend to this shell, unless the user has chosen another one."""
    from IPython.core.getipython import get_ipython
    from IPython.core.pylabtools import activate_matplotlib

    matplotlib: Any = importlib.import_module("matplotlib")
    inline: Any = importlib.import_module("matplotlib_inline.backend_inline")
    if matplotlib.rcParams._get_backend_or_none() in (None, "inline", INLINE, "agg"):
        activate_matplotlib(INLINE)
        inline.configure_inline_support(get_ipython(), INLINE)
