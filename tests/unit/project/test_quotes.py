"""Quotation marks: the page, the terminal and the documentation write them as JupyterLab does."""

from __future__ import annotations

import re

from tests.faults import ROOT

SHOWN = (
    *(ROOT / "src").rglob("*.ts*"),
    *(ROOT / "schema").rglob("*.json"),
    *(ROOT / "dtrain_lab").rglob("*.py"),
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / "notebooks").rglob("*.ipynb"),
)


def test_quotation_marks_and_apostrophes_are_straight() -> None:
    assert len(SHOWN) > 500
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in SHOWN
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if re.search("[“”‘’]", line)
    ]
    assert found == []
