"""What is switched off, as with `jupyter labextension disable`, takes no other part of dtrain-lab along."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.ui.lab import TOKEN, Lab

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]


@pytest.fixture
def settings(lab: Lab, page: Any) -> Path:
    """Where `jupyter labextension disable` keeps what is off; it is as before once the page is closed."""
    path = Path(lab.environment["JUPYTER_CONFIG_DIR"]) / "labconfig" / "page_config.json"
    before = path.read_text() if path.exists() else None
    path.parent.mkdir(parents=True, exist_ok=True)
    page.afterwards.append(lambda: path.unlink() if before is None else path.write_text(before))
    return path


def _open_without(settings: Path, lab: Lab, page: Any, *plugins: str) -> None:
    settings.write_text(json.dumps({"disabledExtensions": dict.fromkeys(plugins, True)}))
    page.goto(f"{lab.url}/lab?token={TOKEN}&reset")
    page.wait_for_function("window.jupyterapp?.commands.hasCommand('dtrain-lab:show-ranks')")
    page.locator("#jupyterlab-splash").wait_for(state="detached")


def _has(page: Any, command: str) -> bool:
    return bool(page.evaluate(f"window.jupyterapp.commands.hasCommand('dtrain-lab:{command}')"))


def test_commands_settings_and_frames_need_neither_panel_nor_status_bar(
    settings: Path, lab: Lab, page: Any
) -> None:
    _open_without(settings, lab, page, "dtrain-lab:panel", "dtrain-lab:status")
    assert not _has(page, "show-panel")
    assert _has(page, "start-cluster")
    page.get_by_role("menuitem", name="Distributed").click()
    page.get_by_role("menuitem", name="Start Cluster…").wait_for()
    page.keyboard.press("Escape")
    page.evaluate("window.jupyterapp.commands.execute('settingeditor:open')")
    page.get_by_text("Distributed (dtrain-lab)").first.wait_for()

    # the command is enabled by the answer to the start, maybe before the browser has begun the handshake
    with page.expect_websocket(lambda socket: "/dtrain-lab/live" in socket.url):
        page.evaluate("window.jupyterapp.commands.execute('dtrain-lab:start-cluster', {ranks: 1})")
    page.wait_for_function("window.jupyterapp.commands.isEnabled('dtrain-lab:stop-cluster')")


def test_the_panel_needs_no_commands_and_no_notices(settings: Path, lab: Lab, page: Any) -> None:
    _open_without(settings, lab, page, "dtrain-lab:commands", "dtrain-lab:notices")
    assert not _has(page, "start-cluster")
    page.evaluate("window.jupyterapp.commands.execute('dtrain-lab:show-panel')")
    page.get_by_role("region", name="Distributed training").get_by_text("Clusters").first.wait_for()
