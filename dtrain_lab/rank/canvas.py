"""matplotlib's back-end in a job: `plt.show()` puts figures where the cell's output goes."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

from matplotlib.backend_bases import FigureManagerBase
from matplotlib.backends.backend_agg import FigureCanvasAgg

NAME = "module://dtrain_lab.rank.canvas"
_shown: list[Callable[[bytes], None]] = []


def to(shows: Callable[[bytes], None]) -> None:
    """Have figures told, as PNG."""
    _shown[:] = [shows]


def show(*_: Any, **__: Any) -> None:
    """Show all figures that are open, and close them."""
    import matplotlib.pyplot as plt

    for number in plt.get_fignums():
        file = io.BytesIO()
        figure = plt.figure(number)
        if figure.axes or figure.texts:
            figure.savefig(file, format="png", bbox_inches="tight")
            for tell in _shown:
                tell(file.getvalue())
        plt.close(number)


class FigureManager(FigureManagerBase):
    """matplotlib asks the class."""

    @classmethod
    def pyplot_show(cls, *_: Any, **__: Any) -> None:
        """`plt.show()`."""
        show()


class FigureCanvas(FigureCanvasAgg):
    """Agg, with our way of showing."""

    manager_class = FigureManager
