"""Behind the proxies of a JupyterHub and of a portal, in a real browser: sign in, start, run, watch, stop."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests.hub import USERS, Hub, missing, running_hub
from tests.portal import running_portal
from tests.ui.conftest import shot
from tests.ui.lab import TOKEN, Lab
from tests.ui.panel.cells import Panel, output, run_cell

pytestmark = [pytest.mark.browser, pytest.mark.processes, pytest.mark.timeout(240)]
ANN = next(iter(USERS))
GATED = """%%distributed
import os, time
print('begins on', rank)
while not os.path.exists({gate!r}):
    time.sleep(0.02)
print('goes on with', world_size)"""
STOP = "%distributed stop"


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    lacking = missing()
    if lacking:
        pytest.skip(lacking)
    with running_hub(tmp_path_factory.mktemp("hub"), "/at/lab") as running:
        yield running


@pytest.fixture(scope="module")
def portal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    lacking = missing()
    if lacking:
        pytest.skip(lacking)
    with running_portal(tmp_path_factory.mktemp("portal")) as running:
        yield running


def write_book(folder: Path, owner: int | None) -> Path:
    """Write a notebook whose cell waits for a file; returns the path of that file.

    Args:
        folder: Where the notebook lies.
        owner: Who owns it; None for whoever writes it.
    """
    gate = folder / "go"
    cells = [nbformat.v4.new_code_cell(source) for source in (GATED.format(gate=str(gate)), STOP)]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    path = folder / "through.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), path)
    if owner is not None:
        os.chown(path, owner, owner)
    return gate


def start_run_and_stop(page: Any, base: str, gate: Path) -> None:
    """What a user does in a notebook that is open: all of it through the proxy.

    Args:
        page: The browser's page.
        base: URL of the user's server.
        gate: File that the cell waits for.
    """
    page.locator("#jupyterlab-splash").wait_for(state="detached")
    page.locator("#jp-main-statusbar").get_by_text("| Idle").wait_for()
    page.keyboard.press("Alt+Shift+D")
    panel = Panel(page)
    with page.expect_response(
        lambda answer: (
            answer.request.method == "POST" and answer.url.startswith(f"{base}/dtrain-lab/clusters")
        )
    ):
        panel.press("Start 2 ranks here")
    panel.says("Ready. 2 ranks wait for a cell.")
    run_cell(page, 0)
    # seen while the cell runs, by its output and in the panel
    output(page, 0).get_by_text("begins on 0…1").wait_for()
    panel.says("Running cell [1] on 2 ranks.")
    assert not output(page, 0).get_by_text("goes on").count()
    gate.touch()
    output(page, 0).get_by_text("goes on with 2").wait_for()
    panel.says("Ready. 2 ranks wait for a cell.")
    run_cell(page, 1)
    panel.says(re.compile(r"Stopped by \S+\.ipynb at .+\. It ran for"))


def sockets_of(page: Any) -> list[str]:
    """URLs of the WebSockets that a page opens from now on."""
    found: list[str] = []
    page.on("websocket", lambda socket: found.append(socket.url.partition("?")[0]))
    return found


def test_a_user_of_a_hub_signs_in_and_trains_through_its_proxy(hub: Hub, page: Any) -> None:
    hub.admit(ANN)
    page.afterwards.append(lambda: tidy(hub))
    opened = sockets_of(page)
    page.goto(f"{hub.url}/hub/login")
    page.get_by_label("Username").fill(ANN)
    page.get_by_label("Password").fill(hub.password)
    page.get_by_role("button", name="Sign in").click()
    # the hub starts the server and leads the browser there
    page.wait_for_url(re.compile(rf"{re.escape(hub.at(ANN))}/lab"), timeout=90_000)
    owner = None if hub.words is None else USERS[ANN]
    gate = write_book(hub.homes / ANN, owner)
    page.goto(f"{hub.at(ANN)}/lab/tree/through.ipynb")
    start_run_and_stop(page, hub.at(ANN), gate)
    shot(page, "hub")
    assert f"{hub.at(ANN)}/dtrain-lab/live".replace("http:", "ws:") in opened


def test_a_notebook_trains_below_a_portals_url(portal: Lab, page: Any) -> None:
    page.afterwards.append(portal.tidy)
    opened = sockets_of(page)
    gate = write_book(portal.work, None)
    page.goto(f"{portal.url}/lab/tree/through.ipynb?token={TOKEN}")
    start_run_and_stop(page, portal.url, gate)
    assert f"{portal.url}/dtrain-lab/live".replace("http:", "ws:") in opened


def tidy(hub: Hub) -> None:
    """Stop what a test has left."""
    for cluster in hub.get(ANN, "clusters"):
        hub.ask(ANN, "DELETE", f"clusters/{cluster['id']}")
