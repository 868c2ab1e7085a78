"""The Ranks view: a step apart, the user's own values, the past after a reload, diagnose, export."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.ui.conftest import open_notebook, shot
from tests.ui.lab import Lab
from tests.ui.panel.cells import output, run_cell

pytestmark = [pytest.mark.browser, pytest.mark.processes, pytest.mark.timeout(200)]

START = "%load_ext dtrain_lab\n%distributed start --ranks 2 --name figures"
TRAIN = """%%distributed
import time, torch, dtrain_lab as dt
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
model = DDP(torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 4)))
optimizer = torch.optim.AdamW(model.parameters())
loader = DataLoader(TensorDataset(torch.randn(256, 64), torch.randint(0, 4, (256,))), batch_size=16)
step = 0
for epoch in range(40):
    for x, y in loader:
        loss = torch.nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad(); loss.backward(); optimizer.step()
        dt.log(step, loss=loss.item()); step += 1
        time.sleep(0.005)
print("trained")"""


def test_figures_of_training(lab: Lab, page: Any, tmp_path: Path) -> None:
    page.set_viewport_size({"width": 1440, "height": 1200})
    open_notebook(page, lab, lab.notebook("figures.ipynb", [START, TRAIN]))
    run_cell(page, 0)
    page.get_by_text("figures is ready").wait_for()
    run_cell(page, 1)
    page.evaluate("void window.jupyterapp.commands.execute('dtrain-lab:show-ranks')")
    view = page.locator(".jp-DtrainUi-view:visible")
    parts = view.locator(".jp-DtrainRanks-parts")
    parts.get_by_text("forward, backward").wait_for()
    parts.get_by_text("optimizer").wait_for()
    view.get_by_role("img", name="loss:").wait_for()
    view.get_by_text("epoch").first.wait_for()
    page.wait_for_timeout(1500)  # a few points more in the picture; nothing is checked by it
    shot(page, "figures")

    # between cells: both checks, in words
    page.get_by_role("tab", name="figures.ipynb").click()
    output(page, 1).get_by_text("trained").wait_for()
    page.get_by_role("tab", name="Ranks: figures").last.click()
    view.get_by_role("button", name="More", exact=True).click()
    page.get_by_role("menuitem", name="Diagnose").click()
    dialog = page.locator(".jp-Dialog")
    # "too unsteady to tell" on a busy machine
    dialog.get_by_text(re.compile("^Communication(:| takes)")).wait_for()
    dialog.get_by_text(re.compile("^Waiting for data(:| takes)")).wait_for()
    shot(page, "diagnosis")
    dialog.get_by_role("button", name="Close").click()

    # as a file
    view.get_by_role("button", name="More", exact=True).click()
    with page.expect_download() as kept:
        page.get_by_role("menuitem", name="Export as CSV").click()
    kept.value.save_as(tmp_path / "metrics.csv")
    lines = (tmp_path / "metrics.csv").read_text().splitlines()
    assert lines[0].startswith("at,step,samples_per_s")
    assert lines[0].endswith("values.loss") or ",values.loss" in lines[0]
    assert len(lines) > 3

    # a page that was reloaded has the past, though nothing trains any more
    page.reload()
    page.locator("#jupyterlab-splash").wait_for(state="detached")
    page.locator("#jp-main-statusbar").get_by_text("figures: 2 ranks").wait_for()
    page.evaluate("void window.jupyterapp.commands.execute('dtrain-lab:show-ranks')")
    view.get_by_role("img", name="loss:").wait_for()
    lab.request("DELETE", "clusters/figures")
