"""Two notebooks of one cluster: its ranks are debugged from the one whose cell has failed."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.ui.conftest import open_notebook, shot
from tests.ui.lab import Lab
from tests.ui.notebook.debugging import POINT, execute, toggle_breakpoint
from tests.ui.panel.cells import run_cell

pytestmark = [pytest.mark.browser, pytest.mark.processes, pytest.mark.timeout(240)]

START = "%load_ext dtrain_lab\n%distributed start --ranks 3 --name two"
ATTACH = "%load_ext dtrain_lab\n%distributed attach two"
FAILS = """%%distributed
def bad(n):
    secret = 40 + n
    raise ValueError(secret)
bad(rank)"""
OPEN = """path => window.jupyterapp.commands.execute('docmanager:open', { path, factory: 'Notebook' })
    .then(panel => panel.sessionContext.ready).then(() => null)"""
IN_FRONT = "path => window.jupyterapp.shell.currentWidget?.context?.path === path"
RUN = """async index => {
    const { shell, commands } = window.jupyterapp;
    shell.currentWidget.content.activeCellIndex = index;
    await commands.execute('notebook:run-cell').catch(() => null);
}"""


def test_a_failed_cell_is_debugged_in_its_own_notebook(lab: Lab, page: Any) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    first = lab.notebook("first.ipynb", [START, "%%distributed\nx = 1"])
    second = lab.notebook("second.ipynb", [ATTACH, FAILS, "%%distributed\nprint('later')"])
    open_notebook(page, lab, first)
    run_cell(page, 0)
    page.get_by_text("two is ready").wait_for()
    ranks = page.locator(".jp-DtrainDebug-ranks")
    front = page.locator(".jp-NotebookPanel:visible")
    front.locator(".jp-DebuggerBugButton").click()
    ranks.get_by_text("Ready to debug 3 ranks.").wait_for()
    page.evaluate(OPEN, second)
    page.wait_for_function(IN_FRONT, arg=second)
    for index in range(2):
        page.evaluate(RUN, index)
    cells = front.locator(".jp-CodeCell")
    looks = cells.nth(1).get_by_role("button", name="Debug rank 0 here")
    looks.click()
    ranks.get_by_text("Paused on 3 ranks").wait_for()
    page.wait_for_function(IN_FRONT, arg=second)
    front.get_by_role("button", name="Disable Debugger").wait_for()
    # its own cell is marked, and named
    cells.nth(1).locator(".jp-DtrainDebug-marks").get_by_text("ranks 0–2").wait_for()
    ranks.locator("[data-rank='0']").get_by_text("cell").wait_for()
    page.get_by_text("The debugger of first.ipynb is off, as both use two.").first.wait_for()
    shot(page, "debugger-of-two")

    # one rank leaves the others there: a click on its error says why it can't be looked at
    ranks.get_by_role("radio", name="Rank 0").click()
    ranks.get_by_role("radio", name="Rank 0", checked=True).wait_for()
    execute(page, "debugger:continue")
    ranks.get_by_text("Paused on 2 ranks").wait_for()
    looks.click()
    page.get_by_text("Rank 0 was continued, and ranks 1–2 are still paused").first.wait_for()

    # and a cell that waits names the others
    page.evaluate(f"index => void ({RUN})(index)", 2)
    cells.nth(2).get_by_text(re.compile("waiting until ranks 1.–.2, paused in the debugger")).wait_for()
    execute(page, "notebook:interrupt-kernel")
    cells.nth(2).get_by_text("waiting until").wait_for(state="detached")
    ranks.get_by_text("Paused on 2 ranks").wait_for()

    # Stop ends the post-mortem once no cell waits
    execute(page, "notebook:interrupt-kernel")
    ranks.get_by_text("Ready to debug 3 ranks.").wait_for()
    page.get_by_text("The post-mortem has ended").first.wait_for()
    lab.request("DELETE", "clusters/two")


STOPS = """%%distributed
a = rank
b = a + 1
c = b + 1
print('ran', c)"""


def test_ranks_are_taken_over_from_the_notebook_that_debugs_them(lab: Lab, page: Any) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    first = lab.notebook("holds.ipynb", [START.replace("3", "2"), STOPS])
    second = lab.notebook("refused.ipynb", [ATTACH, STOPS])
    open_notebook(page, lab, first)
    run_cell(page, 0)
    page.get_by_text("two is ready").wait_for()
    ranks = page.locator(".jp-DtrainDebug-ranks")
    front = page.locator(".jp-NotebookPanel:visible")
    execute(page, "dtrain-lab:show-panel")
    continues = page.locator(".jp-DtrainUi-actions").get_by_role("button", name="Continue")

    def show(notebook: str) -> None:
        page.evaluate(OPEN, notebook)
        page.wait_for_function(IN_FRONT, arg=notebook)

    show(second)
    page.evaluate(RUN, 0)
    show(first)
    front.locator(".jp-DebuggerBugButton").click()
    ranks.get_by_text("Ready to debug 2 ranks.").wait_for()

    # a cell that is run right after clicks in its gutter waits for the last one of them
    cell = front.locator(".jp-CodeCell").nth(1)
    for line in (5, 4, 3, 2):
        toggle_breakpoint(page, cell, line)
    page.evaluate(f"index => void ({RUN})(index)", 1)
    ranks.get_by_text("Paused on 2 ranks").wait_for()
    ranks.locator("[data-rank='0']", has_text=re.compile(r"line\s2")).wait_for()
    for line in (5, 4, 3):
        toggle_breakpoint(page, cell, line)
        cell.locator(POINT).nth(line - 2).wait_for(state="detached")

    # the other notebook is refused, shows its breakpoints all the same, and leads to the paused ranks
    show(second)
    front.locator(".jp-DebuggerBugButton[aria-pressed='false']").click()
    ranks.get_by_text("The debugger is not attached to the ranks.").wait_for()
    ranks.get_by_text("holds.ipynb is debugging these ranks. Turn the debugger off there first.").wait_for()
    toggle_breakpoint(page, front.locator(".jp-CodeCell").nth(1), 4)
    front.locator(".jp-CodeCell").nth(1).locator(POINT).wait_for()
    ranks.get_by_role("button", name="Go to the paused ranks").click()
    page.wait_for_function(IN_FRONT, arg=first)
    page.get_by_text("Ranks 0–1 are paused here.").first.wait_for()

    # they are continued from either notebook
    show(second)
    ranks.get_by_text("The debugger is not attached to the ranks.").wait_for()
    continues.click()
    page.wait_for_function(IN_FRONT, arg=first)
    ranks.get_by_text("Ready to debug 2 ranks.").wait_for()

    show(second)
    ranks.get_by_role("button", name="Debug here instead").click()
    ranks.get_by_text("Ready to debug 2 ranks.").wait_for()
    page.wait_for_function(IN_FRONT, arg=second)
    page.evaluate(f"index => void ({RUN})(index)", 1)
    ranks.get_by_text("Paused on 2 ranks").wait_for()
    ranks.locator("[data-rank='0']", has_text=re.compile(r"line\s4")).wait_for()
    continues.click()
    ranks.get_by_text("Ready to debug 2 ranks.").wait_for()
    lab.request("DELETE", "clusters/two")
