"""Figures of a cluster's ranks: enables matplotlib's inline backend when the user imports pyplot.

The fork server loads the backend before any shell exists, so the backend can't register itself with one.
Registering it at the start of each rank would cost every rank pyplot's memory.
"""

from __future__ import annotations

import importlib
from typing import Any

from dtrain_lab.rank.import_hooks import after_import

PYPLOT = "matplotlib.pyplot"
INLINE = "module://matplotlib_inline.backend_inline"


def prepare() -> None:
    """Enable inline figures as soon as pyplot is imported."""
    after_import(PYPLOT, lambda _: tie())


def tie() -> None:
    """Register the inline backend with this shell, unless the user has chosen another backend."""
    from IPython.core.getipython import get_ipython
    from IPython.core.pylabtools import activate_matplotlib

    matplotlib: Any = importlib.import_module("matplotlib")
    inline: Any = importlib.import_module("matplotlib_inline.backend_inline")
    if matplotlib.rcParams._get_backend_or_none() in (None, "inline", INLINE, "agg"):
        activate_matplotlib(INLINE)
        inline.configure_inline_support(get_ipython(), INLINE)
