"""The map from the classic guides: every row is there, and what it says is shown by a test that exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAP = ROOT / "docs" / "map.md"
ROWS = 55
CELLS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in MAP.read_text(encoding="utf-8").splitlines()
    if re.match(r"\| \d+ \|", line)
]
LINK = re.compile(r"\[`(test_\w+)`\]\(\.\./(tests/[\w/]+\.py)\)")


def test_every_row_is_there_once_and_in_order() -> None:
    assert [int(cells[0]) for cells in CELLS] == list(range(1, ROWS + 1))
    assert {len(cells) for cells in CELLS} == {4}


@pytest.mark.parametrize("cells", CELLS, ids=lambda cells: cells[0])
def test_a_row_leads_to_tests_or_says_why_not(cells: list[str]) -> None:
    _, asked, here, shown = cells
    assert asked
    assert here
    links = LINK.findall(shown)
    assert links or "**not run by us**" in here
    assert "<br>".join(f"[`{test}`](../{file})" for test, file in links) == shown, "nothing but links"
    for test, file in links:
        text = (ROOT / file).read_text(encoding="utf-8")
        assert re.search(rf"^(async )?def {test}\(", text, re.MULTILINE), f"{file}::{test}"
    for after in re.split(r"\*\*not run by us\*\*", here)[1:]:
        assert re.match(r"[^.;]*: \w+", after), "the reason"


def test_links_to_other_pages_lead_there() -> None:
    pages = [link for link in re.findall(r"\]\(([^)]+)\)", MAP.read_text(encoding="utf-8")) if ".md" in link]
    assert pages
    for link in pages:
        name, _, heading = link.partition("#")
        text = (MAP.parent / name).read_text(encoding="utf-8")
        titles = [title.lower().replace(" ", "-") for title in re.findall(r"^#+ (.+)$", text, re.MULTILINE)]
        assert not heading or heading in titles, link
