"""The whole way in a real browser: start, train, get stuck, interrupt, lose a rank, restart, reload."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.ui.conftest import open_notebook, shot
from tests.ui.lab import Lab
from tests.ui.panel.cells import TRAINING, Panel, fits, output, run_cell
from tests.waiting import wait_until

pytestmark = [pytest.mark.browser, pytest.mark.processes, pytest.mark.timeout(240)]

SETUP = """%%distributed
import time, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
model = DDP(net)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
def train(steps):
    for step in range(steps):
        loss = model(torch.randn(32, 64)).square().mean()
        loss.backward()
        optimizer.step(); optimizer.zero_grad()
        time.sleep(0.005)
    return round(sum(p.double().sum().item() for p in model.parameters()), 9)
print("set up", rank)"""
TRAIN = "%%distributed\nprint('sum', train(600))"
STUCK = "%%distributed\nif rank == 1:\n    time.sleep(600)\ndist.barrier()"
AGAIN = "%%distributed\nprint('again', train(20))"
DIE = """%%distributed
import os, signal
if rank == 1:
    os.kill(os.getpid(), signal.SIGKILL)
dist.barrier()"""
ALIVE = "%%distributed\nprint('back', rank, 'model' in globals())"


STOPPED = re.compile(r"Stopped in JupyterLab at .+\. It ran for ")


def restart_from_a_peer(page: Any, panel: Panel) -> None:
    """The dialog says which ranks, what is lost, and whose variables they get."""
    panel.node.get_by_role("button", name="Actions of local-2").click()
    page.get_by_role("menuitem", name="Restart Ranks…").click()
    dialog = page.locator(".jp-Dialog")
    dialog.get_by_role("textbox", name="Ranks").fill("7")
    dialog.get_by_text("There is no rank 7: the last one is rank 1.").wait_for()
    dialog.get_by_role("textbox", name="Ranks").fill("1")
    dialog.get_by_label("Variables").select_option("0")
    dialog.get_by_text("The variables of rank 1 are lost. The rank gets what can be copied").wait_for()
    with page.expect_response(lambda response: "/restart" in response.url) as answer:
        dialog.get_by_role("button", name="Restart").click()
    assert answer.value.request.post_data_json == {"ranks": [1], "source": 0}
    panel.says("Ready. 2 ranks wait for a cell.")


def test_the_whole_way(lab: Lab, page: Any) -> None:
    path = lab.notebook("whole.ipynb", [SETUP, TRAIN, STUCK, AGAIN, DIE, ALIVE])
    open_notebook(page, lab, path)
    page.keyboard.press("Alt+Shift+D")
    panel = Panel(page)

    panel.node.get_by_text("No cluster is running.").wait_for()
    assert fits(panel)
    shot(page, "empty")
    panel.node.get_by_role("button", name="Start 2 ranks here").focus()
    page.keyboard.press("Enter")
    panel.says("Ready. 2 ranks wait for a cell.")
    # the first cell runs on it, as everything says before that
    page.locator(".jp-DtrainNotebook-picker").get_by_role("button", name="local-2").wait_for()
    page.locator("#jp-main-statusbar").get_by_text("local-2: 2 ranks").wait_for()
    assert not panel.node.get_by_text("uses no cluster").count()
    inside = "e => e.contains(document.activeElement)"
    assert panel.node.evaluate(inside), "the focus is lost with the button"
    row = panel.node.locator("[data-rank='1']")
    row.focus()
    row.press("Shift+F10")
    page.get_by_role("menuitem", name="Copy Report").wait_for()
    page.keyboard.press("Escape")
    page.wait_for_function("() => document.activeElement?.dataset.rank === '1'")
    shot(page, "ready")

    run_cell(page, 0)
    output(page, 0).get_by_text("set up 0…1").wait_for()
    panel.node.get_by_text("Run a cell that begins with").wait_for(state="detached")
    run_cell(page, 1)
    panel.says(TRAINING)
    wait_until(lambda: panel.figure("throughput") not in ("–", ""), 20, "throughput")
    before = panel.figure("throughput"), panel.figure("overhead")
    wait_until(lambda: panel.figure("throughput") != before[0], 20, "throughput to move")
    wait_until(lambda: panel.figure("overhead") not in ("–", ""), 20, "overhead")
    panel.node.locator("[data-rank='0']").press("Enter")
    panel.node.get_by_text("Samples/s", exact=True).wait_for()
    assert fits(panel)
    shot(page, "training")
    panel.node.locator("[data-rank='0']").press("Enter")
    line = output(page, 1).locator("li", has_text="sum ")
    line.wait_for()
    assert line.count() == 1
    assert line.inner_text().split()[:2] == ["0–1", "sum"], "the ranks' parameters differ"
    assert "to" not in line.inner_text().split(), "the ranks' parameters differ"

    run_cell(page, 2)
    panel.says("Rank 1 is stuck. 1 rank waits for it.")
    panel.node.get_by_text("cell [3], line 3").first.wait_for()
    assert fits(panel)
    shot(page, "stuck")
    panel.press("Interrupt, keep variables")
    output(page, 2).get_by_text("Interrupted.", exact=True).wait_for()
    panel.says("Ready. 2 ranks wait for a cell.")
    run_cell(page, 3)
    output(page, 3).get_by_text("again").wait_for()

    run_cell(page, 4)
    panel.says("Rank 1 was lost. The cell has failed.")
    facts = panel.node.locator(".jp-DtrainUi-facts").first
    facts.get_by_text("in cell [5]").wait_for()
    facts.get_by_text("Killed by signal 9 (SIGKILL).").wait_for()
    panel.press("Its last output")
    page.locator(".jp-Dialog pre").get_by_text("again").wait_for()
    page.get_by_role("button", name="Close").click()
    output(page, 4).get_by_text("Rank 1 was lost: killed by signal 9 (SIGKILL).").wait_for()
    shot(page, "lost")
    panel.press("Or copy the variables of another rank.")
    assert page.locator(".jp-Dialog").get_by_label("Variables").input_value() == "0"
    page.get_by_role("button", name="Cancel").click()
    panel.press("Restart rank 1")
    panel.says("Ready. 2 ranks wait for a cell.")
    run_cell(page, 5)
    output(page, 5).get_by_text("back 0 True").wait_for()
    output(page, 5).get_by_text("back 1 False").wait_for()
    restart_from_a_peer(page, panel)

    page.keyboard.press("Control+s")
    page.reload()
    page.locator("#jupyterlab-splash").wait_for(state="detached")
    page.locator("#jp-main-statusbar").get_by_text("| Idle").wait_for()  # the kernel is connected
    panel = Panel(page)
    if not panel.node.is_visible():
        page.keyboard.press("Alt+Shift+D")
    panel.says("Ready. 2 ranks wait for a cell.")
    page.locator(".jp-Notebook .jp-CodeCell").first.wait_for()
    run_cell(page, 5)
    output(page, 5).get_by_text("back 0…1 True").wait_for()  # rank 1 has rank 0's variables now

    page.evaluate(
        "() => window.jupyterapp.commands.execute('apputils:change-theme', {theme: 'JupyterLab Dark'})"
    )
    page.locator("body[data-jp-theme-light='false']").wait_for(state="attached")
    page.locator("#jupyterlab-splash").wait_for(state="detached")
    shot(page, "dark")

    panel.node.get_by_role("button", name="Actions of local-2").click()
    page.get_by_role("menuitem", name="Stop…").click()
    page.get_by_text("Its 2 ranks end, and their variables are lost.").wait_for()
    page.locator(".jp-Dialog").get_by_role("button", name="Stop").click()
    panel.says(STOPPED)
    assert fits(panel)
    shot(page, "stopped")
    panel.press("Output")
    page.locator(".jp-NotebookPanel:visible").wait_for()
    panel.press("Start again")
    panel.node.get_by_text("so far; a start usually takes").wait_for()
    panel.says("Ready. 2 ranks wait for a cell.")
    lab.request("DELETE", "clusters/local-2")
    panel.says(STOPPED)
    panel.press("Close")
    panel.node.get_by_text("No cluster is running.").wait_for()


def test_a_bad_start_says_what_is_wrong_and_a_good_one_takes_its_name(lab: Lab, page: Any) -> None:
    open_notebook(page, lab, lab.notebook("bad.ipynb", ["print(1)"]))
    page.keyboard.press("Alt+Shift+D")
    panel = Panel(page)
    panel.press("Start")
    dialog = page.locator(".jp-Dialog")
    dialog.get_by_label("Ranks").fill("100000")
    dialog.get_by_role("button", name="Start").click()
    dialog.get_by_text("too many for this machine").wait_for()
    assert dialog.get_by_label("Ranks").input_value() == "100000"
    assert dialog.get_by_label("Ranks").evaluate("e => e === document.activeElement")
    shot(page, "bad-start")
    dialog.get_by_label("Ranks").fill("1")
    dialog.get_by_label("Name").fill("named")
    dialog.get_by_role("button", name="Start").click()
    panel.says("Ready. 1 rank waits for a cell.")
    panel.node.get_by_role("button", name="Actions of named").click()
    page.get_by_role("menuitem", name="Attach to the Notebook").click()
    page.get_by_text("bad.ipynb uses named.").wait_for()
    notebooks = lab.request("GET", "clusters/named")["notebooks"]
    assert [n.rpartition("/")[2] for n in notebooks] == ["bad.ipynb"]
    lab.request("DELETE", "clusters/named")
    panel.says(STOPPED)


def test_without_a_server_it_says_so_and_comes_back(lab: Lab, page: Any) -> None:
    open_notebook(page, lab, lab.notebook("offline.ipynb", ["print(1)"]))
    page.keyboard.press("Alt+Shift+D")
    panel = Panel(page)
    panel.node.get_by_role("heading", name="Distributed").wait_for()
    page.get_by_role("tab", name="File Browser").click()
    page.context.set_offline(True)
    page.keyboard.press("Alt+Shift+D")
    panel.node.get_by_text("No connection to the server.").wait_for()
    shot(page, "disconnected")
    panel.press("Try now")
    panel.node.get_by_text("No connection to the server.").wait_for()
    page.context.set_offline(False)  # which the browser tells the page: it tries at once
    panel.node.get_by_text("No connection to the server.").wait_for(state="detached")


def test_nothing_is_sent_while_the_panel_is_hidden(lab: Lab, page: Any) -> None:
    sockets: list[Any] = []
    heard: set[Any] = set()

    def opens(socket: Any) -> None:
        if "/dtrain-lab/" in socket.url:
            sockets.append(socket)
            socket.on("framereceived", lambda _: heard.add(socket))

    page.on("websocket", opens)
    open_notebook(page, lab, lab.notebook("hidden.ipynb", ["print(1)"]))
    assert sockets == [], "the panel has not been opened yet"
    for _ in range(2):
        with page.expect_websocket(lambda socket: "/dtrain-lab/live" in socket.url) as opened:
            page.keyboard.press("Alt+Shift+D")
        # one that closes before it is open is an error of the page
        wait_until(lambda: opened.value in heard or page.wait_for_timeout(50), 20, "the panel to be told")
        with opened.value.expect_event("close"):
            page.get_by_role("tab", name="File Browser").click()
    assert len(sockets) == 2
