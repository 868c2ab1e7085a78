"""Pictures of the docs, as browser tests pass by what they show: `make pictures`, then look at them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.ui.jobs import test_jobs
from tests.ui.notebook import test_debugger
from tests.ui.panel import test_panel

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"
TESTS = {
    test_panel: {"training": "training"},
    test_debugger: {"debugger-waits": "debugger"},
    test_jobs: {"submit-script": "submit", "job-failed": "job"},
}
"""Module of tests → name of its screenshot → file."""
HOME = re.compile(r"/tmp/pytest-of-[^/]+/pytest-[0-9]+/lab[0-9]+/home")
RENAME = """([from, to]) => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const node = walker.currentNode;
        node.data = node.data.replace(new RegExp(from, 'g'), to);
    }
}"""


@pytest.fixture(autouse=True)
def _pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, files in TESTS.items():
        monkeypatch.setattr(module, "shot", _shot(files))


def _shot(files: dict[str, str]) -> Any:
    def shot(page: Any, name: str) -> None:
        if name in files:
            # nobody has a home in a test's folder
            page.evaluate(RENAME, [HOME.pattern, "/home/ada"])
            page.screenshot(path=FOLDER / f"{files[name]}.png")

    return shot
