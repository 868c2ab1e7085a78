"""Texts and buttons that have little room: they wrap, and nothing is cut off or covered."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.browser

STYLE = Path(__file__).parents[3] / "style"
FIELD = f"""<div class="jp-DtrainJob-field"><label>Name</label><div><input>
<p class="jp-DtrainJob-fieldError"><i>!</i><span>"{"x" * 200}" can't be a name.</span></p></div></div>"""
SNIPPET = """<div class="jp-DtrainCluster-snippet"><pre>%load_ext dtrain_lab</pre>
<div><pre>%%distributed
print(rank, device)</pre><button class="jp-DtrainUi-button">Insert</button></div></div>"""

COMMAND = f"""<div class="jp-DtrainJob-code"><div class="jp-DtrainJob-code-lines" data-wraps="true"><div>
<pre>dtrain-lab submit train.ipynb {"--param lr=0.0003 " * 12}--name {"x" * 90}</pre></div></div></div>"""

STATUS = """<div class="jp-DtrainStatus"><button><i></i><span>No cluster</span></button>
<button data-attention><i></i><span>Job stuck: rank 1 is stuck, 9 min</span></button>
<button class="jp-DtrainStatus-jobs">4 jobs active</button></div>"""

WHERE = ("all_reduce, no. 22,093 of this cell", "in a collective")
HEADS = """<th class="jp-DtrainRanks-colGlyph"></th><th class="jp-DtrainRanks-colRank">Rank</th>
<th class="jp-DtrainRanks-colFor">For</th><th>Where</th>"""
ROWS = "".join(
    f"""<tr data-rank="{rank}" data-state="in collective"><td></td><th>{rank}</th>
    <td class="jp-DtrainRanks-colFor">14&nbsp;s</td><td class="jp-DtrainRanks-doing">{where}</td></tr>"""
    for rank, where in enumerate(WHERE)
)
RANKS = f"""<table class="jp-DtrainRanks-rows"><thead><tr>{HEADS}</tr></thead><tbody>{ROWS}</tbody></table>"""


@pytest.fixture
def blank(browser: Any) -> Iterator[Any]:
    page = browser.new_page(viewport={"width": 900, "height": 700})
    yield page
    page.close()


def show(page: Any, body: str, width: int) -> None:
    sheets = "".join(
        (STYLE / f"{name}.css").read_text() for name in ("ui", "cluster", "job", "ranks", "status")
    )
    fonts = "--jp-code-font-size: 13px; --jp-code-font-family: monospace;"
    page.set_content(
        f"<style>{sheets} body {{ {fonts} font: 13px sans-serif; }}</style>"
        f"<main style='width: {width}px; overflow: auto'>{body}</main>"
    )


def test_the_problem_of_a_long_name_wraps(blank: Any) -> None:
    show(blank, FIELD, 420)
    assert blank.locator("main").evaluate("e => e.scrollWidth <= e.clientWidth")


@pytest.mark.parametrize("width", [300, 800])
def test_a_stuck_job_and_the_number_of_jobs_are_on_one_line(blank: Any, width: int) -> None:
    show(blank, STATUS, width)
    assert len({button.bounding_box()["y"] for button in blank.locator("button").all()}) == 1
    assert blank.locator("main").evaluate("e => e.scrollWidth <= e.clientWidth")


def test_the_command_of_a_job_wraps(blank: Any) -> None:
    show(blank, COMMAND, 420)
    assert blank.locator(".jp-DtrainJob-code").evaluate("e => e.scrollWidth <= e.clientWidth")


@pytest.mark.parametrize("width", [200, 235, 300])
def test_the_button_covers_no_code(blank: Any, width: int) -> None:
    show(blank, SNIPPET, width)
    code = (
        blank.locator("pre")
        .nth(1)
        .evaluate(
            """e => { const r = document.createRange(); r.selectNodeContents(e);
            return [...r.getClientRects()].map(b => [b.right, b.bottom]); }"""
        )
    )
    button = blank.locator("button").bounding_box()
    assert all(right <= button["x"] or bottom <= button["y"] for right, bottom in code), (code, button)


@pytest.mark.parametrize("width", [200, 235, 300])
def test_what_a_rank_does_wraps(blank: Any, width: int) -> None:
    show(blank, RANKS, width)
    cells = blank.locator(".jp-DtrainRanks-doing").all()
    assert len(cells) == len(WHERE)
    for cell in cells:
        assert cell.evaluate("e => e.scrollWidth <= e.clientWidth"), cell.text_content()
        right = cell.evaluate(
            """e => { const r = document.createRange(); r.selectNodeContents(e);
            const ends = [...r.getClientRects()].map(b => b.right);
            return Math.max(...ends) - e.getBoundingClientRect().right; }"""
        )
        assert right <= 0, cell.text_content()
