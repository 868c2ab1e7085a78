"""JupyterLab with the extensions of others, in an environment of its own: `python -m matrix beside`.

They are installed there with JupyterLab, and the product as the wheel of this tree.
"""

from __future__ import annotations

from pathlib import Path

from matrix import lent, tree

NAME = "beside"
EXTENSIONS = (
    "jupyter-collaboration==5.0.4",
    "jupyter-resource-usage==1.3.0",
    "jupyter-scheduler==2.12.1",
    "jupyterlab-execute-time==3.3.0",
    "jupyterlab-git==0.55.0",
    "jupyterlab-lsp==5.3.0",
    "nbdime==4.0.4",
    "notebook==7.6.5",
    "python-lsp-server==1.15.0",
)
TESTS = {
    "two people": ("tests/beside/test_collaboration.py",),
    "all of them": ("tests/beside/test_bundle.py",),
    "Notebook 7": ("tests/beside/test_notebook.py",),
}


def build() -> Path:
    """Make the environment with all of them; returns its Python."""
    return lent.build(NAME, ("jupyterlab", *EXTENSIONS))


def section(ran: dict[str, object] | None, parts: dict[str, str]) -> list[str]:
    """Lines of the table's page.

    Args:
        ran: the last run, with its date; None where there was none.
        parts: by name of a part, how it went.
    """
    lines = [
        "",
        "## Beside other extensions",
        "",
        f"These were installed together: {', '.join(name.replace('==', ' ') for name in EXTENSIONS)}.",
        "Numbers are tests that passed, each in a real browser. With two people, and with all extensions:",
        "cells, output, the panel, the debugger, Submit. In Notebook 7: cells, output, the panel.",
        "",
        f"| {' | '.join(TESTS)} | run on | commit |",
        "|---" * (len(TESTS) + 2) + "|",
    ]
    cells = [*(parts.get(name, "–") for name in TESTS), ran["date"] if ran else "not run"]
    return [*lines, f"| {' | '.join(map(str, [*cells, tree.told(ran or {}, TESTS)]))} |"]
