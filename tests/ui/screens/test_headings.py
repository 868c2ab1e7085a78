"""Headings of charts that have no room for their values: these begin below the name, where it begins."""

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
JOB = """<div class="jp-DtrainUi-view jp-DtrainJob-view"><div class="jp-DtrainUi-charts">
<section class="jp-DtrainJob-chartBox"><h2><i>Throughput</i>
<span><b>4,120</b> samples/s, or some other long text there</span></h2></section></div></div>"""
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


@pytest.mark.parametrize(("body", "narrow"), [(RANKS, 320), (JOB, 230)])
def test_values_without_room_begin_where_the_name_does(blank: Any, body: str, narrow: int) -> None:
    sheets = "".join((STYLE / f"{name}.css").read_text() for name in ("ui", "ranks", "job"))
    for width in (narrow, 800):
        blank.set_content(
            f"<style>{sheets} body {{ width: {width}px; font: 13px sans-serif; }}</style>{body}"
        )
        lines = blank.locator("h2, h3").evaluate(LINES)
        if width == 800:
            assert len(lines) == 1, "side by side where there is room"
        else:
            assert len(lines) > 1
            assert {round(left) for left, _ in lines} == {round(lines[0][0])}
