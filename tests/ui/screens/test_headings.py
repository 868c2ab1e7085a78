"""Headings of charts without room for their values: these begin below the name, as it does.

In a job's view they have fewer words before that.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.browser

STYLE = Path(__file__).parents[3] / "style"
RANKS = """<div class="jp-DtrainUi-view"><div class="jp-DtrainUi-charts"><section><h3><i>Throughput</i>
<span class="jp-DtrainRanks-chartMetrics"><b>4,120</b><span>samples/s</span><span>2.1M tokens/s</span>
<span>epoch 3: 42 %</span><span>step 62 ms</span></span></h3></section></div></div>"""
JOB = """<div class="jp-DtrainUi-view jp-DtrainJob-view">
<section class="jp-DtrainJob-chartBox" style="width: {width}px"><h2>
<span class="jp-DtrainJob-chartName">a long name of a value</span>
<span class="jp-DtrainJob-chartValue"><b>4,120</b>
<span class="jp-DtrainJob-chartWords">mean over ranks</span>
<span class="jp-DtrainJob-chartBrief">mean</span></span></h2></section></div>"""
LINES = """heading => {
    const rects = [...heading.querySelectorAll('i, b, span')].flatMap(e => [...e.getClientRects()]);
    const rows = new Map();
    for (const { left, right, bottom } of rects) {
        const key = [...rows.keys()].find(k => Math.abs(k - bottom) < 6) ?? bottom;
        const [from, to] = rows.get(key) ?? [Infinity, 0];
        rows.set(key, [Math.min(from, left), Math.max(to, right)]);
    }
    return [...rows].sort(([a], [b]) => a - b).map(([, ends]) => ends);
}"""


@pytest.fixture
def blank(browser: Any) -> Iterator[Any]:
    page = browser.new_page(viewport={"width": 900, "height": 700})
    yield page
    page.close()


def draw(page: Any, body: str, width: int) -> None:
    sheets = "".join((STYLE / f"{name}.css").read_text() for name in ("ui", "ranks", "job"))
    page.set_content(f"<style>{sheets} body {{ width: {width}px; font: 13px sans-serif; }}</style>{body}")


def test_values_without_room_begin_where_the_name_does(blank: Any) -> None:
    for width in (320, 800):
        draw(blank, RANKS, width)
        lines = blank.locator("h2, h3").evaluate(LINES)
        if width == 800:
            assert len(lines) == 1, "side by side where there is room"
        else:
            assert len(lines) > 1
            assert {round(left) for left, _ in lines} == {round(lines[0][0])}


@pytest.mark.parametrize(
    ("width", "words", "lines"), [(150, "mean", 2), (250, "mean", 1), (400, "mean over ranks", 1)]
)
def test_a_heading_of_a_job_is_whole(blank: Any, width: int, words: str, lines: int) -> None:
    draw(blank, JOB.format(width=width), 800)
    heading = blank.locator("h2")
    found = heading.evaluate(LINES)
    assert len(found) == lines
    assert {round(left) for left, _ in found} == {round(found[0][0])}
    for part in (heading, heading.locator(".jp-DtrainJob-chartName")):
        assert part.evaluate("e => e.scrollWidth <= e.clientWidth")
    assert heading.locator(".jp-DtrainJob-chartValue").inner_text().split(None, 1) == ["4,120", words]


@pytest.mark.parametrize("width", [320, 400, 622])
def test_all_charts_of_a_job_are_in_view(blank: Any, width: int) -> None:
    box = (
        JOB[JOB.index("<section") : JOB.index("</div>")]
        .format(width="auto")
        .replace(' style="width: autopx"', "")
    )
    charts = f'<div class="jp-DtrainUi-charts">{box * 4}</div>'
    draw(blank, f'<div class="jp-DtrainUi-view jp-DtrainJob-view">{charts}</div>', width)
    row = blank.locator(".jp-DtrainUi-charts")
    assert row.evaluate("e => e.scrollWidth <= e.clientWidth")
    assert all(chart.bounding_box()["width"] >= 150 for chart in blank.locator("section").all())
