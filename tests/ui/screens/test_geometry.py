"""The checks of geometry find what they are for, in pages that are broken in one way each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ui.geometry import (
    COLOURS,
    assert_inside,
    assert_no_overlap,
    assert_no_sideways_scroll,
    assert_nothing_cut,
    assert_stacked,
    assert_targets,
    faults_of,
)

pytestmark = pytest.mark.browser

STYLE = Path(__file__).parents[3] / "style"
LINES = "".join(
    f'<li><span class="jp-DtrainOutput-label">{n}</span><span>step {n} loss {2 - n / 10}</span></li>'
    for n in range(12)
)
OUTPUT = f'<div class="jp-DtrainOutput"><ul class="jp-DtrainOutput-lines">{LINES}</ul></div>'
# as it was: the rule of the Submit preview's lines, which had the same name
SIDEWAYS = ".jp-DtrainOutput-lines { display: flex; gap: 12px; width: max-content; min-width: 100%; }"
ONE_LINE = "overflow: hidden; white-space: nowrap;"
SHORT = f"text-overflow: ellipsis; {ONE_LINE}"
BROKEN = {
    "overlap": '<b>32 ranks</b><span style="margin-left: -30px">hpc-a100</span>',
    "cut": f'<p style="width: 40px; {ONE_LINE}">gpu-07 has no torch</p>',
    "sideways": '<p style="width: 80px; overflow-x: auto; white-space: nowrap">Rank 5 is stuck. 7 wait.</p>',
    "target": '<button style="width: 60px; height: 16px; padding: 0">Stop</button>',
    "beside": '<span class="jp-DtrainUi-label" style="display: block">0-7</span> <span>a line</span>',
    "stray": '<p style="width: 90px">again, or <button style="width: 88px">copy them</button>.</p>',
}
APART = """<p style="width: 180px"><span style="white-space: nowrap"><button
style="padding: 0; border: 0; white-space: normal">comms.py, longfoldername20</button>,</span>
in all_reduce</p>"""
"""A link that is a box: its comma stands behind the box, far from its last word."""
PINNED = """<div style="height: 60px; overflow-y: auto"><div><p>step<br>loss<br>batch</p><p>more</p>
<form style="position: sticky; bottom: 0; background: white">
<input aria-label="Add" style="height: 24px"></form></div>
</div>"""
WHOLE = f"""<p>Ready. 8 ranks wait for a cell.</p>
{PINNED}
<p style="width: 60px; text-overflow: ellipsis; {ONE_LINE}" title="a long name">a long name</p>
<button style="min-height: 24px">Interrupt</button> <p>as <a href="#">a link</a> says</p>"""


@pytest.fixture
def blank(browser: Any) -> Iterator[Any]:
    page = browser.new_page(viewport={"width": 900, "height": 700})
    yield page
    page.close()


def shown(page: Any, body: str, style: str = "") -> Any:
    sheet = (STYLE / "output.css").read_text() + style
    page.set_content(f'<style>{sheet}</style><main class="jp-DtrainUi" style="width: 500px">{body}</main>')
    return page.locator("main")


def test_lines_that_run_sideways_are_found(blank: Any) -> None:
    root = shown(blank, OUTPUT)
    assert faults_of(root) == []
    assert_stacked(root.locator("li").all())
    assert_inside(root, root.locator("li").all())
    assert_no_overlap(root.locator("li").all())

    root = shown(blank, OUTPUT, SIDEWAYS)
    assert {"stacked", "cut"} <= {fault.check for fault in faults_of(root)}
    with pytest.raises(AssertionError, match="lies beside"):
        assert_stacked(root.locator("li").all())
    with pytest.raises(AssertionError, match="reaches out"):
        assert_inside(root, root.locator("li").all())


@pytest.mark.parametrize("check", BROKEN)
def test_each_kind_of_fault_is_found(blank: Any, check: str) -> None:
    assert check in {fault.check for fault in faults_of(shown(blank, BROKEN[check]))}


def test_a_comma_far_behind_its_text_is_found(blank: Any) -> None:
    assert [f.what for f in faults_of(shown(blank, APART), ["stray"])] != []
    inline = APART.replace("<button", "<span").replace("</button>", "</span>")
    assert faults_of(shown(blank, inline), ["stray"]) == []


def test_what_is_whole_is_left_alone(blank: Any) -> None:
    root = shown(blank, WHOLE)
    assert faults_of(root) == []
    for passes in (assert_nothing_cut, assert_no_sideways_scroll, assert_targets):
        passes(root)


@pytest.mark.parametrize(
    "body",
    [
        f'<p style="display: flex; width: 40px; {SHORT}" title="node">gpu-06-long</p>',
        f'<p style="width: 90px; {SHORT}" title="all">Communication <b>23 %</b></p>',
    ],
)
def test_a_title_does_not_excuse_text_without_an_ellipsis_nor_a_figure(blank: Any, body: str) -> None:
    assert [fault.check for fault in faults_of(shown(blank, body))] == ["cut"]


def test_no_expression_lies_under_the_field_for_a_new_one(blank: Any) -> None:
    rows = "".join(f"<tr><th>row{n}</th><td>412 on all ranks<br>1: 413</td></tr>" for n in range(6))
    blank.set_content(
        f"""<style>{(STYLE / "debug.css").read_text()}</style>
        <div class="jp-DtrainDebug" style="height: 104px"><div class="jp-DtrainDebug-content">
        <div class="jp-DtrainDebug-across"><div class="jp-DtrainDebug-acrossList"><div><table>{rows}</table>
        </div></div><form><input aria-label="Add"></form></div></div></div>"""
    )
    field, listed = blank.locator("form"), blank.locator(".jp-DtrainDebug-acrossList")
    box, above = field.bounding_box(), listed.bounding_box()
    assert above["y"] + above["height"] <= box["y"] + 0.5, "the list ends where the field begins"
    section = blank.locator(".jp-DtrainDebug").bounding_box()
    assert box["y"] + box["height"] <= section["y"] + section["height"], "the field is seen whole"
    last = blank.get_by_text("row5")
    last.scroll_into_view_if_needed()
    assert last.bounding_box()["y"] >= above["y"]
    assert last.bounding_box()["y"] + last.bounding_box()["height"] <= box["y"], "and so is the last row"


def test_a_badge_on_a_table_is_found(blank: Any) -> None:
    table = "<table><tr><th>loss</th></tr><tr><td>1.402</td></tr><tr><td>1.377</td></tr></table>"
    badge = "position: absolute; left: 2px; bottom: 2px; width: 20px; height: 14px; content: '0';"
    body = f'<div data-dtrain-rank="0" style="position: relative">{table}</div>'
    root = shown(blank, body, f"[data-dtrain-rank]::after {{ {badge} }}")
    assert [fault.check for fault in faults_of(root)] == ["beside"]
    root = shown(blank, body, f"[data-dtrain-rank]::after {{ {badge} bottom: -16px; }}")
    assert faults_of(root) == []


def test_text_that_is_too_faint_is_found(blank: Any) -> None:
    ground = "background: color-mix(in srgb, #1976d2 15%, #ffffff)"
    root = shown(blank, f'<p style="color: #7a7a7a; {ground}">8 ranks</p><p style="{ground}">8 ranks</p>')
    assert [fault.check for fault in faults_of(root, COLOURS)] == ["contrast"]


def test_the_target_of_a_link_may_reach_over_other_lines(blank: Any) -> None:
    tall = "margin: -9px 0; padding: 9px 0"
    link = f'<button style="border: 0; background: none; {tall}">cell 7</button>'
    framed = f'<button style="{tall}">cell 7</button>'
    assert faults_of(shown(blank, f"<p>in {link}, line 3<br>in {link}, line 9</p>")) == []
    found = faults_of(shown(blank, f"<p>in {framed}, line 3<br>in {framed}, line 9</p>"))
    assert "overlap" in {fault.check for fault in found}


def test_elements_on_each_other_are_found(blank: Any) -> None:
    root = shown(blank, BROKEN["overlap"])
    with pytest.raises(AssertionError, match="overlap"):
        assert_no_overlap(root.locator("b, span").all())
