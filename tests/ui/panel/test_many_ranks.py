"""Panel and Ranks view with more ranks than this machine can run: simulated frames, everything else real."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.ui.conftest import open_notebook, shot
from tests.ui.feed import Feed, run_feed, training
from tests.ui.lab import TOKEN, Lab
from tests.ui.panel.cells import run_cell

pytestmark = [pytest.mark.browser, pytest.mark.processes, pytest.mark.timeout(240)]
RUN = "command => window.jupyterapp.commands.execute(command)"


@pytest.fixture
def feed() -> Iterator[Feed]:
    with run_feed() as running:
        yield running


def open_panel(page: Any, lab: Lab) -> None:
    page.goto(f"{lab.url}/lab?token={TOKEN}")
    page.locator("#jupyterlab-splash").wait_for(state="detached")
    page.wait_for_function("() => window.jupyterapp?.commands.hasCommand('dtrain-lab:show-panel')")
    page.evaluate("() => window.jupyterapp.restored")
    page.evaluate(RUN, "dtrain-lab:show-panel")


def send_until(page: Any, feed: Feed, template: dict[str, Any], size: int, seen: Any) -> None:
    """Frames at the server's pace until something is seen."""
    for seq in range(200):
        if feed.watched:
            feed.send(training(seq, size, template, slow=5))
        if seen.count():
            return
        page.wait_for_timeout(500)
    raise AssertionError(f"not seen: {seen}")


def test_many_ranks(lab: Lab, page: Any, feed: Feed) -> None:
    size = 512
    template = lab.request("POST", "clusters", {"ranks": 1, "name": f"many-{size}"})
    page.add_init_script(feed.script)
    open_panel(page, lab)
    panel = page.get_by_role("region", name="Distributed training")
    slowest = panel.locator(".jp-DtrainRanks-slowest li").first
    send_until(page, feed, template, size, slowest)
    assert panel.locator(".jp-DtrainRanks-slowest li").count() == 5
    assert slowest.get_by_role("button", name="Rank 5").count() == 1
    slowest.get_by_role("button").focus()
    page.keyboard.press("Shift+F10")
    menu = page.locator(".lm-Menu")
    menu.get_by_text("Restart Ranks…").wait_for()
    menu.get_by_text("Ranks View").click()
    view = page.locator(".jp-DtrainUi-view")
    slow = view.locator("[data-row='5'][data-slow]")
    send_until(page, feed, template, size, slow)
    # the rank that the menu was opened on is selected in both places
    send_until(page, feed, template, size, view.locator("[data-row='5'][aria-selected='true']"))
    label = view.get_by_role("img", name="rank 5 is the slowest").first
    send_until(page, feed, template, size, label)
    shot(page, f"ranks-{size}")
    lab.request("DELETE", f"clusters/many-{size}")


def test_a_long_cell_that_ends_unseen_is_told(lab: Lab, page: Any) -> None:
    settings = lab.work.parent / "settings" / "dtrain-lab"
    settings.mkdir(exist_ok=True)
    (settings / "panel.jupyterlab-settings").write_text(json.dumps({"notifyCellsAfter": 0}))
    wait = "%%distributed\nimport os, time\nwhile not os.path.exists('go'):\n    time.sleep(0.1)\n1 / rank"
    cells = ["%load_ext dtrain_lab\n%distributed start --ranks 2 --name told", wait]
    open_notebook(page, lab, lab.notebook("told.ipynb", cells))
    run_cell(page, 0)
    page.get_by_text("told is ready").wait_for()
    page.evaluate(RUN, "dtrain-lab:show-panel")
    run_cell(page, 1)
    # the panel, not the cell's bar: what no frame has told of as running has no end to tell of
    page.get_by_role("region", name="Distributed training").get_by_text("running for").wait_for()
    page.evaluate("() => void window.jupyterapp.commands.execute('launcher:create')")
    page.locator(".jp-Launcher").wait_for()
    (lab.work / "go").touch()
    told = page.locator(".jp-toastContainer").get_by_text("told.ipynb [2]: Rank 0 failed: ZeroDivisionError")
    told.wait_for()
    lab.request("DELETE", "clusters/told")
