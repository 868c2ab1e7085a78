"""Cells of ranks in a real browser: the bar, the choice of rank, figures, failures, the Ranks view."""

from __future__ import annotations

import json
import re
from importlib.metadata import version
from typing import Any

import pytest
from packaging.version import Version

from tests.ui.conftest import open_notebook, shot
from tests.ui.lab import PATIENCE, TOKEN, Lab
from tests.ui.panel.cells import RECORD_TOASTS, output, run_cell
from tests.ui.states.state import PANEL

pytestmark = [pytest.mark.browser, pytest.mark.processes, pytest.mark.timeout(240)]

START = "%load_ext dtrain_lab\n%distributed start --ranks 4"
FIGURES = """%%distributed
import matplotlib.pyplot as plt
plt.figure(figsize=(2, 1)); plt.plot([1, 2 + rank]); plt.show()"""
FAILS = """%%distributed 0,2-3
import torch.distributed as dist
print(f"{0 if rank == 2 else 24000:,} rows")
def normalize(n):
    return max([] if rank == 2 else [1])
mean = normalize(3)
dist.barrier()"""
RICH = """%%distributed
from IPython.display import HTML, display
print("\\x1b[31mred\\x1b[0m, see https://pytorch.org/docs.")
print(f"rank {rank} of 4 on cpu; the sum over all ranks is 4")
print("a very long line " * 40 + "x" * 400)
plt.figure(figsize=(20, 4)); plt.plot([1, 2 + rank]); plt.show()
for i in range(2):
    plt.figure(figsize=(1, 1)); plt.plot([i, 2 + rank]); plt.show()
print("between")
display(HTML("<table><tr><td>first</td><td>second</td></tr></table>"))
print("the end")"""
TRAINS = """%%distributed
import time, sys, torch, torch.distributed as dist
from tqdm import tqdm
from torch.nn.parallel import DistributedDataParallel as DDP
print("world", world_size)
if rank == 2:
    print("skipped", file=sys.stderr)
model = DDP(torch.nn.Linear(64, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for _ in tqdm(range(400)):
        if rank == 3:
            time.sleep(0.012)
        model(torch.randn(32, 64)).square().mean().backward()
        optimizer.step(); optimizer.zero_grad(); time.sleep(0.003)
    print(f"epoch {epoch} loss {2 + rank / 10}")"""


LENGTH = 200_000 if Version(version("jupyterlab")) >= Version("4.4") else 20_000
"""Before that JupyterLab's own search for links takes time that grows with the square of a line's length."""
LONG = f"%%distributed\nprint('y' * {LENGTH})\nprint('after')"
LATER = "%%distributed --no-wait\nfor i in range(3):\n    print('same', i)\nif rank == 1:\n    1 / 0"
TICKS = "%%distributed\nimport time\nfor i in range(6000):\n    print(i); time.sleep(0.1)"

NOTEBOOK = "window.jupyterapp.shell.currentWidget.content"
GEOMETRY = """cell => {
    const box = node => node.getBoundingClientRect();
    const view = cell.querySelector('.jp-DtrainOutput');
    const editor = box(cell.querySelector('.jp-InputArea-editor'));
    const wrong = [];
    const seen = [...cell.querySelectorAll('.jp-DtrainOutput-lines > li')].filter(n => n.checkVisibility());
    let bottom = box(view.querySelector('.jp-DtrainOutput-bar')).bottom;
    for (const line of seen) {
        const [label, text] = [...line.children].map(box);
        if (box(line).top < bottom - 0.5) wrong.push(['over the line before', line.textContent]);
        if (label.right > text.left) wrong.push(['label on its text', line.textContent]);
        if (line.scrollWidth > line.clientWidth + 1) wrong.push(['cut', line.textContent]);
        bottom = box(line).bottom;
    }
    for (const node of [view, ...view.querySelectorAll('*')]) {
        const { left, right, width } = box(node);
        if (width && (left < editor.left - 1 || right > editor.right + 1))
            wrong.push(['outside its cell', node.className, node.textContent.slice(0, 80)]);
    }
    for (const button of view.querySelectorAll('button:not(.jp-DtrainUi-link), select'))
        if (box(button).height < 23.5 || box(button).width < 23.5) wrong.push(['small', button.textContent]);
    for (const shown of cell.querySelectorAll('[data-dtrain-rank]')) {
        if (!shown.checkVisibility()) continue;
        const output = box(shown.querySelector('.jp-OutputArea-output'));
        const figure = shown.dataset.dtrainKind === 'figure';
        const badge = getComputedStyle(shown, figure ? '::after' : '::before');
        if (badge.position !== 'static') wrong.push(['badge on its content', shown.dataset.dtrainRank]);
        const room = figure ? box(shown).bottom - output.bottom : output.left - box(shown).left;
        if (room < 16) wrong.push(['no room for the badge', room, shown.dataset.dtrainRank]);
        if (output.right > editor.right + 1) wrong.push(['outside', shown.dataset.dtrainRank]);
    }
    const parts = cell.querySelectorAll(`.jp-DtrainOutput, .jp-DtrainOutput-more,
        .jp-DtrainOutput-between, .jp-OutputArea-child`);
    const last = Math.max(...[...parts]
        .filter(n => n.checkVisibility()).map(n => box(n).bottom));
    if (box(cell).bottom - last > 16) wrong.push(['empty space below', box(cell).bottom - last]);
    return wrong;
}"""


def assert_laid_out(page: Any, index: int) -> None:
    """Lines lie below each other, nothing is cut or covered, and everything is inside its cell."""
    page.locator(".jp-Notebook .jp-CodeCell").nth(index).scroll_into_view_if_needed()
    assert page.locator(".jp-Notebook .jp-CodeCell").nth(index).evaluate(GEOMETRY) == []


def glyph(page: Any, index: int, word: str) -> None:
    """Wait until a cell's bar says this state."""
    output(page, index).locator(f".jp-DtrainOutput-bar svg[aria-label='{word}']").wait_for()


def timed(page: Any, index: int) -> None:
    """Wait until a cell's bar says how long the ranks have run it, however short that was."""
    output(page, index).locator(".jp-DtrainOutput-state", has_text=re.compile(r"\d\s(ms|s)\b")).wait_for()


def reopen(page: Any, lab: Lab, path: str) -> None:
    """Load the page anew; its kernel may be busy."""
    page.goto(f"{lab.url}/lab/workspaces/again/tree/{path}?token={TOKEN}&reset")
    page.locator("#jupyterlab-splash").wait_for(state="detached")
    page.locator(".jp-Notebook .jp-CodeCell").first.wait_for()


def test_the_output_of_ranks_and_their_view(lab: Lab, page: Any) -> None:
    open_notebook(page, lab, lab.notebook("prep.ipynb", [START, FIGURES, FAILS, TRAINS, RICH]))
    run_cell(page, 0)
    page.get_by_text("local-4 is ready").wait_for()

    run_cell(page, 1)
    cell = page.locator(".jp-Notebook .jp-CodeCell").nth(1)
    cell.locator("[data-dtrain-rank] img").nth(3).wait_for()
    timed(page, 1)
    assert cell.locator("[data-dtrain-rank] img").count() == 4
    output(page, 1).get_by_role("button", name="Rank 2").click()
    cell.locator("[data-dtrain-rank]:visible").nth(1).wait_for(state="detached")
    assert cell.locator("[data-dtrain-rank]:visible").get_attribute("data-dtrain-rank") == "2"
    output(page, 1).get_by_role("button", name="Together").click()

    run_cell(page, 2)
    bar = output(page, 2).get_by_role("group", name="Output of ranks")
    bar.get_by_text("Rank 2 failed.", exact=True).wait_for()
    bar.get_by_text("Ranks 0, 3 were interrupted in barrier; variables are kept.").wait_for()
    failure = output(page, 2).locator(".jp-DtrainOutput-failure")
    failure.get_by_text("Rank 2 failed: ValueError: max()").wait_for()
    failure.locator("[data-here]", has_text="----> 5     return max(").wait_for()
    failure.get_by_text("4 def normalize(n):").first.wait_for()
    failure.get_by_role("button", name="Debug rank 2 here").wait_for()
    compare = failure.get_by_role("button", name="Compare variables")
    assert compare.get_attribute("aria-disabled") != "true"
    assert_laid_out(page, 1)
    assert_laid_out(page, 2)
    assert page.locator(".jp-CodeCell").nth(2).locator(".jp-OutputArea-child:visible").count() == 0
    rows = output(page, 2).locator(".jp-DtrainOutput-lines").inner_text()
    assert "24,000 rows" in rows
    failure.get_by_role("button", name="cell [3], line 6").click()
    page.get_by_text("Ln 6, Col 1").wait_for()

    run_cell(page, 3)
    out = output(page, 3)
    out.get_by_text("world 4").wait_for()
    out.locator("progress").first.wait_for()
    out.get_by_text("epoch 0 loss 2.0 (2.0 to 2.3)").wait_for()
    out.locator("li[data-error]", has_text="skipped").wait_for()
    out.get_by_text("samples/s").wait_for()
    status = page.locator("#jp-main-statusbar .jp-DtrainStatus")
    status.get_by_text("samples/s · communication").wait_for()
    page.locator(".jp-Toolbar").get_by_role("button", name="local-4").wait_for()
    out.scroll_into_view_if_needed()
    shot(page, "cells")

    assert_laid_out(page, 3)
    timed(page, 2)
    timed(page, 3)
    page.wait_for_function(f"() => {NOTEBOOK}.widgets[3].model.executionCount === 4")
    run_cell(page, 4)
    rich = page.locator(".jp-Notebook .jp-CodeCell").nth(4)
    output(page, 4).get_by_text("rank 0…3 of 4 on cpu; the sum over all ranks is 4").wait_for()
    assert output(page, 4).locator(".ansi-red-fg").inner_text() == "red"
    assert output(page, 4).get_by_role("link").get_attribute("href") == "https://pytorch.org/docs"
    timed(page, 4)
    more = rich.get_by_role("button", name="Show 4 more")
    more.wait_for()
    tops = rich.locator("[data-dtrain-kind=figure]:visible").evaluate_all(
        "nodes => nodes.map(n => Math.round(n.getBoundingClientRect().top))"
    )
    assert len(tops) == 8
    assert len(set(tops)) < 8, "figures lie side by side"
    between, end = (rich.locator("li", has_text=text) for text in ("between", "the end"))
    assert between.count() == end.count() == 1
    assert between.bounding_box()["y"] > max(tops), "what is printed after a figure stands below it"
    table = rich.locator("[data-dtrain-kind=wide]:visible").last.bounding_box()
    assert between.bounding_box()["y"] < table["y"] < end.bounding_box()["y"]
    assert_laid_out(page, 4)
    shot(page, "rich")
    more.click()
    more.wait_for(state="detached")
    assert rich.locator("[data-dtrain-rank]:visible").count() == 16
    assert_laid_out(page, 4)
    copied = output(page, 4).evaluate(
        "n => { getSelection().selectAllChildren(n.querySelector('ul')); return getSelection().toString(); }"
    )
    assert "0–3" not in copied, "labels are not copied"
    assert "red, see https://pytorch.org/docs." in copied

    status.get_by_role("button").click()
    page.get_by_role("button", name="Open ranks view").click()
    view = page.locator(".jp-DtrainUi-view")
    rank3 = view.locator("[data-row='3']")
    rank3.wait_for()
    shot(page, "ranks")
    # the slowest is above, which a busy machine may have made another one
    first = view.locator("[data-row]").first
    top = first.get_attribute("data-row")
    first.click()
    page.keyboard.press("End")
    page.wait_for_function("top => document.activeElement.dataset.row !== top", arg=top)
    view.get_by_role("columnheader", name="Rank").get_by_role("button").click()
    view.get_by_label("Filter ranks").fill("0-1")
    view.locator("[data-row='3']").wait_for(state="detached")
    assert view.locator("[data-row]").count() == 2
    view.get_by_label("Filter ranks").fill("")

    # nothing was saved: what the page loses with a reload comes back from the journal
    page.reload()
    page.locator("#jupyterlab-splash").wait_for(state="detached")
    # The page opens as it was left: whether the view of ranks is in front is JupyterLab's to say.
    page.locator(".lm-TabBar-tab", has_text="prep.ipynb").click()
    # cells out of view are not drawn: ask the notebook itself, once it is there
    notebook = "window.jupyterapp?.shell?.currentWidget?.content"
    page.wait_for_function(f"() => {notebook}?.widgets?.length >= 5")
    # Ask again until it stays: the cells above grow as their outputs come back
    page.wait_for_function(
        f"""() => {{
            {notebook}.scrollToItem(3);
            const lines = {notebook}.widgets[3].node.querySelector('.jp-DtrainOutput');
            return lines?.checkVisibility() && lines.textContent.includes('epoch 1 loss 2.0 (2.0 to 2.');
        }}""",
        polling=250,
    )
    output(page, 2).get_by_text("Rank 2 failed: ValueError").first.wait_for()
    assert page.locator(".jp-Notebook .jp-CodeCell").nth(1).locator("[data-dtrain-rank] img").count() == 4
    shot(page, "replayed")
    lab.request("DELETE", "clusters/local-4")


def test_a_long_output_is_cut_in_the_page_and_whole_in_the_journal(lab: Lab, page: Any) -> None:
    start = "%load_ext dtrain_lab\n%distributed start --ranks 2 --name long"
    prints = "%%distributed\nfor i in range(40_000):\n    print('line', i)\nprint('the end')"
    open_notebook(page, lab, lab.notebook("long.ipynb", [start, prints]))
    run_cell(page, 0)
    page.get_by_text("long is ready").wait_for()
    run_cell(page, 1)
    output(page, 1).get_by_text("the end").first.wait_for()  # two, where ranks are 10 ms apart
    page.wait_for_function(
        """() => {
            const cell = window.jupyterapp.shell.currentWidget.content.widgets[1];
            const texts = cell.model.outputs.toJSON().map(o => o.text ?? '');
            const length = texts.reduce((n, t) => n + (Array.isArray(t) ? t.join('') : t).length, 0);
            return length > 100000 && length <= 400000 && texts.join('').includes('left out of the middle');
        }"""
    )
    text = output(page, 1).inner_text()
    assert "line 0" in text
    # what the page has not kept comes from the journal, in steps
    left = output(page, 1).locator(".jp-DtrainOutput-left")
    # rows of both ranks are as many as the lines of one; "to", if each were of one rank
    least, most = (int(n.replace(",", "")) for n in re.findall(r"[\d,]+", left.inner_text()))
    # both ranks print alike; a few lines were cut in two where they came in pieces
    assert 40_001 - 2000 <= least <= 40_001 - 1900 < most
    left.get_by_role("button", name="Show more").click()
    page.wait_for_function(
        "([n, least]) => Number(n.textContent.match(/[\\d,]+/)[0].replaceAll(',', '')) < least",
        arg=[left.element_handle(), least],
    )
    pieces = lab.request("GET", "clusters/long/output?most=100000")
    for rank in range(2):
        whole = "".join(p["text"] or "" for p in pieces if p["ranks"] == [rank])
        assert whole == "".join(f"line {i}\n" for i in range(40_000)) + "the end\n"
    lab.request("DELETE", "clusters/long")


# at once: of these 30 MB a server would pass on three
FLOOD = """%%distributed
print("\\n".join(f"{'x' * 60} line {i} {rank}" for i in range(200_000)))
print('the end')"""


def test_a_flood_of_lines_reaches_the_page_whole_or_says_what_is_left_out(lab: Lab, page: Any) -> None:
    start = "%load_ext dtrain_lab\n%distributed start --ranks 2 --name flood"
    open_notebook(page, lab, lab.notebook("flood.ipynb", [start, FLOOD]))
    run_cell(page, 0)
    page.get_by_text("flood is ready").wait_for()
    run_cell(page, 1)
    page.wait_for_function(
        f"() => {NOTEBOOK}.widgets[1].model.executionCount === 2", timeout=120_000 * PATIENCE
    )
    output(page, 1).get_by_text("the end").first.wait_for()  # two, where ranks are 10 ms apart
    glyph(page, 1, "done")
    text = "".join(
        page.evaluate(f"() => {NOTEBOOK}.widgets[1].model.outputs.toJSON().flatMap(o => o.text ?? [])")
    )
    assert "rate exceeded" not in text
    left = sum(int(n) for n in re.findall(r"^… (\d+) lines are left out", text, re.MULTILINE))
    # equal lines are one, and a line that came in two pieces, on a busy machine, is two
    assert 400_001 <= len(re.findall(r"^\[\d", text, re.MULTILINE)) + left < 440_000
    # what the page has not kept comes from the journal
    output(page, 1).locator(".jp-DtrainOutput-left").get_by_role("button", name="Show more").click()
    output(page, 1).get_by_text("line 1500 0", exact=False).first.wait_for()
    lab.request("DELETE", "clusters/flood")


WAITS = """%%distributed
import os, time
print("first", rank)
while not os.path.exists("go-on"):
    time.sleep(0.05)
print("last", rank)"""


def test_a_run_is_known_after_a_reload_a_rename_and_a_restart_and_not_to_a_copy(lab: Lab, page: Any) -> None:
    for left in ("renamed.ipynb", "go-on"):  # by a first try
        (lab.work / left).unlink(missing_ok=True)
    start = "%load_ext dtrain_lab\n%distributed start --ranks 2 --name runs"
    path = lab.notebook("runs.ipynb", [start, WAITS, "%%distributed\nprint('soon', rank)"])
    copy = lab.notebook("runs-Copy1.ipynb", ["%load_ext dtrain_lab\n%distributed attach runs", WAITS, WAITS])
    open_notebook(page, lab, path)
    run_cell(page, 0)
    page.get_by_text("runs is ready").wait_for()

    # saved in mid-run, its magic edited since, then loaded again: the rest comes, and the state is true
    run_cell(page, 1)
    run_cell(page, 2)
    output(page, 1).get_by_text("first").wait_for()
    glyph(page, 1, "running")
    glyph(page, 2, "waiting")
    page.wait_for_function(f"() => {NOTEBOOK}.widgets[1].model.getMetadata('dtrain')?.state === 'running'")
    page.evaluate(f"() => {NOTEBOOK}.widgets[1].model.sharedModel.setSource('print(1)')")
    page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
    page.wait_for_function("() => !window.jupyterapp.shell.currentWidget.context.model.dirty")
    reopen(page, lab, path)
    output(page, 1).get_by_text("first").wait_for()
    glyph(page, 1, "running")
    output(page, 1).get_by_text("running for").wait_for()
    page.locator(".jp-CodeCell").nth(1).locator(".jp-InputPrompt", has_text="[*]:").wait_for()

    # renamed while it runs, and loaded again
    page.evaluate("() => window.jupyterapp.shell.currentWidget.context.rename('renamed.ipynb')")
    page.wait_for_function("() => window.jupyterapp.shell.currentWidget.context.path === 'renamed.ipynb'")
    reopen(page, lab, "renamed.ipynb")
    glyph(page, 1, "running")

    # a copy has run nothing of this; and a cell of it says whom it waits for
    with page.expect_response(lambda response: "cells?last=1" in response.url):
        reopen(page, lab, copy)
    page.locator("#jp-main-statusbar").get_by_text("| Idle").wait_for()
    run_cell(page, 0)
    page.get_by_text("This notebook uses runs").wait_for()
    assert page.evaluate(f"() => {NOTEBOOK}.widgets[1].model.outputs.length") == 0
    assert page.evaluate(f"() => {NOTEBOOK}.widgets[1].model.getMetadata('dtrain') ?? null") is None
    run_cell(page, 2)
    output(page, 2).get_by_text("waiting for [2] of renamed.ipynb").wait_for()
    page.evaluate("() => window.jupyterapp.commands.execute('notebook:interrupt-kernel')")
    output(page, 2).get_by_text("It was interrupted while queued.").first.wait_for()

    (lab.work / "go-on").touch()
    reopen(page, lab, "renamed.ipynb")
    glyph(page, 1, "done")
    output(page, 1).get_by_text("last").wait_for()
    page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
    page.wait_for_function("() => !window.jupyterapp.shell.currentWidget.context.model.dirty")
    saved = json.loads((lab.work / "renamed.ipynb").read_text())["cells"][1]
    assert "last 0" in json.dumps(saved["outputs"])
    run = saved["metadata"]["dtrain"]
    assert run["state"] == "done"
    assert run["ended"] > run["started"]

    # a restart of the kernel interrupts what runs, and says so; what was printed is not lost
    (lab.work / "go-on").unlink()
    page.evaluate(f"source => {NOTEBOOK}.widgets[1].model.sharedModel.setSource(source)", WAITS)
    run_cell(page, 1)
    output(page, 1).get_by_text("first").wait_for()
    glyph(page, 1, "running")
    # the toast names the cell that the panel knows to run
    page.evaluate("void window.jupyterapp.commands.execute('dtrain-lab:show-panel')")
    page.locator(PANEL).get_by_text("Running cell").first.wait_for()
    page.evaluate(RECORD_TOASTS)
    page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
    page.wait_for_function("() => window.toasts.some(text => text.includes('restart interrupts cell'))")
    [told] = [text for text in page.evaluate("window.toasts") if "restart interrupts cell" in text]
    assert re.search(r"interrupts cell \[\d+\]\. The ranks of runs keep their variables\.", told)
    glyph(page, 1, "interrupted")
    output(page, 1).get_by_text("Interrupted by a restart of the kernel.").wait_for()
    output(page, 1).get_by_text("The ranks keep their variables.").wait_for()
    output(page, 1).get_by_text("first").wait_for()
    assert output(page, 1).locator("[data-failed]").count() == 0, "one's own interrupt is no alarm"

    # cleared by the user: it stays so
    page.evaluate(f"() => {{ {NOTEBOOK}.activeCellIndex = 1; }}")
    page.evaluate("() => window.jupyterapp.commands.execute('notebook:clear-cell-output')")
    page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
    page.wait_for_function("() => !window.jupyterapp.shell.currentWidget.context.model.dirty")
    with page.expect_response(lambda response: "cells?last=1" in response.url):
        reopen(page, lab, "renamed.ipynb")
    page.wait_for_function(f"() => {NOTEBOOK}?.widgets[1]")
    assert page.evaluate(f"() => {NOTEBOOK}.widgets[1].model.outputs.length") == 0
    lab.request("DELETE", "clusters/runs")


def test_a_long_line_is_shown_and_a_cell_says_that_its_cluster_was_stopped(lab: Lab, page: Any) -> None:
    start = "%load_ext dtrain_lab\n%distributed start --ranks 2 --name long"
    open_notebook(page, lab, lab.notebook("long.ipynb", [start, LONG, TICKS, LATER, "%distributed wait"]))
    run_cell(page, 0)
    page.get_by_text("long is ready").wait_for()
    run_cell(page, 1)
    glyph(page, 1, "done")
    lines = output(page, 1).locator("li")
    lines.filter(has_text="after").wait_for()
    first = lines.first.inner_text()
    assert re.search(r"y{5000} … \d+ characters of this line are left out … y{5000}", first)
    assert_laid_out(page, 1)

    # what a cell in the background has written is shown as its own output
    run_cell(page, 3)
    glyph(page, 3, "failed")
    # a failed one shows its output itself, in place of what says how to see it
    output(page, 3).get_by_text("ZeroDivisionError").first.wait_for()
    output(page, 3).locator("li").filter(has_text="same 2").first.wait_for()
    assert not output(page, 3).get_by_text("was started in the background").count()
    run_cell(page, 4)
    glyph(page, 4, "failed")
    output(page, 4).get_by_text("Rank 1 failed").first.wait_for()
    output(page, 4).locator("li").filter(has_text="same 2").first.wait_for()
    assert_laid_out(page, 4)

    run_cell(page, 2)
    output(page, 2).get_by_text("running for").wait_for()
    # the record of its end goes with the cluster, mostly before the page has asked for it
    page.route("**/cells?last=1", lambda route: route.abort())
    page.evaluate("window.jupyterapp.commands.execute('dtrain-lab:stop-cluster', {ask: false})")
    glyph(page, 2, "stopped")
    output(page, 2).get_by_text("The cluster was stopped in JupyterLab at ").wait_for()
    timed(page, 2)
    kept = page.evaluate(f"{NOTEBOOK}.widgets[2].model.getMetadata('dtrain')")
    assert kept["state"] == "failed"
    assert kept["ended"] > kept["started"]
    assert [part["code"] for part in kept["said"]] == ["stopped"], "by its code, in whatever language"
    assert kept["said"][0]["values"]["by"] == "server"
    # an empty display would be an empty block in a page that nbconvert makes
    saved = page.evaluate(f"{NOTEBOOK}.widgets[2].model.outputs.toJSON()")
    assert {one["output_type"] for one in saved} <= {"stream", "error"}
