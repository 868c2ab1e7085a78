"""A real hang, seen where people look: card, lines of two cells, status bar, tab, Stacks; then it is gone."""

from __future__ import annotations

from typing import Any

import pytest

from tests.ui.conftest import open_notebook, shot
from tests.ui.geometry import assert_inside
from tests.ui.lab import Lab
from tests.ui.panel.cells import Panel, fits, run_cell

pytestmark = [pytest.mark.browser, pytest.mark.processes, pytest.mark.timeout(240)]

START = "%load_ext dtrain_lab\n%distributed start watched --name hang"
ATTACH = "%load_ext dtrain_lab\n%distributed attach hang"
FUNCTION = """%%distributed
import time, torch.distributed as dist
def rest():
    time.sleep(600)
print("defined", rank)"""
STUCK = """%%distributed
dist.barrier()
if rank == 1:
    rest()  # LONG
dist.barrier()""".replace("LONG", "longer than what is seen of its cell" * 9)
LIBRARY = """import time
def load():
    while True: time.sleep(0.05)
"""
IN_A_FILE = """%%distributed
import sys; sys.path.insert(0, FOLDER)
import torch.distributed as dist, stored
if rank == 1:
    stored.load()
dist.barrier()"""
CALM = "() => document.querySelectorAll('.jp-DtrainDebug-marks, .jp-DtrainStatus-attention').length === 0"


def cell(page: Any, index: int) -> Any:
    return page.locator(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-CodeCell").nth(index)


def keeps_stacks(answer: Any) -> bool:
    """The layout was saved, with the view of stacks in it."""
    asked = answer.request
    return "/api/workspaces/" in asked.url and asked.method == "PUT" and "dtrain-stacks" in asked.post_data


def theme(page: Any, name: str) -> None:
    page.evaluate("n => window.jupyterapp.commands.execute('apputils:change-theme', {theme: n})", name)
    light = "true" if name.endswith("Light") else "false"
    page.locator(f"body[data-jp-theme-light='{light}']").wait_for(state="attached")
    page.locator("#jupyterlab-splash").wait_for(state="detached")


def test_a_hang_is_seen_where_people_look_and_gone_when_it_is(lab: Lab, page: Any) -> None:
    profiles = lab.work.parent / "config" / "dtrain-lab" / "profiles"
    profiles.mkdir(parents=True, exist_ok=True)
    (profiles / "watched.toml").write_text("ranks_per_node = 2\n[watch]\nstuck_after_s = 3.0\n")
    page.set_viewport_size({"width": 1440, "height": 900})
    # the notebook that was attached first is not the one whose cell hangs
    open_notebook(page, lab, lab.notebook("first.ipynb", [START, STUCK]))
    run_cell(page, 0)
    page.get_by_text("hang is ready").wait_for()
    (lab.work / "stored.py").write_text(LIBRARY)
    in_a_file = IN_A_FILE.replace("FOLDER", repr(str(lab.work)))
    lab.notebook("second.ipynb", [ATTACH, FUNCTION, STUCK, in_a_file])
    page.evaluate("window.jupyterapp.commands.execute('docmanager:open', {path: 'second.ipynb'})")
    page.locator("#jp-main-statusbar").get_by_text("| Idle").wait_for()
    cell(page, 2).wait_for()
    for index in (0, 1, 2):
        cell(page, index).locator(".cm-content").click()
        page.keyboard.press("Shift+Enter")
    page.keyboard.press("Alt+Shift+D")
    panel = Panel(page)
    panel.says("Rank 1 is stuck. 1 rank waits for it.")

    # at the lines, also of a function that another cell defines
    cell(page, 1).locator("[data-kind=stuck]", has_text="rank 1 is here").wait_for()
    cell(page, 2).locator("[data-kind=waits]", has_text="rank 0 waits here").wait_for()
    assert cell(page, 2).locator(".cm-scroller").evaluate("e => e.scrollWidth > e.clientWidth")
    for index in (1, 2):
        marks = cell(page, index).locator(".jp-DtrainDebug-marks").all()
        assert_inside(cell(page, index).locator(".jp-InputArea-editor"), marks)
    line = cell(page, 1).locator(".jp-DtrainDebug-stuckLine")
    assert "time.sleep(600)" in line.inner_text()
    # in the status bar and on the tab, in words
    page.locator(".jp-DtrainStatus button[data-attention]", has_text="hang: rank 1 is stuck, ").wait_for()
    tab = page.get_by_role("tab", name="rank 1 is stuck")
    assert "jp-DtrainStatus-attention" in tab.get_attribute("class")
    assert page.locator(".Toastify__toast").count() == 0, "the card is in view"
    assert fits(panel)
    shot(page, "hang-light")
    theme(page, "JupyterLab Dark")
    shot(page, "hang-dark")
    theme(page, "JupyterLab Light")

    # from the card to the line, also where another notebook is in front
    page.get_by_role("tab", name="first.ipynb").click()
    panel.node.get_by_role("button", name="cell [2], line 4").click()
    cell(page, 1).locator(".cm-content:focus").wait_for()
    assert "second.ipynb" in page.locator(".lm-TabBar-tab.jp-mod-current", has_text="ipynb").inner_text()
    page.get_by_role("tab", name="first.ipynb").click()
    assert cell(page, 1).locator(".jp-DtrainDebug-marks").count() == 0, "the same cell of another notebook"

    # Stacks: the culprit first; they come back after a reload
    with page.expect_response(keeps_stacks):
        panel.press("Stacks")
    view = page.locator(".jp-DtrainStacks")
    groups = view.locator("section")
    groups.first.get_by_text("rank 0 waits for it").wait_for()
    assert groups.first.get_attribute("aria-label") == "Rank 1"
    assert view.get_by_role("button", name="Refresh").is_enabled()
    frames = groups.first.locator(".jp-DtrainStacks-frame")
    assert "rest" in frames.last.inner_text()
    assert "time.sleep(600)" in frames.last.inner_text()
    folded = groups.last.locator(".jp-DtrainStacks-library").first
    assert not folded.locator("li").first.is_visible()
    folded.locator("summary").press("Enter")
    folded.get_by_text("distributed_c10d.py").first.wait_for()
    shot(page, "stacks-light")
    page.set_viewport_size({"width": 1024, "height": 800})
    theme(page, "JupyterLab Dark")
    shot(page, "stacks-dark")
    page.reload()
    page.locator("#jupyterlab-splash").wait_for(state="detached")
    page.get_by_role("tab", name="Stacks: hang").click()
    groups.first.get_by_text("rank 0 waits for it").wait_for()
    view.get_by_role("button", name="cell [2], line 4").first.click()
    cell(page, 1).locator("[data-kind=stuck]", has_text="rank 1 is here").wait_for()

    # an interrupt ends all of it, and is no alarm
    panel.press("Interrupt, keep variables")
    panel.says("Ready. 2 ranks wait for a cell.")
    page.wait_for_function(CALM)
    page.locator(".jp-DtrainStatus button:not([data-attention])", has_text="hang: 2 ranks").wait_for()
    assert page.locator(".Toastify__toast--error").count() == 0

    # in a file of the user's: the mark is at the line of the cell that called it, and the card links to both
    page.get_by_role("tab", name="second.ipynb").click()
    cell(page, 3).locator(".cm-content").click()
    page.keyboard.press("Shift+Enter")
    panel.says("Rank 1 is stuck. 1 rank waits for it.")
    cell(page, 3).locator("[data-kind=waits]", has_text="rank 0 waits here").wait_for()
    stuck = cell(page, 3).locator("[data-kind=stuck]")
    stuck.get_by_text("rank 1 is here, in stored.py, line 3").wait_for()
    panel.node.locator("dd", has_text="called from cell [").first.wait_for()
    panel.node.get_by_role("button", name="stored.py, line 3").click()
    page.locator("#jp-main-statusbar").get_by_text("Ln 3, Col 1").wait_for()
    page.get_by_role("tab", name="stored.py").wait_for()

    # the debugger of the notebook whose cell runs, not of the one that was attached first
    page.get_by_role("tab", name="first.ipynb").click()
    panel.press("Debug rank 1")
    page.locator(".lm-TabBar-tab.jp-mod-current", has_text="second.ipynb").wait_for()
    page.locator(".jp-DtrainDebug-ranks").get_by_text("stored.py, line 3").first.wait_for()
    panel.press("Interrupt")
    panel.says("Ready. 2 ranks wait for a cell.")
    page.wait_for_function(CALM)
    lab.request("DELETE", "clusters/hang")
