"""Behind a proxy as Open OnDemand's: /node/HOST/PORT/ is passed on whole, /rnode/HOST/PORT/ is cut off."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import requests
from tornado.httpclient import HTTPClientError, HTTPRequest
from tornado.websocket import websocket_connect

from tests.hub import missing
from tests.portal import running_portal
from tests.ui.lab import TOKEN, Lab
from tests.waiting import wait_until

pytestmark = [pytest.mark.processes, pytest.mark.timeout(180)]


@pytest.fixture(autouse=True)
def jp_server_cleanup() -> None:
    """pytest-jupyter's, which is for servers inside the test process: there is none here."""


@pytest.fixture(scope="module")
def portal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    lacking = missing()
    if lacking:
        pytest.skip(lacking)
    with running_portal(tmp_path_factory.mktemp("portal")) as running:
        yield running


@pytest.fixture(scope="module")
def cutting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    lacking = missing()
    if lacking:
        pytest.skip(lacking)
    with running_portal(tmp_path_factory.mktemp("cutting"), cut=True) as running:
        yield running


def live(portal: Lab, headers: dict[str, str]) -> Any:
    """The panel's WebSocket, through the portal; its first frame."""

    async def ask() -> Any:
        url = f"{portal.url}/dtrain-lab/live".replace("http://", "ws://")
        socket = await websocket_connect(HTTPRequest(url, headers=headers))
        frame = json.loads(await asyncio.wait_for(socket.read_message(), 30) or "null")
        socket.close()
        return frame

    return asyncio.run(ask())


def test_a_cluster_below_a_portals_url(portal: Lab) -> None:
    page = requests.get(f"{portal.url}/lab?token={TOKEN}", timeout=60)
    assert f'"baseUrl": "/node/node1/{portal.url.rpartition("/")[2]}/"' in page.text
    identity = portal.request("POST", "clusters", {"ranks": 2, "name": "portal"})["id"]
    wait_until(lambda: portal.request("GET", f"clusters/{identity}")["state"] == "ready", 90, "the cluster")
    (shown,) = live(portal, {"Authorization": f"token {TOKEN}"})["clusters"]
    assert shown["name"] == "portal"
    portal.request("DELETE", f"clusters/{identity}")


def test_a_browser_at_the_portal_has_the_socket_and_needs_xsrf(portal: Lab) -> None:
    browser = requests.Session()
    browser.get(f"{portal.url}/lab?token={TOKEN}", timeout=60).raise_for_status()
    jar = "; ".join(f"{c.name}={c.value}" for c in browser.cookies)
    assert "clusters" in live(portal, {"Cookie": jar, "Origin": "https://ondemand.example.org"})
    with pytest.raises(HTTPClientError) as error:
        live(portal, {"Origin": "https://ondemand.example.org"})
    assert error.value.code == 403
    refused = browser.post(f"{portal.url}/dtrain-lab/clusters", json={"ranks": 0}, timeout=60)
    assert refused.status_code == 403
    token = str(browser.cookies["_xsrf"])
    asked = browser.post(
        f"{portal.url}/dtrain-lab/clusters", json={"ranks": 0}, headers={"X-XSRFToken": token}, timeout=60
    )
    assert asked.status_code == 400


def test_where_the_portal_cuts_its_path_off_programs_reach_us(cutting: Lab) -> None:
    identity = cutting.request("POST", "clusters", {"ranks": 1, "name": "cut"})["id"]
    wait_until(lambda: cutting.request("GET", f"clusters/{identity}")["state"] == "ready", 90, "the cluster")
    (shown,) = live(cutting, {"Authorization": f"token {TOKEN}"})["clusters"]
    assert shown["name"] == "cut"
    cutting.request("DELETE", f"clusters/{identity}")


def test_where_the_portal_cuts_its_path_off_pages_of_jupyterlab_lead_elsewhere(cutting: Lab) -> None:
    """What docs/administrators.md says of /rnode/: it is JupyterLab's, with nothing of ours in it."""
    page = requests.get(f"{cutting.url}/lab?token={TOKEN}", timeout=60).text
    assert '"baseUrl": "/"' in page
    scripts = re.findall(r'<script [^>]*src="([^"]+)"', page)
    assert scripts
    portal = cutting.url.partition("/rnode/")[0]
    for script in scripts:
        assert requests.get(f"{portal}{script}", timeout=60).status_code == 404
    sent_on = requests.get(f"{cutting.url}/?token={TOKEN}", timeout=60, allow_redirects=False)
    assert sent_on.headers["Location"].startswith("/lab")
