"""Accessibility of everything that we draw, by axe, in light, dark and high contrast."""

from __future__ import annotations

from typing import Any

import pytest

from tests.ui.conftest import open_notebook, shot
from tests.ui.lab import Lab
from tests.ui.panel.cells import output, run_cell
from tests.ui.screens.axe import AXE

pytestmark = [pytest.mark.browser, pytest.mark.processes, pytest.mark.timeout(240)]

OURS = [".jp-Dtrain", ".jp-DtrainOutput", ".jp-DtrainStatus", ".jp-DtrainNotebook-picker"]
THEMES = ["JupyterLab Light", "JupyterLab Dark", "JupyterLab Dark High Contrast"]
CELLS = [
    "%load_ext dtrain_lab\n%distributed start --ranks 2 --name access",
    "%%distributed\nimport sys\nprint('out', rank)\nprint('err', file=sys.stderr)",
    "%%distributed\nif rank == 1:\n    raise ValueError('no')",
]


def findings(page: Any) -> list[str]:
    """What axe has against our own parts of the page."""
    result = page.evaluate(
        """async ours => {
            const include = ours.filter(s => document.querySelector(s)).map(s => [s]);
            return await axe.run({ include }, { resultTypes: ['violations'] });
        }""",
        OURS,
    )
    return [
        f"{found['id']}: {node['html'][:200]} ({node['failureSummary']})"
        for found in result["violations"]
        for node in found["nodes"]
    ]


def test_axe_finds_nothing(lab: Lab, page: Any) -> None:
    open_notebook(page, lab, lab.notebook("access.ipynb", CELLS))
    run_cell(page, 0)
    page.get_by_text("access is ready").wait_for()
    run_cell(page, 1)
    output(page, 1).get_by_text("out 0…1").wait_for()
    run_cell(page, 2)
    output(page, 2).get_by_text("ValueError: no").first.wait_for()
    page.keyboard.press("Alt+Shift+D")
    page.add_script_tag(path=str(AXE))
    found = []
    for theme in THEMES:
        page.evaluate(
            "theme => window.jupyterapp.commands.execute('apputils:change-theme', { theme })", theme
        )
        page.locator(f"body[data-jp-theme-name='{theme}']").wait_for(state="attached")
        page.locator("#jupyterlab-splash").wait_for(state="detached")
        found += [f"{theme}: cells: {f}" for f in findings(page)]
        open_view = page.get_by_role("button", name="Open ranks view")
        open_view.click()
        page.locator(".lm-TabBar-tab", has_text="Ranks:").locator(".lm-TabBar-tabCloseIcon").click()
        page.locator(".lm-TabBar-tab", has_text="Ranks:").wait_for(state="detached")
        open_view.click()
        page.locator(".jp-DtrainUi-view [data-row='1']").wait_for()
        found += [f"{theme}: ranks view: {f}" for f in findings(page)]
        shot(page, f"access-{theme.split()[-1].lower()}")
        page.get_by_role("tab", name="access.ipynb").click()
        page.locator(".jp-Toolbar").get_by_role("button", name="Submit").click()
        page.locator(".jp-DtrainJob-submitReport").get_by_text("cells convert").wait_for()
        page.locator(".jp-DtrainJob-submitForm select").first.focus()
        page.keyboard.press("Tab")
        page.keyboard.press("Shift+Tab")
        page.locator(".jp-DtrainJob-submitForm select:focus").wait_for()
        style = "e => getComputedStyle(e).outlineStyle"
        found += [
            f"{theme}: no focus to be seen"
            for shown in [page.locator(".jp-DtrainJob-submitForm select:focus").evaluate(style)]
            if shown != "solid"
        ]
        page.locator(".jp-DtrainJob-submitForm summary").click()
        found += [f"{theme}: form: {f}" for f in findings(page)]
        shot(page, f"access-form-{theme.split()[-1].lower()}")
        page.locator(".lm-TabBar-tab", has_text="Submit:").locator(".lm-TabBar-tabCloseIcon").click()
        page.get_by_role("tab", name="access.ipynb").click()
    lab.request("DELETE", "clusters/access")
    assert not found, "\n".join(found)
