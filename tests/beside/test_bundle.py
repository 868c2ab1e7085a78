"""Beside the extensions that people have, all installed together: no errors of ours, and the whole way."""

from __future__ import annotations

from typing import Any

import pytest

from tests.beside.conftest import NO_RTC, watch_console
from tests.books import training
from tests.ui.conftest import open_notebook
from tests.ui.jobs.submit_form import fill, submit
from tests.ui.lab import Lab
from tests.ui.notebook.debugging import toggle_breakpoint
from tests.ui.panel.cells import Panel, output, run_cell

pytestmark = [pytest.mark.browser, pytest.mark.processes, pytest.mark.timeout(300)]

OPTIONS = (NO_RTC,)
OTHERS = (
    "@jupyter/collaboration-extension",
    "@jupyter-server/resource-usage",
    "@jupyterlab/git",
    "@jupyterlab/scheduler",
    "@jupyter-lsp/jupyterlab-lsp",
    "jupyterlab-execute-time",
    "nbdime-jupyterlab",
)
START = "%load_ext dtrain_lab\n%distributed start --ranks 2 --name all"
STEPS = "%%distributed\nx = rank\ny = x + 1\nprint('stepped', y - rank)"
SAYS = "%%distributed\nprint('says', world_size)"
PLUGINS = """() => JSON.parse(document.querySelector('#jupyter-config-data').textContent)
    .federated_extensions.map(e => e.name)"""


def test_all_extensions_together_and_the_whole_way(lab: Lab, page: Any) -> None:
    watch_console(page)
    training(lab.work / "train.ipynb")
    open_notebook(page, lab, lab.notebook("all.ipynb", [START, SAYS, STEPS]))
    assert set(OTHERS) <= set(page.evaluate(PLUGINS))
    page.keyboard.press("Alt+Shift+D")
    run_cell(page, 0)
    Panel(page).says("Ready. 2 ranks wait for a cell.")
    run_cell(page, 1)
    output(page, 1).get_by_text("says 2").wait_for()

    page.locator(".jp-DebuggerBugButton").click()
    ranks = page.locator(".jp-DtrainDebug-ranks")
    ranks.get_by_text("Ready to debug 2 ranks.").wait_for()
    stepped = page.locator(".jp-Notebook .jp-CodeCell").nth(2)
    stepped.locator(".cm-breakpoint-gutter").first.wait_for()
    toggle_breakpoint(page, stepped, 3)
    page.locator(".jp-DtrainDebug-points li").get_by_text("cell [ ], line 3").first.wait_for()
    run_cell(page, 2)
    ranks.get_by_text("Paused on 2 ranks.").wait_for()
    page.evaluate("() => window.jupyterapp.commands.execute('debugger:continue')")
    output(page, 2).get_by_text("stepped 1").wait_for()

    open_notebook(page, lab, "train.ipynb")
    page.locator(".jp-Toolbar:visible").get_by_role("button", name="Submit").click()
    page.locator(".jp-DtrainJob-submitHead").get_by_text("Submit train.ipynb").wait_for()
    fill(page, "steps", "6")
    fill(page, "Name", "all")
    submit(page).get_by_role("status").get_by_text("Done").first.wait_for(timeout=90_000)
    page.afterwards.append(lab.tidy)
