"""A notebook whose kernel is restarted, or dies."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest

from tests.ui.conftest import open_notebook
from tests.ui.lab import PATIENCE, Lab
from tests.ui.panel.cells import RECORD_TOASTS, output, run_cell
from tests.ui.states.state import PANEL

pytestmark = [pytest.mark.browser, pytest.mark.processes, pytest.mark.timeout(240)]

CELLS = ["%%distributed\nprint('first', world_size)", "%%distributed\nprint('second')"]
START = """import os, pathlib
pathlib.Path("kernel").write_text(str(os.getpid()))
%load_ext dtrain_lab
%distributed start --ranks 2 --name w"""
GOES_ON = """%%distributed
import pathlib, time
print("first", flush=True)
while not pathlib.Path("go-on").exists():
    time.sleep(0.05)
print("last", rank)"""
RENAME = "name => window.jupyterapp.shell.currentWidget.context.rename(name)"
RESTART = """async () => {
    const { sessionContext } = window.jupyterapp.shell.currentWidget;
    await sessionContext.session.kernel.restart();
    void window.jupyterapp.commands.execute('notebook:run-all-cells');
}"""
"""As *Restart Kernel and Run All Cells*, without its question."""


def test_restart_and_run_all_goes_on_with_the_cluster(lab: Lab, page: Any) -> None:
    path = lab.notebook("restart.ipynb", CELLS)
    open_notebook(page, lab, path)
    page.keyboard.press("Alt+Shift+D")
    page.get_by_role("button", name="Start 2 ranks here").click()
    picker = page.locator(".jp-DtrainNotebook-picker:visible")
    picker.get_by_role("button", name="local-2").wait_for(timeout=30_000 * PATIENCE)
    page.evaluate("window.jupyterapp.commands.execute('notebook:run-all-cells')")
    output(page, 1).get_by_text("second").wait_for(timeout=30_000 * PATIENCE)
    # of several clusters, the kernel itself chooses by the notebook's path, which it knows from its start
    lab.request("POST", "clusters", {"profile": "local", "ranks": 1, "name": "other"})
    page.locator("#jp-main-statusbar").get_by_text("local-2").wait_for()
    for renamed in (False, True):
        if renamed:
            with page.expect_response(lambda answer: "/dtrain-lab/kernels/" in answer.url):
                page.evaluate(RENAME, "restarted.ipynb")
            page.get_by_role("tab", name="restarted.ipynb").wait_for()
        page.evaluate("window.jupyterapp.commands.execute('notebook:clear-all-cell-outputs')")
        page.evaluate(RESTART)
        output(page, 0).get_by_text("first 2").wait_for(timeout=30_000 * PATIENCE)
        output(page, 1).get_by_text("second").wait_for(timeout=30_000 * PATIENCE)
        picker.get_by_role("button", name="local-2").wait_for()


def test_a_kernel_that_dies_interrupts_no_cell(lab: Lab, page: Any) -> None:
    """It is said once, and that the ranks still run the cell, which goes on to its end."""
    open_notebook(page, lab, lab.notebook("dies.ipynb", [START, GOES_ON]))
    run_cell(page, 0)
    page.get_by_text("w is ready").wait_for()
    kernel = int((lab.work / "kernel").read_text())
    run_cell(page, 1)
    output(page, 1).get_by_text("first").wait_for()
    page.evaluate("void window.jupyterapp.commands.execute('dtrain-lab:show-panel')")
    page.locator(PANEL).get_by_text("Running cell").first.wait_for()
    page.evaluate(RECORD_TOASTS)
    os.kill(kernel, signal.SIGKILL)
    page.get_by_role("dialog").get_by_text("appears to have died").wait_for()
    page.get_by_role("dialog").get_by_role("button", name="Ok").click()
    page.wait_for_function("() => window.toasts.some(text => text.includes('cell') || text.includes('Cell'))")
    # the new kernel is there: whatever its start says has been said
    page.locator("#jp-main-statusbar").get_by_text("| Idle").wait_for()
    (lab.work / "go-on").touch()
    output(page, 1).get_by_text("last").first.wait_for()
    output(page, 1).locator(".jp-DtrainOutput-bar svg[aria-label='done']").wait_for()
    assert page.evaluate("window.toasts") == ["The kernel has died. Cell [2] still runs on the ranks of w."]
