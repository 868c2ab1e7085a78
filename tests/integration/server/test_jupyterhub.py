"""A real JupyterHub, its proxy and two users: URLs, tokens, cookies, who reaches what, and who comes back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest
from tornado.httpclient import HTTPClientError, HTTPRequest
from tornado.websocket import websocket_connect

from tests.books import training
from tests.hub import USERS, Hub, missing, running_hub, sign_in
from tests.waiting import wait_until

pytestmark = [pytest.mark.processes, pytest.mark.timeout(240)]
ANN, BOB = USERS
LOOK = """
import os, socket, stat, sys
for path in sys.argv[1:]:
    try:
        if os.path.isdir(path):
            os.listdir(path)
        elif stat.S_ISSOCK(os.stat(path).st_mode):
            socket.socket(socket.AF_UNIX).connect(path)
        else:
            open(path)
    except PermissionError:
        continue
    print(path)
"""
"""Prints what of its arguments can be read, or connected to."""


@pytest.fixture(autouse=True)
def jp_server_cleanup() -> None:
    """pytest-jupyter's, which is for servers inside the test process: there is none here."""


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    lacking = missing()
    if lacking:
        pytest.skip(lacking)
    with running_hub(tmp_path_factory.mktemp("hub"), "/at/lab") as running:
        for user in USERS:
            running.start(user)
        yield running


def live(hub: Hub, user: str, by: str = "", **headers: str) -> Any:
    """The panel's WebSocket, through the proxy; its first frame."""
    given = headers or {"Authorization": f"token {hub.tokens[by or user]}"}
    url = f"{hub.at(user)}/dtrain-lab/live".replace("http://", "ws://")

    async def ask() -> Any:
        socket = await websocket_connect(HTTPRequest(url, headers=given))
        frame = json.loads(await asyncio.wait_for(socket.read_message(), 30) or "null")
        socket.close()
        return frame

    return asyncio.run(ask())


def clusters(hub: Hub, user: str) -> dict[str, dict[str, Any]]:
    return {found["id"]: found for found in hub.get(user, "clusters")}


def test_a_server_below_the_hubs_url_answers_its_user_and_nobody_else(hub: Hub) -> None:
    assert hub.get(ANN, "site")
    assert live(hub, ANN)["clusters"] == []
    for refused in (hub.ask(ANN, "GET", "site", by=BOB), hub.ask(ANN, "POST", "clusters", {}, by=BOB)):
        assert refused.status_code == 403
    with pytest.raises(HTTPClientError) as error:
        live(hub, ANN, by=BOB)
    assert error.value.code == 403


def test_a_browsers_cookies_need_xsrf_and_its_own_origin(hub: Hub) -> None:
    browser = sign_in(hub, ANN)
    at = f"{hub.at(ANN)}/dtrain-lab"
    assert browser.get(f"{at}/site", timeout=60).ok
    refused = browser.post(f"{at}/clusters", json={"ranks": 0}, timeout=60)
    assert (refused.status_code, "_xsrf" in refused.text) == (403, True)
    paths = {c.path: c.value for c in browser.cookies if c.name == "_xsrf"}
    own = next(value for path, value in paths.items() if "/user/" in path)
    asked = browser.post(f"{at}/clusters", json={"ranks": 0}, headers={"X-XSRFToken": str(own)}, timeout=60)
    assert asked.status_code == 400
    assert "at least one rank" in asked.json()["message"]
    jar = "; ".join(f"{c.name}={c.value}" for c in browser.cookies if c.path in f"{urlsplit(at).path}/")
    here = f"http://{urlsplit(hub.url).netloc}"
    assert "clusters" in live(hub, ANN, Cookie=jar, Origin=here)
    with pytest.raises(HTTPClientError) as error:
        live(hub, ANN, Cookie=jar, Origin="http://elsewhere.test")
    assert error.value.code == 403
    # another user's cookies open nothing here
    other = sign_in(hub, BOB)
    assert other.get(f"{at}/site", timeout=60, allow_redirects=True).status_code == 403


@pytest.fixture(scope="module")
def work(hub: Hub) -> dict[str, Any]:
    """What Ann has: a cluster that has run a cell, and a job that has ended."""
    home = hub.homes / ANN
    training(home / "train.ipynb", plain=True)
    (home / "train.ipynb").chmod(0o644)
    asked = hub.ask(ANN, "POST", "clusters", {"ranks": 2, "name": "own"})
    asked.raise_for_status()
    identity = asked.json()["id"]
    wait_until(lambda: clusters(hub, ANN)[identity]["state"] == "ready", 90, "the cluster")
    sent = hub.ask(ANN, "POST", "jobs", {"notebook": "train.ipynb", "ranks_per_node": 2, "name": "night"})
    sent.raise_for_status()
    job = sent.json()["id"]
    wait_until(lambda: hub.get(ANN, f"jobs/{job}")["ended_at"], 120, "the job to end")
    return {"cluster": identity, "job": job, "directory": hub.get(ANN, f"jobs/{job}")["directory"]}


def test_a_job_runs_and_its_log_is_read_through_the_proxy(hub: Hub, work: dict[str, Any]) -> None:
    assert hub.get(ANN, f"jobs/{work['job']}")["state"] == "succeeded"
    assert "done 5" in json.dumps(hub.get(ANN, f"jobs/{work['job']}/logs"))


def test_one_user_sees_and_stops_nothing_of_the_other(hub: Hub, work: dict[str, Any]) -> None:
    identity, job = work["cluster"], work["job"]
    assert hub.get(BOB, "clusters") == hub.get(BOB, "jobs") == []
    for path in (f"clusters/{identity}", f"jobs/{job}", f"jobs/{job}/logs", f"clusters/{identity}/output"):
        assert hub.ask(BOB, "GET", path).status_code == 404
        assert hub.ask(ANN, "GET", path, by=BOB).status_code == 403
    for method, path in (("DELETE", f"clusters/{identity}"), ("POST", f"jobs/{job}/resume")):
        assert hub.ask(BOB, method, path, {}).status_code == 404
        assert hub.ask(ANN, method, path, {}, by=BOB).status_code == 403
    assert clusters(hub, ANN)[identity]["state"] == "ready"


def test_ranks_have_none_of_the_hubs_secrets(hub: Hub, work: dict[str, Any]) -> None:
    ranks = clusters(hub, ANN)[work["cluster"]]["ranks"]
    for rank in ranks:
        names = psutil.Process(rank["pid"]).environ()
        assert "PATH" in names
        assert not [name for name in names if name.startswith(("JUPYTERHUB", "JPY", "CONFIGPROXY"))]


def test_files_and_sockets_of_one_user_are_closed_to_another(hub: Hub, work: dict[str, Any]) -> None:
    if hub.words is None:
        pytest.skip("One user of the system runs all servers here: this needs root.")
    mine = [hub.homes / "run" / f"dtrain-lab-{USERS[ANN]}", Path(work["directory"]), hub.homes / ANN]
    inside = [path for folder in mine for path in folder.rglob("*") if "dtrain" in str(path)]
    assert [path for path in inside if path.is_socket()]
    names = [str(path) for path in [*mine, *inside]]
    assert hub.run_as(ANN, LOOK, str(mine[0])).split() == [str(mine[0])], "the program finds what is open"
    assert hub.run_as(BOB, LOOK, *names) == ""


def another(hub: Hub, name: str) -> str:
    """Start another cluster, of which the server keeps that it has run; returns its id."""
    asked = hub.ask(ANN, "POST", "clusters", {"ranks": 1, "name": name})
    asked.raise_for_status()
    identity: str = asked.json()["id"]
    wait_until(lambda: clusters(hub, ANN)[identity]["state"] == "ready", 90, "the cluster")
    wait_until(lambda: [*hub.homes.rglob(f"{identity}.ran")], 30, "its state to be kept")
    return identity


def kill_head(hub: Hub, identity: str) -> None:
    """Kill a cluster's head, and wait for its end."""
    [record] = hub.homes.rglob(f"{identity}.json")
    head = psutil.Process(json.loads(record.read_text())["pid"])
    head.kill()
    wait_until(lambda: not head.is_running() or head.status() == psutil.STATUS_ZOMBIE, 30, "its end")


def test_a_server_that_was_culled_finds_its_cluster_and_its_jobs_again(
    hub: Hub, work: dict[str, Any]
) -> None:
    before = clusters(hub, ANN)[work["cluster"]]
    lost = another(hub, "lost")
    hub.stop(ANN)
    kill_head(hub, lost)
    hub.start(ANN)
    frame = live(hub, ANN)
    assert [(c["name"], c["summary"]["values"]["by"]) for c in frame["untold"]] == [("lost", "killed")]
    wait_until(lambda: not [*hub.homes.rglob(f"{lost}.ran")], 30, "the next server not to tell it again")
    wait_until(lambda: work["cluster"] in clusters(hub, ANN), 30, "the cluster to be found")
    after = clusters(hub, ANN)[work["cluster"]]
    assert after["state"] == "ready"
    assert [rank["pid"] for rank in after["ranks"]] == [rank["pid"] for rank in before["ranks"]]
    assert hub.get(ANN, f"jobs/{work['job']}")["state"] == "succeeded"
    # the server that came back holds it: it is there to be stopped
    assert hub.ask(ANN, "DELETE", f"clusters/{work['cluster']}").status_code in (200, 202)
    wait_until(lambda: work["cluster"] not in clusters(hub, ANN), 30, "the cluster to stop")
