"""How long it takes in a browser from choosing another rank until its variables are shown."""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from playwright.sync_api import sync_playwright

from tests.ui.conftest import open_notebook
from tests.ui.lab import CHROMIUM_FLAGS, chromium, run_lab
from tests.ui.notebook.debugging import stack, toggle_breakpoint
from tests.ui.notebook.test_debugger import START
from tests.ui.panel.cells import run_cell

CELL = """%%distributed
mine = f"value of {rank}"
done = True"""
RANKS = 4
CHANGES = 20
CHOOSE = """async rank => {
  const shown = () => document.querySelector('.jp-DebuggerVariables').innerText.includes(`value of ${rank}`);
  if (shown()) return null;
  const began = performance.now();
  document.querySelector(`.jp-DtrainDebug-grid [data-rank='${rank}']`).click();
  while (!shown()) {
    if (performance.now() - began > 20000) throw new Error('its variables are not shown');
    await new Promise(resolve => requestAnimationFrame(resolve));
  }
  return performance.now() - began;
}"""


def focus_change() -> float:
    """Seconds from a click on a rank until its variables are there, the median of some."""
    with (
        tempfile.TemporaryDirectory() as root,
        run_lab(Path(root) / "lab") as lab,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=chromium(), args=CHROMIUM_FLAGS)
        page = browser.new_page(viewport={"width": 1440, "height": 1100})
        try:
            return _measure(page, lab)
        finally:
            browser.close()


def _measure(page: Any, lab: Any) -> float:
    open_notebook(page, lab, lab.notebook("focus.ipynb", [START, CELL]))
    run_cell(page, 0)
    page.get_by_text("dbg is ready").wait_for()
    page.locator(".jp-DebuggerBugButton").click()
    page.locator(".jp-DtrainDebug-ranks").get_by_text("Ready to debug 4 ranks.").wait_for()
    cell = page.locator(".jp-Notebook .jp-CodeCell").nth(1)
    cell.locator(".cm-breakpoint-gutter").first.wait_for()
    toggle_breakpoint(page, cell, 3)
    page.locator(".jp-DtrainDebug-points li").first.wait_for()
    run_cell(page, 1)
    page.get_by_text("Paused on 4 ranks.").first.wait_for()
    stack(page, 3, count=1)
    page.locator(".jp-DebuggerVariables").get_by_text("value of").wait_for()
    taken = [page.evaluate(CHOOSE, turn % RANKS) for turn in range(CHANGES)]
    page.evaluate("() => void window.jupyterapp.commands.execute('debugger:continue')")
    return float(median(ms for ms in taken if ms is not None)) / 1e3
