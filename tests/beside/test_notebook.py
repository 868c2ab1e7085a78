"""Notebook 7: cells, the panel, views below the document, the debugger."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.beside.conftest import NO_RTC, watch_console
from tests.ui.lab import TOKEN, Lab
from tests.ui.panel.cells import Panel, output, run_cell

pytestmark = [pytest.mark.browser, pytest.mark.processes, pytest.mark.timeout(240)]

OPTIONS = (NO_RTC,)
START = "%load_ext dtrain_lab\n%distributed start --ranks 2 --name seven"
FAILS = "%%distributed\nif rank == 1:\n    raise ValueError('bad batch')"
SAYS = "%%distributed\nprint('seven', 7 * world_size)"


def test_cells_and_the_panel_in_notebook_7(lab: Lab, page: Any) -> None:
    warned: list[str] = []
    watch_console(page)
    page.on("console", lambda message: warned.append(message.text))
    path = lab.notebook("seven.ipynb", [START, SAYS, FAILS])
    page.goto(f"{lab.url}/notebooks/{path}?token={TOKEN}")
    page.locator(".jp-Notebook .jp-CodeCell").nth(1).wait_for()
    button = page.locator(".jp-NotebookPanel-toolbar").get_by_text("No cluster")
    button.wait_for()
    # without a kernel a run is dropped
    page.locator(".jp-Notebook-ExecutionIndicator[data-status='idle']").first.wait_for()
    run_cell(page, 0)
    page.get_by_text("seven is ready").first.wait_for()
    # the toolbar knows of it, without the panel
    page.locator(".jp-NotebookPanel-toolbar").get_by_text("seven").first.wait_for()
    run_cell(page, 1)
    output(page, 1).get_by_text("seven 14").wait_for()
    output(page, 1).locator(".jp-DtrainOutput-bar").wait_for()
    page.keyboard.press("Alt+Shift+D")
    Panel(page).says("Ready. 2 ranks wait for a cell.")
    page.locator(".jp-NotebookPanel-toolbar").get_by_text("Submit").click()
    form = page.locator(".jp-DtrainJob-submit")
    form.get_by_text("Ready to submit").wait_for()
    assert form.bounding_box()["height"] > 300
    page.get_by_role("button", name="Open ranks view").click()
    page.locator(".jp-DtrainRanks-table").wait_for()
    run_cell(page, 2)
    page.get_by_role("button", name="Debug rank 1 here").click()
    page.get_by_text(re.compile("^Paused on 1 rank: ")).last.wait_for()
    assert page.locator(".jp-Notebook").count() == 1, "the page keeps its document"
    assert len(page.context.pages) == 1
    told = [text for text in warned if "dtrain-lab:" in text and "failed" in text.lower()]
    assert told == []
    page.afterwards.append(lab.tidy)
