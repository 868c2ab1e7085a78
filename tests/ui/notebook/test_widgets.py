"""Widgets of ranks in a real browser: they show, are moved and clicked, and are there after a reload."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import pytest

from tests.ui.conftest import open_notebook, shot
from tests.ui.geometry import EDGE, assert_inside
from tests.ui.lab import Lab
from tests.ui.panel.cells import run_cell
from tests.waiting import wait_until

pytestmark = [pytest.mark.browser, pytest.mark.processes, pytest.mark.timeout(240)]

START = "%load_ext dtrain_lab\n%distributed start --ranks 2 --name widgets"
WIDGETS = """%%distributed
import ipywidgets as w
slider, label = w.IntSlider(description=f'rank {rank}'), w.Label()
slider.observe(lambda change: setattr(label, 'value', f"{change['new']} on rank {rank}"), 'value')
button, out = w.Button(description=f'press {rank}'), w.Output()
def pressed(_):
    with out:
        print('pressed on', rank)
button.on_click(pressed)
def square(x):
    print(x, 'squared is', x * x)
tab = w.Tab([w.ColorPicker(value='red'), w.FileUpload(), w.Play(), w.Dropdown(options=['a', 'b'])])
tab.titles = ['colour', 'file', 'play', 'choice']
if rank == 1:
    display(w.VBox([slider, label, button, out]), w.interactive(square, x=3), tab)
else:
    display(slider)"""
BARS = """%%distributed
from tqdm.notebook import tqdm
for _ in tqdm(range(8), desc=f'epoch of {rank}'):
    for _ in tqdm(range(3), leave=False):
        pass"""

CAPTURES = """%%distributed 0
import ipywidgets as w
from IPython.display import HTML, clear_output
shown, status, drawn = w.Output(), w.Output(), w.Output()
stop, stopped = w.Button(description='stop'), []
stop.on_click(lambda _: stopped.append(1))
display(shown, status, drawn, stop)
with shown:
    print('in the widget')
    display(w.IntSlider())
for i in range(3):
    with status:
        clear_output(wait=True)
        print('status', i)
    with drawn:
        clear_output(wait=True)
        display(HTML(f'<i>drawn {i}</i>'))
print('outside')"""
LOOPS = """%%distributed 0
import time
until = time.time() + 120
while not stopped and time.time() < until: time.sleep(0.01)
print('stopped', stopped)"""

STEPS = """%%distributed
import ipywidgets as w, time
out, stop, stopped = w.Output(), w.Button(description=f'stop {rank}'), []
def pressed(_):
    stopped.append(1)
    with out:
        print('stop pressed on', rank)
stop.on_click(pressed)
display(w.VBox([stop, out]))
until = time.time() + 120
step = 0
while not stopped and time.time() < until:
    with out:
        print('step', step, 'on', rank)
    step += 1
    time.sleep(0.4)
print('left the loop')"""


def cell(page: Any, index: int) -> Any:
    return page.locator(".jp-Notebook .jp-CodeCell").nth(index)


def test_widgets_of_ranks_are_shown_moved_and_clicked(lab: Lab, page: Any) -> None:
    open_notebook(page, lab, lab.notebook("widgets.ipynb", [START, WIDGETS, BARS]))
    run_cell(page, 0)
    page.get_by_text("widgets is ready").wait_for()
    run_cell(page, 1)
    widgets = cell(page, 1)
    handle = widgets.locator(".widget-vbox .widget-slider").first.get_by_role("slider")
    handle.wait_for()
    widgets.get_by_text("rank 0", exact=True).wait_for()
    handle.focus()
    for _ in range(3):
        handle.press("ArrowRight")
    widgets.get_by_text("3 on rank 1").wait_for()
    widgets.get_by_role("button", name="press 1").click()
    widgets.locator(".jupyter-widgets.widget-vbox .jp-OutputArea").get_by_text("pressed on 1").wait_for()
    interact = widgets.locator(".widget-interact")
    interact.get_by_text("3 squared is 9").wait_for()
    interact.get_by_role("slider").press("ArrowRight")
    interact.get_by_text("4 squared is 16").wait_for()
    assert interact.get_by_text("squared is").count() == 1
    widgets.get_by_role("tab", name="choice").click()
    widgets.locator(".widget-dropdown select").wait_for()
    assert page.get_by_text("Error displaying widget").count() == 0
    shot(page, "widgets")

    run_cell(page, 2)
    for rank in range(2):
        cell(page, 2).get_by_text(f"epoch of {rank}: 100%").wait_for()
    # a bar that its rank has closed leaves no badge and no gap
    badges = cell(page, 2).locator("[data-dtrain-rank]:visible")
    badges.nth(2).wait_for(state="detached")
    assert sorted(badges.evaluate_all("all => all.map(e => e.dataset.dtrainRank)")) == ["0", "1"]
    assert cell(page, 2).locator(".widget-hprogress").count() == 2

    # a narrow window has prompts above cells: bars begin where the code does, and end in the cell
    page.set_viewport_size({"width": 640, "height": 900})
    code, output = cell(page, 2).locator(".jp-InputArea-editor"), cell(page, 2).locator(".jp-DtrainOutput")
    wait_until(
        lambda: abs(code.bounding_box()["x"] - output.bounding_box()["x"]) <= EDGE,
        10,
        "output below its code",
    )
    bars = cell(page, 2).locator(".widget-hbox:has(.widget-hprogress)").all()
    assert len(bars) == 2
    assert_inside(cell(page, 2).locator(".jp-OutputArea").first, bars)
    page.set_viewport_size({"width": 1280, "height": 900})

    # the page is loaded anew: the ranks still have their widgets
    page.keyboard.press("Control+s")
    page.locator(".jp-Document.jp-mod-dirty").wait_for(state="detached")
    page.reload()
    page.locator("#jupyterlab-splash").wait_for(state="detached")
    handle = cell(page, 1).locator(".widget-vbox .widget-slider").first.get_by_role("slider")
    handle.wait_for()
    cell(page, 1).get_by_text("3 on rank 1").wait_for()
    handle.focus()
    handle.press("ArrowRight")
    cell(page, 1).get_by_text("4 on rank 1").wait_for()
    # nothing is left of the bars that were closed
    bars = cell(page, 2).locator(".widget-hprogress")
    bars.nth(1).wait_for()
    assert (bars.count(), cell(page, 2).get_by_text("There were widgets here").count()) == (2, 0)

    # a rank gets a new process, which knows nothing of its widgets; those of the other one are as before
    lab.request("POST", "clusters/widgets/restart", {"ranks": [1]})
    cell(page, 1).get_by_text("The widgets of rank 1 are disabled: its process has ended.").wait_for()
    inert = cell(page, 1).locator("[data-dtrain-rank] [inert]")
    ranks = "all => all.map(e => e.closest('[data-dtrain-rank]').dataset.dtrainRank)"
    assert set(inert.evaluate_all(ranks)) == {"1"}
    assert cell(page, 1).locator(".widget-slider[inert]").count() == 2, "of the box, and of interactive"
    # the tabs themselves need no rank
    cell(page, 1).get_by_role("tab", name="colour").click()
    cell(page, 1).locator(".widget-colorpicker[inert]").wait_for()

    # the rank that is alive has lost the kernel that passed its messages on
    page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
    cell(page, 1).get_by_text("The widgets of rank 0 are disabled: this notebook's kernel was").wait_for()
    cell(page, 1).locator("[data-dtrain-rank='0'] .widget-slider[inert]").wait_for()
    session = "window.jupyterapp.shell.currentWidget.sessionContext"
    # a request of JupyterLab that the shutdown cancels would be an error in the browser's console
    page.wait_for_function(f"() => {session}.session?.kernel?.status === 'idle'")
    page.evaluate(f"() => {session}.session.kernel.requestKernelInfo()")
    page.evaluate(f"() => {session}.shutdown()")
    cell(page, 1).get_by_text("The widgets of rank 0 are disabled: this notebook no longer has a").wait_for()
    lab.request("DELETE", "clusters/widgets")


@pytest.mark.skipif(version("ipykernel").startswith("6"), reason="ipykernel 6 has no subshells")
def test_a_page_reloaded_while_a_cell_runs_has_what_output_widgets_show_once(lab: Lab, page: Any) -> None:
    name = "captures"
    start = START.replace("widgets", name)
    open_notebook(page, lab, lab.notebook("captures.ipynb", [start, CAPTURES, LOOPS]))
    run_cell(page, 0)
    page.get_by_text(f"{name} is ready").wait_for()
    run_cell(page, 1)
    texts = ("in the widget", "status 2", "drawn 2", "outside")
    for text in texts:
        cell(page, 1).get_by_text(text, exact=True).wait_for()

    def stored() -> bool:
        journal = lab.request("GET", f"clusters/{name}/output?after=0&most=1000")
        said = [e["data"]["transient"] for e in journal if e["kind"] == "update_display_data"]
        return len({told["taken"] for told in said if "taken" in told}) == 3

    wait_until(stored, 20, "all widgets to have their output")
    run_cell(page, 2)
    cell(page, 2).get_by_text("[*]:").wait_for()
    # nothing was saved, and the kernel is busy
    page.reload()
    page.locator("#jupyterlab-splash").wait_for(state="detached")
    button = cell(page, 1).get_by_role("button", name="stop")
    button.wait_for()
    cell(page, 1).get_by_text("outside", exact=True).wait_for()
    cell(page, 1).locator(".widget-slider").wait_for()
    for text in texts:
        shown = cell(page, 1).get_by_text(text, exact=True)
        assert shown.locator("visible=true").count() == 1, text
    for text in texts[:3]:
        cell(page, 1).locator(".jupyter-widgets").get_by_text(text, exact=True).wait_for()
    button.click()
    cell(page, 2).get_by_text("stopped [1]", exact=True).wait_for()
    lab.request("DELETE", f"clusters/{name}")


@pytest.mark.skipif(version("ipykernel").startswith("6"), reason="ipykernel 6 has no subshells")
def test_an_output_widget_has_all_that_it_captures_also_of_a_reload_in_mid_run(lab: Lab, page: Any) -> None:
    name = "steps"
    open_notebook(page, lab, lab.notebook("steps.ipynb", [START.replace("widgets", name), STEPS]))
    run_cell(page, 0)
    page.get_by_text(f"{name} is ready").wait_for()
    run_cell(page, 1)
    outs = cell(page, 1).locator(".jupyter-widgets .jp-OutputArea")

    def lines(rank: int) -> list[str]:
        return [
            line
            for text in outs.all_inner_texts()
            for line in text.split("\n")
            if line.endswith(f"on {rank}")
        ]

    wait_until(lambda: all(len(lines(rank)) > 1 for rank in range(2)), 30, "the first steps")
    page.reload()
    page.locator("#jupyterlab-splash").wait_for(state="detached")
    button = cell(page, 1).get_by_role("button", name="stop 1")
    button.wait_for()
    shown = len(lines(1))
    wait_until(lambda: all(len(lines(rank)) > shown + 3 for rank in range(2)), 30, "steps after the reload")
    # a callback prints while the page captures nothing else
    button.click()
    wait_until(lambda: "stop pressed on 1" in lines(1), 30, "the callback's line")
    more = len(lines(0))
    wait_until(lambda: len(lines(0)) > more + 3, 30, "steps of the other rank")
    cell(page, 1).get_by_role("button", name="stop 0").click()
    cell(page, 1).get_by_text("[2]:").wait_for()

    def wanted(rank: int) -> list[str]:
        steps = [line for line in lines(rank) if line.startswith("step")]
        return [*(f"step {i} on {rank}" for i in range(len(steps))), f"stop pressed on {rank}"]

    wait_until(lambda: "stop pressed on 0" in lines(0), 10, "the last line")
    for rank in range(2):
        # all steps, in order; the loop may print one after the callback
        assert sorted(lines(rank)) == sorted(wanted(rank))
    below = "e => { const all = e.cloneNode(true);"
    below += " all.querySelectorAll('.jupyter-widgets').forEach(w => w.remove()); return all.textContent; }"
    outside = cell(page, 1).locator(".jp-Cell-outputWrapper").evaluate(below)
    assert "left the loop" in outside
    assert "step" not in outside
    shot(page, "widgets-reloaded")
    lab.request("DELETE", f"clusters/{name}")


def test_an_exception_in_an_output_widget_outlives_its_process(lab: Lab, page: Any) -> None:
    name = "raises"
    raises = (
        "%%distributed\nimport ipywidgets as w\nout = w.Output()\ndisplay(out)\nwith out: 1 / 0\nprint('on')"
    )
    path = lab.notebook("raises.ipynb", [START.replace("widgets", name), raises, "%distributed restart 1"])
    open_notebook(page, lab, path)
    run_cell(page, 0)
    page.get_by_text(f"{name} is ready").wait_for()
    run_cell(page, 1)
    error = cell(page, 1).get_by_text("ZeroDivisionError: division by zero")
    wait_until(lambda: error.locator("visible=true").count() == 2, 30, "both exceptions")
    run_cell(page, 2)
    cell(page, 2).get_by_text("[3]:").wait_for()
    page.reload()
    page.locator("#jupyterlab-splash").wait_for(state="detached")
    wait_until(lambda: error.locator("visible=true").count() == 2, 30, "both exceptions after the reload")
    in_widgets = cell(page, 1).locator(".jupyter-widgets").get_by_text("ZeroDivisionError: division by zero")
    assert in_widgets.locator("visible=true").count() == 1, "that of rank 1, whose widget is gone, is outside"
    lab.request("DELETE", f"clusters/{name}")
