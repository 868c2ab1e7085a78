"""Advice in the panel: it is tried once the cell has ended, and the change is put into the cell."""

from __future__ import annotations

from typing import Any

import pytest

from tests.ui.conftest import open_notebook, shot
from tests.ui.lab import Lab
from tests.ui.panel.cells import output, run_cell

pytestmark = [pytest.mark.browser, pytest.mark.processes, pytest.mark.timeout(200)]

START = "%load_ext dtrain_lab\n%distributed start --ranks 2 --name advised"
TRAIN = """%%distributed
import time, torch
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook

class Timed(torch.autograd.Function):
    forward = staticmethod(lambda ctx, x: x.clone())
    @staticmethod
    def backward(ctx, grad):
        time.sleep(0.02)
        return grad

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(16, 4)
    def forward(self, x):
        return Timed.apply(self.layer(x))

def late(state, bucket):
    time.sleep(0.03)
    return allreduce_hook(None, bucket)

model = DDP(Net())
model.register_comm_hook(None, late)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(8, 16)
for _ in range(120):
    loss = model(x).square().mean()
    optimizer.zero_grad(); loss.backward(); optimizer.step()
print("trained")"""


def test_advice_is_tried_and_kept(lab: Lab, page: Any) -> None:
    page.set_viewport_size({"width": 1440, "height": 1200})
    open_notebook(page, lab, lab.notebook("advised.ipynb", [START, TRAIN, TRAIN]))
    page.evaluate("void window.jupyterapp.commands.execute('dtrain-lab:show-panel')")
    run_cell(page, 0)
    page.get_by_text("advised is ready").wait_for()
    run_cell(page, 2)  # the cell before it is a copy
    output(page, 2).get_by_text("trained").wait_for()
    # estimates promise nothing on a busy machine; what was diagnosed does
    page.evaluate("void window.jupyterapp.commands.execute('dtrain-lab:diagnose')")
    page.locator(".jp-Dialog").get_by_role("button", name="Close").click()
    card = page.get_by_role("complementary", name="Advice").first
    card.get_by_text("Accumulate").wait_for()
    shot(page, "advice-before")
    card.get_by_role("button", name="Try it").click()
    card.get_by_text("with dt.optimize. Predicted: ").wait_for()
    card.get_by_text("faster when tried").or_(card.get_by_text("as fast when tried")).wait_for()
    shot(page, "advice-tried")
    card.get_by_role("button", name="Keep").click()
    page.get_by_text("The change is in cell [2] of advised.ipynb.").wait_for()
    card.get_by_text("Kept. Run the cell again to train with it.").wait_for()
    assert card.get_by_role("button", name="Try again").count() == 0
    assert card.get_by_role("button", name="Keep").count() == 0
    cell = page.locator(".jp-Notebook .jp-CodeCell").nth(2)
    cell.get_by_text("gradient_accumulation_steps=").wait_for()
    shot(page, "advice-kept")
    cell.locator(".cm-content").click()
    page.keyboard.press("Control+z")
    cell.get_by_text("gradient_accumulation_steps=").wait_for(state="detached")
    card.get_by_role("button", name="Keep").wait_for()
    away = page.get_by_role("complementary", name="Advice").first
    for _ in range(card.get_by_role("button", name="Dismiss", exact=True).count()):
        card.get_by_role("button", name="Dismiss", exact=True).first.click()
    back = away.get_by_role("button", name="Show dismissed advice")
    back.wait_for()
    assert back.evaluate("e => e === document.activeElement"), "the keyboard goes on beside what was pressed"
    page.keyboard.press("Enter")
    card.get_by_role("button", name="Dismiss", exact=True).first.wait_for()
    lab.request("DELETE", "clusters/advised")
