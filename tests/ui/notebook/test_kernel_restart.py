"""A notebook that got its cluster from the page, without a magic in it, after a restart of its kernel."""

from __future__ import annotations

from typing import Any

import pytest

from tests.ui.conftest import open_notebook
from tests.ui.lab import PATIENCE, Lab
from tests.ui.panel.cells import output

pytestmark = [pytest.mark.browser, pytest.mark.processes, pytest.mark.timeout(240)]

CELLS = ["%%distributed\nprint('first', world_size)", "%%distributed\nprint('second')"]
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
