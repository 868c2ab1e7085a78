"""Cells of ranks in a real browser: the bar, the choice of rank, figures, failures, the Ranks view."""

from __future__ import annotations

from typing import Any

import pytest

from tests.ui.conftest import open_notebook, shot
from tests.ui.lab import Lab
from tests.ui.test_panel import output, run_cell

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
            time.sleep(0.004)
        model(torch.randn(32, 64)).square().mean().backward()
        optimizer.step(); optimizer.zero_grad(); time.sleep(0.003)
    print(f"epoch {epoch} loss {2 + rank / 10}")"""


def test_the_output_of_ranks_and_their_view(lab: Lab, page: Any) -> None:
    open_notebook(page, lab, lab.notebook("prep.ipynb", [START, FIGURES, FAILS, TRAINS]))
    run_cell(page, 0)
    page.get_by_text("local-4 is ready").wait_for()

    run_cell(page, 1)
    cell = page.locator(".jp-Notebook .jp-CodeCell").nth(1)
    cell.locator("[data-dtrain-rank] img").nth(3).wait_for()
    assert cell.locator("[data-dtrain-rank] img").count() == 4
    output(page, 1).get_by_role("button", name="Rank 2").click()
    cell.locator("[data-dtrain-rank]:visible").nth(1).wait_for(state="detached")
    assert cell.locator("[data-dtrain-rank]:visible").get_attribute("data-dtrain-rank") == "2"
    output(page, 1).get_by_role("button", name="Together").click()

    run_cell(page, 2)
    bar = output(page, 2).get_by_role("group", name="Output of ranks")
    bar.get_by_text("Rank 2 failed: ValueError: max()").wait_for()
    failure = output(page, 2).locator(".jp-Dtrain-failure")
    failure.get_by_text("----> 5     return max(").wait_for()
    assert page.locator(".jp-CodeCell").nth(2).locator(".jp-OutputArea-child:visible").count() == 0
    rows = output(page, 2).locator(".jp-Dtrain-lines").inner_text()
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
    status = page.locator("#jp-main-statusbar .jp-Dtrain-status")
    status.get_by_text("samples/s · communication").wait_for()
    page.locator(".jp-Toolbar").get_by_role("button", name="local-4").wait_for()
    out.scroll_into_view_if_needed()
    shot(page, "cells")

    status.get_by_role("button").click()
    page.get_by_role("button", name="Open ranks view").click()
    view = page.locator(".jp-Dtrain-view")
    rank3 = view.locator("[data-row='3']")
    rank3.get_by_text("+").wait_for()
    view.get_by_text("Rank 3 is slow. 3 ranks wait for it.").wait_for()
    assert view.locator("[data-row]").first.get_attribute("data-row") == "3", "the slowest comes first"
    shot(page, "ranks")
    rank3.click()
    rank3.press("End")
    page.wait_for_function("document.activeElement.dataset.row !== '3'")
    view.get_by_role("columnheader", name="Rank").get_by_role("button").click()
    view.get_by_label("Filter ranks").fill("0-1")
    view.locator("[data-row='3']").wait_for(state="detached")
    assert view.locator("[data-row]").count() == 2
    view.get_by_label("Filter ranks").fill("")

    # nothing was saved: what the page loses with a reload comes back from the journal
    page.reload()
    page.locator("#jupyterlab-splash").wait_for(state="detached")
    # cells out of view are not drawn: ask the notebook itself, once it is there
    notebook = "window.jupyterapp?.shell?.currentWidget?.content"
    page.wait_for_function(f"() => {notebook}?.widgets?.length === 4")
    # The page opens as it was left: whether the view of ranks is in front is JupyterLab's to say.
    page.locator(".lm-TabBar-tab", has_text="prep.ipynb").click()
    # Ask again until it stays: the cells above grow as their outputs come back
    page.wait_for_function(
        f"""() => {{
            {notebook}.scrollToItem(3);
            const lines = {notebook}.widgets[3].node.querySelector('.jp-Dtrain-output');
            return lines?.checkVisibility() && lines.textContent.includes('epoch 1 loss 2.0 (2.0 to 2.');
        }}""",
        polling=250,
    )
    output(page, 2).get_by_text("Rank 2 failed: ValueError").wait_for()
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
    output(page, 1).get_by_text("the end").wait_for()
    page.wait_for_function(
        """() => {
            const cell = window.jupyterapp.shell.currentWidget.content.widgets[1];
            const texts = cell.model.outputs.toJSON().map(o => o.text ?? '');
            const length = texts.reduce((n, t) => n + (Array.isArray(t) ? t.join('') : t).length, 0);
            return length > 100000 && length <= 400000 && texts.join('').includes('lines are left out here');
        }"""
    )
    text = output(page, 1).inner_text()
    assert "line 0" in text
    pieces = lab.request("GET", "clusters/long/output?most=100000")
    for rank in range(2):
        whole = "".join(p["text"] or "" for p in pieces if p["ranks"] == [rank])
        assert whole == "".join(f"line {i}\n" for i in range(40_000)) + "the end\n"
    lab.request("DELETE", "clusters/long")
