"""Somebody whom the authorizer lets only read: watches all, changes nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.books import write
from tests.integration.server.test_routes import routes

pytestmark = [pytest.mark.processes, pytest.mark.timeout(120)]


@pytest.fixture
def jp_server_config() -> dict[str, Any]:
    return {"ServerApp": {"jpserver_extensions": {"dtrain_lab": True}}}


@pytest.fixture
def only_reads(jp_serverapp: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Call it to let everybody only read from then on."""

    def reads(handler: Any, user: Any, action: str, resource: str) -> bool:
        return action == "read"

    return lambda: monkeypatch.setattr(jp_serverapp.authorizer, "is_authorized", reads)


@pytest.mark.parametrize(("method", "path"), [r for r in routes() if not r[1].endswith("live")])
async def test_a_reader_may_get_and_do_nothing_else(
    method: str, path: str, jp_fetch: Any, only_reads: Any
) -> None:
    only_reads()
    body = "{}" if method in ("POST", "PUT", "PATCH") else None
    answer = await jp_fetch(path, method=method, body=body, raise_error=False)
    assert (answer.code == 403) is (method != "GET"), answer.body


async def test_a_reader_is_offered_no_action(
    jp_fetch: Any, jp_ws_fetch: Any, jp_root_dir: Path, only_reads: Any
) -> None:
    write(jp_root_dir / "a.ipynb", ["x = 1"])
    await jp_fetch("dtrain-lab", "clusters", method="POST", body='{"ranks": 1, "name": "seen"}')
    await jp_fetch("dtrain-lab", "jobs", method="POST", body='{"notebook": "a.ipynb", "ranks": 1}')

    async def offered(path: str) -> list[str]:
        found = json.loads((await jp_fetch("dtrain-lab", *path.split("/"))).body)
        return list((found[0] if isinstance(found, list) else found)["may"])

    [job] = json.loads((await jp_fetch("dtrain-lab", "jobs")).body)
    paths = ("clusters", "clusters/seen", "jobs", f"jobs/{job['id']}")
    for path in paths:
        assert await offered(path), path
    only_reads()
    for path in paths:
        assert await offered(path) == [], path
    socket = await jp_ws_fetch("dtrain-lab", "live")
    while not ((frame := json.loads(await socket.read_message()))["clusters"] and frame["jobs"]):
        pass
    socket.close()
    assert (frame["clusters"][0]["may"], frame["jobs"][0]["may"]) == ([], [])


async def test_hosts_are_not_asked_for_a_reader(
    jp_fetch: Any, only_reads: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path / "config"))
    folder = tmp_path / "config" / "dtrain-lab" / "profiles"
    folder.mkdir(parents=True)
    (folder / "far.toml").write_text('backend = "ssh"\n[ssh]\nhosts = ["gpu-01.invalid"]\n')
    only_reads()
    answer = await jp_fetch("dtrain-lab", "slots", params={"profile": "far"}, raise_error=False)
    assert (answer.code, "read-only access" in json.loads(answer.body)["message"]) == (403, True)
