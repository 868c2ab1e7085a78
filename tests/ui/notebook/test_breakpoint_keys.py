"""Breakpoints by keyboard, in a cell of ranks and in a Python file."""

from __future__ import annotations

from typing import Any

import pytest

from tests.ui.conftest import open_notebook
from tests.ui.lab import Lab
from tests.ui.notebook.debugging import POINT, execute
from tests.ui.panel.cells import run_cell

pytestmark = [pytest.mark.browser, pytest.mark.processes, pytest.mark.timeout(240)]

START = "%load_ext dtrain_lab\n%distributed start --ranks 2 --name keys"
CELL = "%%distributed\ntotal = 0\n\nfor i in range(3):\n    total += i\nprint(total)"
TOAST = ".Toastify__toast"


def test_a_breakpoint_is_set_conditioned_and_removed_by_keyboard(lab: Lab, page: Any) -> None:
    (lab.work / "steps.py").write_text("def step(x):\n    return x + 1\n")
    open_notebook(page, lab, lab.notebook("keys.ipynb", [START, CELL]))
    run_cell(page, 0)
    page.get_by_text("keys is ready").wait_for()
    cell = page.locator(".jp-Notebook .jp-CodeCell").nth(1)
    cell.locator(".cm-content").click()
    page.keyboard.press("Control+Home")
    for _ in range(4):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Control+F9")
    page.locator(TOAST).get_by_text("There are breakpoints once the debugger is on").wait_for()

    page.locator(".jp-DebuggerBugButton").click()
    page.locator(".jp-DtrainDebug-ranks").get_by_text("Ready to debug 2 ranks.").wait_for()
    cell.locator(".cm-breakpoint-gutter").first.wait_for()
    cell.locator(".cm-content").focus()
    page.keyboard.press("Control+F9")
    page.locator(TOAST).get_by_text("Breakpoint set: ").filter(has_text="line\u00a05").wait_for()
    cell.locator(POINT).wait_for()

    # its form has the focus, which comes back to the line
    execute(page, "dtrain-lab:edit-breakpoint")
    field = page.locator(".jp-DtrainDebug-edit input").first
    page.wait_for_function("field => field === document.activeElement", arg=field.element_handle())
    page.keyboard.type("rank == 1")
    page.keyboard.press("Enter")
    page.locator(".jp-DtrainDebug-points code").get_by_text("rank == 1").wait_for()

    cell.locator(".cm-content").focus()
    page.keyboard.press("Control+F9")
    page.locator(TOAST).get_by_text("Breakpoint removed: ").wait_for()
    cell.locator(POINT).wait_for(state="detached")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Control+F9")
    page.locator(TOAST).get_by_text("Line 3 is empty: go to a line with code.").wait_for()

    page.evaluate("() => void window.jupyterapp.commands.execute('docmanager:open', { path: 'steps.py' })")
    file = page.locator(".jp-FileEditor")
    file.locator(".cm-breakpoint-gutter").first.wait_for()
    file.locator(".cm-content").click()
    page.keyboard.press("Control+End")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Control+F9")
    page.locator(TOAST).get_by_text("Breakpoint set: steps.py:2.").wait_for()
