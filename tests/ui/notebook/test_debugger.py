"""All ranks in JupyterLab's own debugger, in a real browser."""

from __future__ import annotations

import re
from typing import Any

import psutil
import pytest

from tests.hosts import command_line
from tests.ui.conftest import open_notebook, shot
from tests.ui.lab import PATIENCE, Lab
from tests.ui.notebook.debugging import HAS_NAMES, POINT, execute, in_view, stack, toggle_breakpoint
from tests.ui.panel.cells import output, run_cell

pytestmark = [pytest.mark.browser, pytest.mark.processes, pytest.mark.timeout(240)]

START = "%load_ext dtrain_lab\n%distributed start --ranks 4 --name dbg"
CELL = """%%distributed
import torch, torch.distributed as dist
def step(x, i):
    y = x * 2
    z = y + i
    dist.all_reduce(z)
    w = z.sum().item()
    return w
total = 0
for i in range(3):
    total += step(torch.ones(2) * rank, i)
print(total)"""
FAILS = """%%distributed
def bad(n):
    secret = 40 + n
    return 1 / (n - 2)
bad(rank)
dist.barrier()"""

IN_NOTEBOOK = "() => !!document.activeElement.closest('.jp-NotebookPanel')"
COUNT_TAKEN = """() => {
    const taken = { count: 0 };
    addEventListener('focusin', e => { taken.count += e.target.closest('.jp-NotebookPanel') ? 1 : 0; });
    return taken;
}"""


HAS_ROOM = """() => {
    const [ranks, across] = ['ranks', 'across'].map(id => document.querySelector(`#dtrain-debug-${id}`));
    return ranks.scrollHeight <= ranks.clientHeight && across.clientHeight >= 84;
}"""


OFFERS_NEXT = "#jp-debugger-sidebar [data-command='debugger:next']:not([aria-disabled='true'], [disabled])"


def at_lines(page: Any, text: str) -> None:
    """All ranks stand at this place."""
    grid = page.locator(".jp-DtrainDebug-grid")
    for rank in range(4):
        grid.locator(f"[data-rank='{rank}']").get_by_text(text, exact=True).wait_for()


def test_ranks_are_stepped_compared_and_looked_at_after_a_failure(lab: Lab, page: Any) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    open_notebook(page, lab, lab.notebook("dbg.ipynb", [START, CELL, FAILS]))
    run_cell(page, 0)
    page.get_by_text("dbg is ready").wait_for()
    page.locator(".jp-DebuggerBugButton").click()
    ranks = page.locator(".jp-DtrainDebug-ranks")
    ranks.get_by_text("Ready to debug 4 ranks.").wait_for()
    cell = page.locator(".jp-Notebook .jp-CodeCell").nth(1)
    cell.locator(".cm-breakpoint-gutter").first.wait_for()
    toggle_breakpoint(page, cell, 5)
    points = page.locator(".jp-DtrainDebug-points li")
    # its first line, as another cell has not run either
    points.get_by_text('cell [ ] "import torch, torch.dist…", line 5').first.wait_for()
    assert page.locator(".jp-DebuggerBreakpoint:visible").count() == 0, "one breakpoint is listed once"

    # all ranks stop, and step together over the collective
    run_cell(page, 1)
    ranks.get_by_text("Paused on 4 ranks.").wait_for()
    stack(page, 5)
    place = page.locator(".jp-DebuggerCallstackFrame-location").first.inner_text()
    if HAS_NAMES:
        assert place.replace("\u00a0", " ") == "cell [2]:5"
    # one name, and the number that it will get
    points.get_by_role("button", name=re.compile(r"^cell.\[2\], line.5$")).wait_for()
    for line in (6, 7):
        # JupyterLab activates the notebook when a stack has come, some time later
        ranks.locator("[aria-selected='true']").focus()
        execute(page, "debugger:next")
        stack(page, line)
        at_lines(page, f"cell [2], line {line}")
        page.wait_for_function(IN_NOTEBOOK)
    output(page, 1).get_by_text("Paused on 4 ranks at cell [2], line 7.").wait_for()
    assert "running" not in output(page, 1).locator(".jp-DtrainOutput-bar").inner_text()

    # another rank's variables, by keyboard, which stays where it is
    taken = page.evaluate_handle(COUNT_TAKEN)
    looked_at = ranks.locator("[aria-selected='true']")
    if looked_at.get_attribute("data-rank") == "1":
        ranks.locator("[data-rank='0']").click()
        page.wait_for_function("taken => taken.count > 0", arg=taken)
        page.evaluate("taken => { taken.count = 0; }", taken)
    looked_at.focus()
    for key in ("Home", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    ranks.locator("[data-rank='1'][aria-selected='true']").wait_for()
    page.wait_for_function("taken => taken.count > 0", arg=taken)
    ranks.locator("[data-rank='1']:focus").wait_for()
    stack(page, 7)

    # values across ranks
    across = page.locator(".jp-DtrainDebug-across")
    for expression in ("x", "z", "rank"):
        box = page.get_by_label("Add an expression")
        box.fill(expression)
        box.press("Enter")
        across.locator(f"[data-expression='{expression}']").wait_for()
    across.locator("[data-expression='z']").get_by_text("on all ranks").wait_for()
    across.locator("[data-expression='x']").get_by_text("largest difference 3").wait_for()
    across.locator("[data-expression='x']").get_by_text("3: [3, 3]").wait_for()
    shot(page, "debugger")
    # on a small screen, too, ranks are whole, and more than the head of the values is seen
    page.set_viewport_size({"width": 1024, "height": 768})
    page.wait_for_function(HAS_ROOM)
    in_view(ranks.locator("[data-rank='3']"))
    values = across.locator("[data-expression='x'] th code")
    values.scroll_into_view_if_needed()
    in_view(values)
    page.set_viewport_size({"width": 1440, "height": 900})

    page.locator(".jp-DebuggerVariables-name").get_by_text("y", exact=True).click(button="right")
    page.locator(".lm-Menu").get_by_text("Compare Across Ranks").click()
    across.locator("[data-expression='y']").get_by_text("largest difference 6").wait_for()

    # one rank alone waits, and the others are brought to it
    execute(page, "debugger:continue")
    stack(page, 5)
    at_lines(page, "cell [2], line 5")
    ranks.get_by_role("radio", name="Rank 1").click()
    ranks.get_by_role("radio", name="Rank 1", checked=True).wait_for()
    execute(page, "debugger:next")
    stack(page, 6)
    execute(page, "debugger:next")
    ranks.get_by_text("Rank 1 waits in all_reduce for ranks").wait_for()
    marks = cell.locator(".jp-DtrainDebug-marks > [data-kind]")
    marks.get_by_text("rank 1, in all_reduce").wait_for()
    marks.get_by_text("ranks 0, 2–3").wait_for()
    in_view(ranks.get_by_role("button", name="Step the others to it"))
    columns = "e => getComputedStyle(e).gridTemplateColumns.split(' ').length"
    assert ranks.locator(".jp-DtrainDebug-grid").evaluate(columns) >= 4
    shot(page, "debugger-waits")
    ranks.get_by_role("button", name="Step the others to it").click()
    at_lines(page, "cell [2], line 7")
    ranks.get_by_role("radio", name="All ranks").click()
    ranks.get_by_role("radio", name="All ranks", checked=True).wait_for()

    # a condition by rank, without touching the cell
    points.get_by_role("button", name="Add a condition").click()
    edit = page.locator(".jp-DtrainDebug-edit")
    edit.get_by_label("Stop if").fill("rank ==")
    in_view(edit.get_by_role("button", name="Save"))
    in_view(edit.get_by_label("Stop if"))
    shot(page, "debugger-condition")
    edit.get_by_role("button", name="Save").click()
    edit.get_by_role("alert").get_by_text("The condition can't be read").wait_for()
    edit.get_by_label("Stop if").fill("rank == 2 and i == 2")
    edit.get_by_role("button", name="Save").click()
    points.get_by_text("rank == 2 and i == 2").first.wait_for()
    asks = cell.locator(".cm-breakpoint-gutter .jp-DtrainDebug-asks")
    (asks.locator(".cm-breakpoint-icon") if HAS_NAMES else asks).wait_for()
    execute(page, "debugger:continue")
    ranks.get_by_text("Paused on 1 rank.").wait_for()
    ranks.locator("[data-rank='2'][data-phase='paused'][aria-selected='true']").wait_for()
    stack(page, 5)
    toggle_breakpoint(page, cell, 5)
    points.first.wait_for(state="detached")
    execute(page, "debugger:continue")
    output(page, 1).get_by_text("96.0").wait_for()

    # a condition stays with its line while the cell is edited
    toggle_breakpoint(page, cell, 5)
    points.get_by_role("button", name="Add a condition").click()
    edit.get_by_label("Stop if").fill("rank == 9")
    edit.get_by_role("button", name="Save").click()
    points.filter(has_text="line 5").get_by_text("rank == 9").first.wait_for()
    source = "window.jupyterapp.shell.currentWidget.content.widgets[1].model.sharedModel"
    page.evaluate(f"{source}.updateSource(14, 14, '# new\\n')")
    points.filter(has_text="line 6").get_by_text("rank == 9").first.wait_for()
    points.nth(1).wait_for(state="detached")  # the one of the text before
    toggle_breakpoint(page, cell, 6)
    points.first.wait_for(state="detached")
    page.evaluate(f"{source}.updateSource(14, 20, '')")

    # where a cell failed, on all ranks
    run_cell(page, 2)
    output(page, 2).get_by_text("Rank 2 failed: ZeroDivisionError").first.wait_for()
    in_view(ranks.get_by_role("button", name="Look where it failed"))
    across_ranks = page.locator("#dtrain-debug-across").bounding_box()["height"]
    assert across_ranks >= 60, "what has less to say gives its room back"
    ranks.get_by_role("button", name="Look where it failed").click()
    ranks.locator("[data-rank='2'][data-phase='paused']").wait_for()
    ranks.locator("[data-rank='2']").click()
    stack(page, 4)
    page.locator(".jp-DebuggerVariables").get_by_text("secret").wait_for()
    shot(page, "debugger-failure")
    execute(page, "debugger:continue")
    ranks.locator("[data-phase='paused']").first.wait_for(state="detached")

    # and the ranks go on as if nothing had been; of what they were, nothing is said any more
    page.locator(".jp-DebuggerBugButton").click()
    ranks.get_by_text("The debugger is off.").wait_for()
    assert ranks.get_by_role("button").count() == 0
    assert across.locator("[data-expression='x'] td").first.inner_text() == ""
    run_cell(page, 1)
    output(page, 1).get_by_text("96.0").wait_for()
    lab.request("DELETE", "clusters/dbg")


def test_a_cell_that_is_run_right_after_an_edit_stops_at_its_breakpoint(lab: Lab, page: Any) -> None:
    """JupyterLab sends the breakpoints of an edited cell a second after the last key."""
    start = START.replace("dbg", "edited").replace("4", "2")
    open_notebook(page, lab, lab.notebook("edited.ipynb", [start, CELL]))
    run_cell(page, 0)
    page.get_by_text("edited is ready").wait_for()
    page.locator(".jp-DebuggerBugButton").click()
    ranks = page.locator(".jp-DtrainDebug-ranks")
    ranks.get_by_text("Ready to debug 2 ranks.").wait_for()
    cell = page.locator(".jp-Notebook .jp-CodeCell").nth(1)
    cell.locator(".cm-breakpoint-gutter").first.wait_for()
    toggle_breakpoint(page, cell, 9)
    points = page.locator(".jp-DtrainDebug-points li")
    points.get_by_text("cell [ ], line 9").first.wait_for()
    for line in (10, 11, 12):
        cell.locator(".cm-content").click()
        for key in ("Control+Home", "End", "Enter", "#", "Control+Enter"):
            page.keyboard.press(key)
        ranks.get_by_text("Paused on 2 ranks.").wait_for()
        stack(page, line, 1)
        for rank in range(2):
            ranks.locator(f"[data-rank='{rank}']").get_by_text(f", line {line}").wait_for()
        points.get_by_text(f", line {line}").first.wait_for()
        points.nth(1).wait_for(state="detached")  # one row, however often the cell was edited
        assert points.count() == 1
        execute(page, "debugger:continue")
        ranks.get_by_text("Ready to debug 2 ranks.").wait_for()
    page.locator(".jp-DebuggerBugButton").click()
    ranks.get_by_text("The debugger is off.").wait_for()
    lab.request("DELETE", "clusters/edited")


STANDS = """%%distributed
def stand():
    n = 0
    while rank == 1 and n < 10**12:
        n += 1
        time.sleep(0.01)
stand()
dist.barrier()"""


def test_the_rank_that_others_wait_for_is_debugged_from_the_panel(lab: Lab, page: Any) -> None:
    page.set_viewport_size({"width": 1440, "height": 1100})
    start = START.replace("dbg", "hangs").replace("4", "2")
    open_notebook(
        page,
        lab,
        lab.notebook("hangs.ipynb", [start, "%%distributed\nimport time, torch.distributed as dist", STANDS]),
    )
    run_cell(page, 0)
    page.get_by_text("hangs is ready").wait_for()
    run_cell(page, 1)
    run_cell(page, 2)
    execute(page, "dtrain-lab:show-panel")
    card = page.locator(".jp-DtrainCluster-card")
    # a double click is one order
    card.get_by_role("button", name="Debug rank 1").dblclick(timeout=60_000 * PATIENCE)
    ranks = page.locator(".jp-DtrainDebug-ranks")
    ranks.locator("[data-rank='1'][data-phase='paused'][aria-selected='true']").wait_for()
    page.locator(".jp-DebuggerVariables-name").get_by_text("n", exact=True).wait_for()
    cell = page.locator(".jp-Notebook .jp-CodeCell").nth(2)
    cell.locator(".jp-DtrainDebug-marks").get_by_text("rank 0, in barrier").wait_for()
    cell.locator(".jp-DtrainDebug-marks").get_by_text("rank 1", exact=True).wait_for()
    shot(page, "debugger-hang")
    page.locator(".jp-DebuggerBugButton").click()
    ranks.get_by_text("The debugger is off.").wait_for()
    assert "configuration done" not in output(page, 2).inner_text()
    execute(page, "notebook:interrupt-kernel")
    output(page, 2).get_by_text("Interrupted.", exact=True).wait_for()
    lab.request("DELETE", "clusters/hangs")


RAISES = """%%distributed
limit = rank + 1
def normalize(rows, limit):
    if rank == 1:
        raise ValueError(rows)
normalize([3, 4], limit)"""


def test_the_first_look_at_where_a_rank_failed_shows_its_variables(lab: Lab, page: Any) -> None:
    start = START.replace("dbg", "failed").replace("4", "2")
    open_notebook(
        page, lab, lab.notebook("failed.ipynb", [start, RAISES, RAISES.replace("ValueError", "KeyError")])
    )
    run_cell(page, 0)
    page.get_by_text("failed is ready").wait_for()
    run_cell(page, 1)
    ranks = page.locator(".jp-DtrainDebug-ranks")
    rows = page.locator(".jp-DebuggerVariables-name").get_by_text("rows", exact=True)
    for _ in range(2):  # as often as one likes; and a double click is one look
        output(page, 1).get_by_role("button", name="Debug rank 1 here").dblclick()
        ranks.locator("[data-rank='1'][data-phase='paused'][aria-selected='true']").wait_for()
        ranks.locator("[data-rank='0'][data-phase='idle']").wait_for()
        ranks.get_by_text("Paused on 1 rank: ValueError: [3, 4].").wait_for()
        rows.wait_for()
        # steps are offered, and would move rank 1, while one looks at a rank that is not paused
        ranks.locator("[data-rank='0']").click()
        page.get_by_text("Of the kernel, not of a rank:").wait_for()
        page.locator(".jp-DebuggerCallstackFrame").wait_for(state="detached")
        page.locator(OFFERS_NEXT).wait_for()
        ranks.locator("[data-rank='1']").click()
        rows.wait_for()
        page.get_by_text("Of rank 1:").wait_for()
        execute(page, "debugger:continue")
        ranks.get_by_text("Ready to debug 2 ranks.").wait_for()
    # the debugger is on already, or not: the variables of the frame that differ are shown at once
    page.locator(".jp-DebuggerBugButton").click()
    ranks.get_by_text("The debugger is off.").wait_for()
    output(page, 1).get_by_role("button", name="Compare variables").click()
    across = page.locator(".jp-DtrainDebug-across")
    across.get_by_text("1 variable differs.").wait_for()
    across.get_by_text("Only on rank 1: rows", exact=True).wait_for()
    across.locator("[data-variable='limit']").get_by_text("1: 2").wait_for()
    in_view(across.get_by_label("Add an expression"))
    shot(page, "debugger-differences")
    execute(page, "debugger:continue")
    across.locator("[data-variable='limit']").wait_for(state="detached")
    # a newer error is not taken for an older one
    run_cell(page, 2)
    output(page, 2).get_by_role("button", name="Debug rank 1 here").wait_for()
    output(page, 1).get_by_role("button", name="Debug rank 1 here").click()
    page.get_by_text("The ranks no longer have the error of this cell").first.wait_for()
    page.locator(".jp-DebuggerBugButton").click()
    # nor is a new process taken for the one that failed
    lab.request("POST", "clusters/failed/restart", {"ranks": [1]})
    output(page, 2).locator(
        "[aria-disabled='true'][title^='Rank 1 has been replaced by a new process']"
    ).first.wait_for()
    lab.request("DELETE", "clusters/failed")


OPEN = """path => window.jupyterapp.commands.execute('docmanager:open', { path, factory: 'Notebook' })
    .then(panel => panel.sessionContext.ready).then(() => null)"""


def test_after_a_reload_each_notebook_has_the_debugger_that_it_had(lab: Lab, page: Any) -> None:
    start = START.replace("dbg", "anew").replace("4", "2")
    others = [lab.notebook(f"beside{n}.ipynb", [f"{n} + 1"]) for n in range(2)]
    book = lab.notebook("anew.ipynb", [start, CELL])
    open_notebook(page, lab, book)
    run_cell(page, 0)
    page.get_by_text("anew is ready").wait_for()
    for path in (*others, book):
        page.evaluate(OPEN, path)
    front = page.locator(".jp-NotebookPanel:visible")
    ranks = page.locator(".jp-DtrainDebug-ranks")
    front.get_by_role("button", name="Enable Debugger").click()
    ranks.get_by_text("Ready to debug 2 ranks.").wait_for()
    cell = front.locator(".jp-CodeCell").nth(1)
    cell.locator(".cm-breakpoint-gutter").first.wait_for()
    toggle_breakpoint(page, cell, 5)
    page.locator(".jp-DtrainDebug-points li").get_by_text("cell [ ], line 5").first.wait_for()
    cell.locator(".cm-content").click()
    page.keyboard.press("Shift+Enter")
    stack(page, 5)
    choose = page.locator(".jp-PauseOnExceptions")
    kinds = page.locator(".jp-PauseOnExceptions-menu .lm-Menu-item")
    choose.click()
    kinds.get_by_text("uncaught", exact=True).click()
    page.wait_for_function(CHOSEN, arg="uncaught")  # a reload before would lose the choice
    page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
    page.reload()
    page.locator("#jupyterlab-splash").wait_for(state="detached")
    page.locator(".lm-TabBar-tab").get_by_text(others[1]).wait_for()
    front.get_by_role("button", name="Disable Debugger").wait_for()
    ranks.get_by_text("Paused on 2 ranks.").wait_for()
    for path in (*others, book):
        page.evaluate(OPEN, path)
        state = "Disable Debugger" if path == book else "Enable Debugger"
        front.get_by_role("button", name=state).wait_for()
        stack(page, 5)  # the sidebar stays with the one that is debugged
    page.locator(".jp-PauseOnExceptions[aria-pressed=true]").wait_for()
    choose.click()
    kinds.get_by_text("raised", exact=True).wait_for()
    page.locator(".jp-PauseOnExceptions-menu .lm-mod-toggled").get_by_text("uncaught", exact=True).wait_for()
    page.keyboard.press("Escape")
    lab.request("DELETE", "clusters/anew")


CHOSEN = """async name => {
    const { kernel } = window.jupyterapp.shell.currentWidget.sessionContext.session;
    const asked = { type: 'request', seq: 0, command: 'dtrain/exceptions', arguments: {} };
    const future = kernel.requestDebug(asked);
    const answer = new Promise(resolve => { future.onReply = resolve; });
    const { content } = await answer;
    return content.body.filters.includes(name);
}"""
"""Whether the kernel of the notebook in front pauses on these exceptions."""
HAS_POINTS = """async () => {
    const { kernel } = window.jupyterapp.shell.currentWidget.sessionContext.session;
    const future = kernel.requestDebug({ type: 'request', seq: 0, command: 'debugInfo' });
    const answer = new Promise(resolve => { future.onReply = resolve; });
    const { content } = await answer;
    return content.body.breakpoints.map(({ breakpoints }) => breakpoints.map(point => point.line))
        .filter(lines => lines.length);
}"""
"""The breakpoints that the kernel of the notebook in front has."""
TABS_OF = """name => [...window.jupyterapp.shell.widgets('main')]
    .filter(widget => widget.title.label === name).length"""
IN_FRONT = "path => window.jupyterapp.shell.currentWidget?.context?.path === path"


def kernel_of(lab: Lab, path: str) -> psutil.Process:
    """The process of a notebook's kernel."""
    [kernel] = [s["kernel"]["id"] for s in lab.request("GET", "/api/sessions") if s["path"] == path]
    [found] = [p for p in psutil.process_iter() if f"kernel-{kernel}.json" in " ".join(command_line(p))]
    return found


def test_a_click_beside_a_line_is_not_lost_while_another_kernel_is_asked(lab: Lab, page: Any) -> None:
    """JupyterLab asks the kernel of a notebook that comes to the front, and ignores such clicks meanwhile."""
    start = START.replace("dbg", "held").replace("4", "2")
    other = lab.notebook("silent.ipynb", ["1"])
    book = lab.notebook("held.ipynb", [start, CELL])
    open_notebook(page, lab, book)
    run_cell(page, 0)
    page.get_by_text("held is ready").wait_for()
    for path in (other, book):
        page.evaluate(OPEN, path)
        page.wait_for_function(IN_FRONT, arg=path)
    front = page.locator(".jp-NotebookPanel:visible")
    front.get_by_role("button", name="Enable Debugger").click()
    page.locator(".jp-DtrainDebug-ranks").get_by_text("Ready to debug 2 ranks.").wait_for()
    cell = front.locator(".jp-CodeCell").nth(1)
    cell.locator(".cm-breakpoint-gutter").first.wait_for()
    points = page.locator(".jp-DtrainDebug-points li")
    kernel = kernel_of(lab, other)
    kernel.suspend()
    try:
        for path in (other, book):
            page.evaluate(OPEN, path)
            page.wait_for_function(IN_FRONT, arg=path)
        for line in (5, 7):  # both, although the second comes before the first is set
            toggle_breakpoint(page, cell, line)
        assert points.count() == 0
    finally:
        kernel.resume()
    for line in (5, 7):
        points.get_by_text(f"cell [ ], line {line}").first.wait_for()
    lab.request("DELETE", "clusters/held")


def test_a_notebook_with_the_same_cell_has_breakpoints_of_its_own(lab: Lab, page: Any) -> None:
    """JupyterLab has one model of breakpoints for all notebooks, and gives all of it to each kernel."""
    books = [lab.notebook(f"same{n}.ipynb", ["a = 1\nb = 2\nprint(a + b)"]) for n in range(2)]
    open_notebook(page, lab, books[0])
    front = page.locator(".jp-NotebookPanel:visible")
    cell = front.locator(".jp-CodeCell").first
    icons = cell.locator(f".cm-breakpoint-gutter {POINT}")
    listed = page.locator(".jp-DebuggerBreakpoint")
    for book in books:
        page.evaluate(OPEN, book)
        page.wait_for_function(IN_FRONT, arg=book)
        front.get_by_role("button", name="Enable Debugger").click()
        front.get_by_role("button", name="Disable Debugger").wait_for()
        cell.locator(".cm-breakpoint-gutter").first.wait_for()
        if book == books[0]:
            toggle_breakpoint(page, cell, 2)
            icons.wait_for()
            listed.first.wait_for()
    asked = page.evaluate(HAS_POINTS)
    assert asked == [], "the other kernel was told of none"
    assert icons.count() == listed.count() == 0
    page.evaluate(OPEN, books[0])
    page.wait_for_function(IN_FRONT, arg=books[0])
    icons.wait_for()
    listed.first.wait_for()
    assert page.evaluate(HAS_POINTS) == [[2]]


def test_a_file_that_ranks_import_has_a_gutter_in_its_editor(lab: Lab, page: Any) -> None:
    start = START.replace("dbg", "file").replace("4", "2")
    module = "def scale(x):\n    y = 2 * x\n    return y\n"
    (lab.work / "imported.py").write_text(module)
    book = lab.notebook("file.ipynb", [start, "%%distributed\nimport imported\nprint(imported.scale(rank))"])
    open_notebook(page, lab, book)
    run_cell(page, 0)
    page.get_by_text("file is ready").wait_for()
    ranks = page.locator(".jp-DtrainDebug-ranks")
    page.locator(".jp-DebuggerBugButton").click()
    ranks.get_by_text("Ready to debug 2 ranks.").wait_for()
    page.evaluate(
        "() => window.jupyterapp.commands.execute('docmanager:open', { path: 'imported.py' }).then(() => 0)"
    )
    editor = page.locator(".jp-FileEditor:visible")
    editor.locator(".cm-breakpoint-gutter").first.wait_for()
    toggle_breakpoint(page, editor, 2)
    editor.locator(f".cm-breakpoint-gutter {POINT}").first.wait_for()
    points = page.locator(".jp-DtrainDebug-points li")
    points.get_by_role("button", name="imported.py:2", exact=True).wait_for()
    shot(page, "debugger-file")
    page.evaluate(OPEN, book)
    run_cell(page, 1)
    ranks.get_by_text("Paused on 2 ranks.").wait_for()
    ranks.locator("[data-rank='1']").get_by_text("imported.py, line 2").wait_for()
    # where the file is open, no copy of it is opened
    page.wait_for_function(IN_FRONT, arg="imported.py")
    editor.locator(".jp-DebuggerEditor-highlight").get_by_text("y = 2 * x").wait_for()
    assert page.evaluate(TABS_OF, "imported.py") == 1
    execute(page, "debugger:continue")
    editor.locator(".jp-DebuggerEditor-highlight").wait_for(state="detached")
    page.evaluate(OPEN, book)
    output(page, 1).get_by_text("0, 2").first.wait_for()
    page.locator(".jp-DebuggerBugButton").click()
    ranks.get_by_text("The debugger is off.").wait_for()
    page.locator(".cm-breakpoint-gutter").first.wait_for(state="detached")
    lab.request("DELETE", "clusters/file")
