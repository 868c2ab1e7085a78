"""Jobs over REST, as the panel uses them: plan, submit, read, cancel, resume, delete, and what is refused."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tornado.httpclient import HTTPClientError

from tests.books import FAILING_LINE, training, write

pytestmark = [pytest.mark.processes, pytest.mark.timeout(120)]


@pytest.fixture
def jp_server_config() -> dict[str, Any]:
    return {"ServerApp": {"jpserver_extensions": {"dtrain_lab": True}}}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs lie in the user's home, their index in Jupyter's data folder."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


class Rest:
    """Requests below `dtrain-lab/`."""

    def __init__(self, fetch: Any) -> None:
        self._fetch = fetch

    async def __call__(self, method: str, path: str, body: Any = None, **query: str) -> Any:
        sent = None if method in ("GET", "DELETE") else json.dumps(body if body is not None else {})
        answer = await self._fetch(
            "dtrain-lab", *path.split("/"), method=method, body=sent, params=query or None
        )
        return json.loads(answer.body)

    async def refused(
        self, method: str, path: str, body: Any = None, **query: str
    ) -> tuple[int, dict[str, Any]]:
        with pytest.raises(HTTPClientError) as error:
            await self(method, path, body, **query)
        assert error.value.response is not None
        return error.value.code, json.loads(error.value.response.body)

    async def until(self, job: str, *states: str) -> Any:
        while (found := await self("GET", f"jobs/{job}"))["state"] not in states:
            await asyncio.sleep(0.1)
        return found


@pytest.fixture
def rest(jp_fetch: Any) -> Rest:
    return Rest(jp_fetch)


async def test_a_job_from_plan_to_delete(rest: Rest, jp_root_dir: Path) -> None:
    training(jp_root_dir / "books" / "train.ipynb")
    body = {
        "notebook": "books/train.ipynb",
        "nodes": 2,
        "ranks_per_node": 1,
        "parameters": {"steps": 9, "fails": 7},
    }
    plan = await rest("POST", "jobs/plan", body)
    assert plan["size"] == {"nodes": 2, "ranks_per_node": 1}
    assert {f["severity"] for f in plan["findings"]} == {"note"}
    assert await rest("GET", "jobs") == []

    job = await rest("POST", "jobs", {**body, "name": "rest"})
    assert (job["name"], job["notebook"], job["parent"]) == ("rest", "books/train.ipynb", None)
    code, error = await rest.refused("POST", "jobs", {**body, "name": "rest"})
    assert (code, error["code"]) == (409, "conflict")
    code, error = await rest.refused("DELETE", f"jobs/{job['id']}")
    assert code == 409

    failed = await rest.until(job["id"], "failed")
    assert (failed["error"]["cell"], failed["error"]["line"]) == ("[4]", FAILING_LINE)
    piece = await rest("GET", f"jobs/{job['id']}/logs", first_error="1")
    assert "ValueError: the data ended early" in [line["text"] for line in piece["lines"]]
    only = await rest("GET", f"jobs/{job['id']}/logs", ranks="1", offset="0")
    assert {line["rank"] for line in only["lines"]} == {1}
    found = await rest("GET", f"jobs/{job['id']}/logs", search="local 0 of 2")
    assert any("local 0 of 2" in line["text"] for line in found["lines"])
    assert (await rest("GET", f"jobs/{job['id']}/metrics"))["values"]["step"] == 7
    assert (await rest("GET", f"jobs/{job['id']}/request"))["parameters"] == body["parameters"]
    code, error = await rest.refused("GET", f"jobs/{job['id']}/stacks")
    assert (code, error["code"]) == (409, "not_running")

    again = await rest("POST", f"jobs/{job['id']}/resume")
    assert again["parent"] == job["id"]
    await rest("POST", f"jobs/{again['id']}/cancel")
    await rest.until(again["id"], "cancelled", "failed")
    for one in (again, job):
        await rest("DELETE", f"jobs/{one['id']}")
    assert await rest("GET", "jobs") == []
    assert (await rest.refused("GET", f"jobs/{job['id']}"))[0] == 404


async def test_what_is_refused_says_why(rest: Rest, jp_root_dir: Path, tmp_path: Path) -> None:
    write(jp_root_dir / "bad.ipynb", ["x = 1\nprint(nothing)", "%foo"])
    write(tmp_path / "outside.ipynb", ["1"])
    (jp_root_dir / "empty.ipynb").write_text("")
    code, error = await rest.refused("POST", "jobs", {"notebook": "bad.ipynb"})
    assert (code, error["code"]) == (400, "notebook_problems")
    assert [(f["cell"], f["line"]) for f in error["details"]["findings"]] == [("[1]", 2), ("[2]", 1)]
    for body, wanted in (
        ({"notebook": "../outside.ipynb"}, 403),
        ({"notebook": "none.ipynb"}, 404),
        ({"notebook": "empty.ipynb"}, 400),
        ({"notebook": "bad.ipynb", "profile": "none"}, 404),
        ({"notebook": "bad.ipynb", "nodes": 0}, 400),
        ({"notebook": "bad.ipynb", "nodes": "two"}, 400),
        ({"notebook": "bad.ipynb", "surprise": 1}, 400),
        ({}, 400),
    ):
        code, error = await rest.refused("POST", "jobs", body)
        assert code == wanted, (body, error)
        assert error["message"]
        assert "Traceback" not in json.dumps(error)
    write(jp_root_dir / "good.ipynb", ["1"])
    # an interpreter from a browser would run anything: it is not listened to
    job = await rest("POST", "jobs", {"notebook": "good.ipynb", "ranks": 1, "python": "/bin/false"})
    assert (await rest.until(job["id"], "succeeded", "failed"))["state"] == "succeeded"
    code, error = await rest.refused("GET", f"jobs/{job['id']}/logs", offset="soon")
    assert (code, error["message"]) == (400, 'offset is "soon".')


async def test_slots_are_shown(rest: Rest) -> None:
    (node,) = (await rest("GET", "slots"))["nodes"]
    assert node["slots"]
    assert {"device", "held_by", "memory_bytes"} == set(node["slots"][0])
