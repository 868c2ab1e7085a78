"""Behind a proxy as Open OnDemand's: /node/HOST/PORT/ is passed on whole, to a server with that base URL."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests
from tornado.httpclient import HTTPClientError, HTTPRequest
from tornado.websocket import websocket_connect

from tests.hub import PROXY, free_ports, missing
from tests.ui.lab import TOKEN, Lab, run_lab
from tests.waiting import wait_until

pytestmark = [pytest.mark.processes, pytest.mark.timeout(180)]


@pytest.fixture(autouse=True)
def jp_server_cleanup() -> None:
    """pytest-jupyter's, which is for servers inside the test process: there is none here."""


@pytest.fixture(scope="module")
def portal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A lab as OnDemand's batch script starts it, and the portal's URL of it: hosts differ."""
    lacking = missing()
    if lacking:
        pytest.skip(lacking)
    root = tmp_path_factory.mktemp("portal")
    front, api = free_ports(2)
    words = [shutil.which("node"), str(PROXY), "--ip=127.0.0.1", f"--port={front}", f"--api-port={api}"]
    with pytest.MonkeyPatch.context() as patch:
        (root / "home").mkdir()
        patch.setenv("HOME", str(root / "home"))
        with run_lab(root, "--ServerApp.allow_origin=*", below="/node/node1/{port}") as lab:
            at = urlsplit(lab.url)
            environment = {**os.environ, "CONFIGPROXY_AUTH_TOKEN": "portal"}
            # --change-origin: the server is asked by its own name, as by OnDemand's Apache
            proxy = subprocess.Popen([*words, "--change-origin"], env=environment, cwd=Path(root))
            try:
                route = f"http://127.0.0.1:{api}/api/routes{at.path}"
                wait_until(lambda: _routed(route, f"http://{at.netloc}"), 30, "the proxy")
                yield Lab(f"http://127.0.0.1:{front}{at.path}", lab.work, lab.environment)
            finally:
                proxy.terminate()
                proxy.wait(20)


def _routed(route: str, target: str) -> bool:
    try:
        headers = {"Authorization": "token portal"}
        return requests.post(route, json={"target": target}, headers=headers, timeout=10).ok
    except requests.ConnectionError:
        return False


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
