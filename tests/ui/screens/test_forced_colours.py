"""Where the user's own colours replace ours, what only a colour says can still be seen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.browser

STYLE = Path(__file__).parents[3] / "style"
COLOURS = """:root { --jp-brand-color1: blue; --jp-warn-color0: red; --jp-warn-color1: orange;
  --jp-layout-color1: white; --jp-layout-color2: #eee; --jp-ui-font-color1: black; --jp-dtrain-own: grey;
  --jp-border-width: 1px; }
body { margin: 40px; font: 13px sans-serif; }"""
SPLIT = """<div class="jp-Dtrain jp-DtrainUi-view"><span id="shown" class="jp-DtrainUi-split">
<span data-part="{}" style="width: 100%"></span></span></div>"""
LEGEND = """<div class="jp-Dtrain jp-DtrainUi-view"><span id="shown" class="jp-DtrainUi-legend">
<span data-part="{}">a part</span></span></div>"""
SCALE = '<div id="shown" class="jp-DtrainRanks-scale"><span><i data-step="{}"></i> +20 %</span></div>'
SQUARE = '<div id="shown" class="jp-DtrainRanks-cells"><button {}>1</button></div>'
LIST = '<ul id="shown" class="jp-DtrainUi-list"><li {}>train</li></ul>'
TOOL = '<div id="shown"><button class="jp-DtrainUi-button" aria-pressed="{}">Follow</button></div>'
CHIP = '<div id="shown"><button class="jp-DtrainUi-chip" aria-pressed="{}">Fold repeats</button></div>'
MARK = """<div id="shown" class="cm-line {}Line">time.sleep(60)<span class="jp-DtrainDebug-marks">
<span data-kind="{}">rank 1 is here</span></span></div>"""
GLYPH = """<div id="shown" style="--jp-ui-font-color2: white"><svg viewBox="0 0 16 16"
class="jp-DtrainUi-glyph" data-kind="in collective"><path d="{}"/></svg></div>"""
LOG = """<div id="shown" style="position: relative; height: 24px">
<div class="jp-DtrainJob-logRow" {}>KeyError</div></div>"""


@pytest.fixture
def forced(browser: Any) -> Iterator[Any]:
    page = browser.new_page(viewport={"width": 400, "height": 200}, forced_colors="active")
    yield page
    page.close()


def picture(page: Any, body: str) -> bytes:
    sheets = "".join((STYLE / f"{name}.css").read_text() for name in ("ui", "ranks", "job", "debug"))
    page.set_content(f"<style>{COLOURS} {sheets}</style>{body}")
    taken: bytes = page.locator("#shown").screenshot()
    return taken


@pytest.mark.parametrize(
    ("body", "one", "other"),
    [
        (SPLIT, "own", "transfer"),
        (SPLIT, "waiting", "transfer"),
        (LEGEND, "waiting", "transfer"),
        (SCALE, "0.25", "1"),
        (SQUARE, "", "data-slow"),
        (LIST, "", "data-selected"),
        (TOOL, "false", "true"),
        (CHIP, "false", "true"),
        (GLYPH, "", "M3 8h10"),
        (LOG, "", "data-error"),
        (LOG, "data-error", "data-error data-culprit"),
    ],
    ids=[
        "own",
        "waiting",
        "legend",
        "scale",
        "square",
        "list",
        "tool",
        "chip",
        "glyph",
        "error",
        "first-error",
    ],
)
def test_what_differs_looks_different(forced: Any, body: str, one: str, other: str) -> None:
    assert picture(forced, body.format(one)) != picture(forced, body.format(other))


def test_a_row_of_a_list_that_is_not_chosen_has_no_bar(forced: Any) -> None:
    plain = picture(forced, LIST.format(""))
    forced.add_style_tag(content=".jp-DtrainUi-list li { border-left-color: Canvas !important; }")
    assert forced.locator("#shown").screenshot() == plain


def test_a_line_where_a_rank_is_stuck_has_its_mark_and_differs_from_others(forced: Any) -> None:
    other, stuck = MARK.format("", "stuck"), MARK.format("jp-DtrainDebug-stuck", "stuck")
    unmarked = "<style>[data-kind='stuck']::before { visibility: hidden; }</style>"
    assert picture(forced, other) != picture(forced, unmarked + other)
    assert picture(forced, other) != picture(forced, stuck)
