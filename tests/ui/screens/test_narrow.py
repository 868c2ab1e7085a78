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


@pytest.fixture
def blank(browser: Any) -> Iterator[Any]:
    page = browser.new_page(viewport={"width": 900, "height": 700})
    yield page
    page.close()


def show(page: Any, body: str, width: int) -> None:
    sheets = "".join((STYLE / f"{name}.css").read_text() for name in ("ui", "cluster", "job"))
    fonts = "--jp-code-font-size: 13px; --jp-code-font-family: monospace;"
    page.set_content(
        f"<style>{sheets} body {{ {fonts} font: 13px sans-serif; }}</style>"
        f"<main style='width: {width}px; overflow: auto'>{body}</main>"
    )


def test_the_problem_of_a_long_name_wraps(blank: Any) -> None:
    show(blank, FIELD, 420)
    assert blank.locator("main").evaluate("e => e.scrollWidth <= e.clientWidth")


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
