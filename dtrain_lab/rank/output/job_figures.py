"""matplotlib back-end for jobs: `plt.show()` adds figures to the cell's output."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

from matplotlib.backend_bases import FigureManagerBase
from matplotlib.backends.backend_agg import FigureCanvasAgg

NAME = "module://dtrain_lab.rank.output.job_figures"
_shown: list[Callable[[bytes], None]] = []
"""matplotlib makes its back-end of this module, to which nothing can be passed."""


def set_display(shows: Callable[[bytes], None]) -> None:
    """Set the function that gets each shown figure, as PNG bytes."""
    _shown[:] = [shows]


def show(*_: Any, **__: Any) -> None:
    """Show all open figures, and close them."""
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
    """Figure manager whose class method matplotlib calls for `plt.show()`."""

    @classmethod
    def pyplot_show(cls, *_: Any, **__: Any) -> None:
        """Serve `plt.show()`."""
        show()


class FigureCanvas(FigureCanvasAgg):
    """The Agg canvas, with our figure manager."""

    manager_class = FigureManager
