"""Tests in a browser with other versions of JupyterLab: `python -m matrix jupyterlab4.2.7`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from matrix import lent

VERSIONS = ("4.2.7", "4.4.10", "4.5.11")
"""The newest of each; `make test` runs 4.6."""
TESTS = {
    "output": ("tests/ui/notebook/test_output.py",),
    "panel": ("tests/ui/panel/test_panel.py",),
    "the page's debugger": ("tests/ui/notebook/test_debugger.py",),
    "Submit, jobs": ("tests/ui/jobs/test_jobs.py",),
}
MARKED = "browser and not hosts"
PATIENCE = {"DTRAIN_TEST_PATIENCE": "4"}
"""Of `tests/ui/lab.py`: these tests have no quiet machine to themselves, as `make test` has."""
FREE = ("jupyterlab", "jupyter_builder")


def name(version: str) -> str:
    """Of the environment with this JupyterLab, such as "jupyterlab4.2.7"."""
    return f"jupyterlab{version}"


NAMES = {name(version): version for version in VERSIONS}


def build(version: str) -> Path:
    """Make the environment with this JupyterLab; returns its Python."""
    return lent.build(name(version), (f"jupyterlab=={version}",), FREE)


def section(rows: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Lines of the table's page.

    Args:
        rows: by name of an environment that was run: how each of the tests went, the date, the commit.
    """
    none = (*("–" for _ in TESTS), "not run", "–")
    return [
        "",
        "## JupyterLab",
        "",
        "Numbers are tests that passed, each in a real browser, with the Python and torch of `make test`,",
        "which runs these tests with 4.6. Jobs on several nodes are not included.",
        "",
        f"| JupyterLab | {' | '.join(TESTS)} | run on | commit |",
        "|---" * (len(TESTS) + 3) + "|",
        *(f"| {' | '.join((version, *rows.get(name(version), none)))} |" for version in VERSIONS),
    ]
