"""Two people on one notebook (jupyter-collaboration): cells, long output, the panel, the debugger, Submit."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.beside.conftest import RTC, watch_console
from tests.books import training
from tests.ui.conftest import open_notebook
from tests.ui.jobs.submit_form import fill, submit
from tests.ui.lab import Lab
from tests.ui.notebook.debugging import toggle_breakpoint
from tests.ui.panel.cells import Panel, output, run_cell
from tests.waiting import wait_until

pytestmark = [pytest.mark.browser, pytest.mark.processes, pytest.mark.timeout(300)]

OPTIONS = (RTC,)
START = "%load_ext dtrain_lab\n%distributed start --ranks 2 --name two"
LINES = 12_000
LONG = f"""%%distributed
import torch.distributed as dist
for i in range({LINES}):
    print('long', i, 'x' * 60)
    if i % 100 == 0:
        dist.barrier()
dist.barrier()"""
SHORT = "%%distributed\nprint('short', 6 * 7)"
TICKS = """%%distributed
import os, time
for i in range(3000):
    if os.path.exists('enough'):
        break
    print('tick', i, flush=True); time.sleep(0.1)
print('the end')"""
STEPS = "%%distributed\nx = rank\ny = x + 1\nprint('stepped', y - rank)"
CELLS = """() => window.jupyterapp.shell.currentWidget.content.widgets.map(cell => ({
    count: cell.model.executionCount,
    text: cell.model.outputs.toJSON().map(o => o.text || '').join(''),
    outputs: cell.model.outputs.length,
    run: (cell.model.getMetadata('dtrain') || {}).state || null,
}))"""
CLAIMS = """() => {
    const { awareness } = window.jupyterapp.shell.currentWidget.context.model.sharedModel;
    return [...awareness.getStates().values()].filter(state => state.dtrain).length;
}"""


@pytest.fixture
def other(browser: Any, page: Any) -> Iterator[Any]:
    """The page of another person."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    other = context.new_page()
    other.problems = page.problems
    other.on("pageerror", lambda error: "dtrain" in (error.stack or "") and page.problems.append(str(error)))
    other.set_default_timeout(40_000)
    watch_console(page)
    watch_console(other)
    yield other
    context.close()


def both_open(pages: list[Any], lab: Lab, path: str) -> None:
    """Open a notebook for both, in workspaces of their own, and wait until each knows of the other."""
    for page, name in zip(pages, ("one", "two"), strict=True):
        page.goto(f"{lab.url}/lab/workspaces/{name}?token=ui-test")
        open_notebook(page, lab, path)
    for page in pages:
        wait_until(lambda page=page: page.evaluate(CLAIMS) == 2, 30, "pages to know each other")


def cell(page: Any, index: int) -> dict[str, Any]:
    found: dict[str, Any] = page.evaluate(CELLS)[index]
    return found


def saved(lab: Lab, path: str, index: int) -> list[dict[str, Any]]:
    """Outputs of a cell in the notebook's file."""
    found: list[dict[str, Any]] = json.loads((lab.work / path).read_text())["cells"][index]["outputs"]
    return found


def text_of(outputs: list[dict[str, Any]]) -> str:
    return "".join("".join(output.get("text", "")) for output in outputs)


def runs(text: str, line: str) -> int:
    """How often ranks have printed a line: once for each of them."""
    labels = re.findall(rf"^\[([\d-]+)\] {line}$", text, re.MULTILINE)
    return sum(2 if label == "0-1" else 1 for label in labels)


def save(page: Any, lab: Lab, path: str, index: int) -> str:
    """Save, until the file has what the page shows of a cell; the cell's text."""
    text: str = cell(page, index)["text"]
    page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
    wait_until(
        lambda: text_of(saved(lab, path, index)) == text, 30, f"cell {index} to be saved as it is shown"
    )
    return text


def ran(pages: list[Any], index: int, within_s: float = 60) -> str:
    """Wait until a cell has ended, and looks the same to both; its text."""

    def same() -> bool:
        one, other = (cell(page, index) for page in pages)
        return bool(one["run"] == "done" and one["count"] and one == other)

    wait_until(same, within_s, f"cell {index} to be over and the same to both")
    text: str = cell(pages[0], index)["text"]
    return text


def test_what_one_runs_both_see_and_the_file_has_it_once(lab: Lab, page: Any, other: Any) -> None:
    pages = [page, other]
    path = lab.notebook("together.ipynb", [START, LONG, SHORT, SHORT])
    both_open(pages, lab, path)
    for each in pages:
        each.keyboard.press("Alt+Shift+D")
    run_cell(page, 0)
    for each in pages:
        Panel(each).says("Ready. 2 ranks wait for a cell.")

    run_cell(page, 1)
    text = ran(pages, 1)
    assert len(text) <= 400_000
    assert "lines are left out of the middle" in text
    for each in pages:
        output(each, 1).get_by_text(f"long {LINES - 1} x").wait_for()
    text = save(page, lab, path, 1)
    assert len(saved(lab, path, 1)) == 1
    assert [runs(text, f"long {i} x*") for i in (0, LINES - 1)] == [2, 2]

    # the other one runs, also a cell that the first had run
    run_cell(other, 2)
    assert runs(ran(pages, 2), "short 42") == 2
    run_cell(other, 1)
    wait_until(lambda: cell(other, 1)["count"] == 4, 60, "its next run")
    ran(pages, 1)
    run_cell(page, 3)
    ran(pages, 3)
    text = save(other, lab, path, 3)
    assert runs(text, "short 42") == 2
    text = text_of(saved(lab, path, 1))
    assert len(saved(lab, path, 1)) == 1
    assert [runs(text, f"long {i} x*") for i in (0, LINES - 1)] == [2, 2]

    # what one clears is cleared, and stays so
    other.locator(".jp-Notebook .jp-CodeCell").nth(2).locator(".cm-content").click()
    other.evaluate("() => window.jupyterapp.commands.execute('notebook:clear-cell-output')")
    for each in pages:
        wait_until(lambda each=each: not cell(each, 2)["outputs"], 20, "the output to go")
    assert all(cell(each, 3)["outputs"] == 1 for each in pages)
    page.afterwards.append(lab.tidy)


def test_a_cell_is_shown_to_its_end_once_the_page_that_began_it_is_closed(
    lab: Lab, page: Any, other: Any
) -> None:
    path = lab.notebook("left.ipynb", [START, TICKS])
    both_open([other, page], lab, path)
    run_cell(other, 0)
    output_of = page.locator(".jp-Notebook .jp-CodeCell")
    output_of.nth(0).get_by_text("two is ready").wait_for()
    run_cell(other, 1)
    output(page, 1).get_by_text("tick 3", exact=True).wait_for()
    other.goto("about:blank")
    wait_until(lambda: page.evaluate(CLAIMS) == 1, 60, "the other page to be gone")
    later = max(map(int, re.findall(r"tick (\d+)", cell(page, 1)["text"]))) + 50
    output(page, 1).get_by_text(f"tick {later}", exact=True).wait_for()
    (lab.work / "enough").touch()
    output(page, 1).get_by_text("the end").first.wait_for()
    wait_until(lambda: cell(page, 1)["run"] == "done", 30, "the end")
    text = save(page, lab, path, 1)
    assert [runs(text, line) for line in ("tick 0", "tick 3", f"tick {later}", "the end")] == [2, 2, 2, 2]
    page.afterwards.append(lab.tidy)


def test_both_have_the_debugger_and_submit(lab: Lab, page: Any, other: Any) -> None:
    pages = [page, other]
    training(lab.work / "train.ipynb")
    path = lab.notebook("debug.ipynb", [START, STEPS])
    both_open(pages, lab, path)
    run_cell(page, 0)
    page.get_by_text("two is ready").first.wait_for()
    page.locator(".jp-DebuggerBugButton").click()
    ranks = page.locator(".jp-DtrainDebug-ranks")
    ranks.get_by_text("Ready to debug 2 ranks.").wait_for()
    stepped = page.locator(".jp-Notebook .jp-CodeCell").nth(1)
    stepped.locator(".cm-breakpoint-gutter").first.wait_for()
    toggle_breakpoint(page, stepped, 3)
    page.locator(".jp-DtrainDebug-points li").get_by_text("cell [ ], line 3").first.wait_for()
    run_cell(page, 1)
    ranks.get_by_text("Paused on 2 ranks.").wait_for()
    # the other person sees where it stands, and is not in the way
    other.keyboard.press("Alt+Shift+D")
    Panel(other).says("aused")
    page.evaluate("() => window.jupyterapp.commands.execute('debugger:continue')")
    assert runs(ran(pages, 1), "stepped 1") == 2

    open_notebook(other, lab, "train.ipynb")
    other.locator(".jp-Toolbar:visible").get_by_role("button", name="Submit").click()
    other.locator(".jp-DtrainJob-submitHead").get_by_text("Submit train.ipynb").wait_for()
    fill(other, "steps", "6")
    fill(other, "Name", "together")
    view = submit(other)
    view.get_by_role("status").get_by_text("Done").first.wait_for(timeout=90_000)
    page.afterwards.append(lab.tidy)
