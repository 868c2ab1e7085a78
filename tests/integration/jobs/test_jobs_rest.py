"""Jobs over REST, as the panel uses them: plan, submit, read, cancel, resume, delete, and what is refused."""

from __future__ import annotations

import asyncio
import json
import os
import re
import resource
import sys
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


async def test_the_submit_line_of_a_plan_makes_the_same_plan_in_a_terminal(
    rest: Rest, jp_root_dir: Path, tmp_path: Path
) -> None:
    training(jp_root_dir / "Größe 'π'.ipynb")
    (tmp_path / "da ta").touch()
    body = {
        "notebook": "Größe 'π'.ipynb",
        "nodes": 2,
        "ranks_per_node": 1,
        "name": "Größe 5",
        "parameters": {
            "steps": 9,
            "text": 'it\'s $HOME "now"',
            "number": "5",
            "list": [1, None, True],
            "größe": 1.0,
        },
        "retries": 2,
        "warn_s": 0,
        "notify": 'echo "$DTRAIN_JOB" done; true',
        "stage": [str(tmp_path / "da ta")],
        "interface": "lo",
        "files": False,
        "monitor": False,
    }
    plan = await rest("POST", "jobs/plan", body)
    assert plan["submit"].startswith("dtrain-lab submit ")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    run = await asyncio.create_subprocess_exec(
        *["bash", "-c", f"{plan['submit']} --dry-run --json"],
        stdout=asyncio.subprocess.PIPE,
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
    )
    out, _ = await run.communicate()
    assert run.returncode == 0
    terminal = json.loads(out)

    def bare(made: dict[str, Any]) -> str:
        """Without what each plan has of its own: id, time, free room, and the notebook's path."""
        texts = {
            file["path"]: re.sub(r"[0-9a-f]{12}", "ID", file["text"] or "")
            for file in made["files"]
            if file["path"] != "job.json"
        }
        kept = ("size", "findings", "environment", "cells", "modules", "submit")
        return json.dumps([texts, {key: made[key] for key in kept}])

    assert bare(terminal) == bare(plan)


async def test_the_executed_notebook_of_a_job_can_be_read(rest: Rest, jp_root_dir: Path) -> None:
    write(jp_root_dir / "small.ipynb", ["print('größer')"])
    job = await rest("POST", "jobs", {"notebook": "small.ipynb", "ranks": 1, "name": "Größe 5"})
    assert job["name"] == "Größe 5"
    await rest.until(job["id"], "succeeded")
    found = await rest("GET", f"jobs/{job['id']}/notebook")
    assert found["cells"][0]["outputs"][0]["text"].strip() == "größer"
    for wrong, field in (
        ({"retries": 101}, "retries"),
        ({"warn_s": -1}, "warn_s"),
        ({"name": "/x"}, "name"),
        ({"notify": 'echo "'}, "notify"),
    ):
        _, error = await rest.refused("POST", "jobs/plan", {"notebook": "small.ipynb", **wrong})
        assert error["details"]["field"] == field


async def test_a_job_from_plan_to_delete(rest: Rest, jp_root_dir: Path) -> None:
    training(jp_root_dir / "books" / "train.ipynb")
    body = {
        "notebook": "books/train.ipynb",
        "nodes": 2,
        "ranks_per_node": 1,
        "parameters": {"steps": 9, "fails": 7},
        "python": "/bin/false",  # only a kernel may choose the interpreter: not a browser
    }
    plan = await rest("POST", "jobs/plan", body)
    assert plan["size"] == {"nodes": 2, "ranks_per_node": 1}
    assert {f["severity"] for f in plan["findings"]} == {"note"}
    assert await rest("GET", "jobs") == []

    code, error = await rest.refused("POST", "jobs", {**body, "name": "rest", "plan": plan["id"]})
    assert (code, error["code"], error["details"]) == (409, "plan_changed", {"changed": ["name"]})
    plan = await rest("POST", "jobs/plan", {**body, "name": "rest"})
    job = await rest("POST", "jobs", {"notebook": body["notebook"], "plan": plan["id"]})
    assert (job["id"], job["directory"] in plan["command"]) == (plan["id"], True)
    code, error = await rest.refused("POST", "jobs", {"notebook": body["notebook"], "plan": plan["id"]})
    assert (code, error["code"]) == (409, "plan_unknown")
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
    for offset, side in (("start", "after"), ("end", "before")):
        counted = await rest("GET", f"jobs/{job['id']}/logs/matches", search="of 2", offset=offset)
        whole = await rest("GET", f"jobs/{job['id']}/logs", offset="start")
        number = sum("of 2" in line["text"] for line in whole["lines"])
        assert counted == {"before": 0, "after": 0, side: number}
        assert number
    code, error = await rest.refused("GET", f"jobs/{job['id']}/logs/matches")
    assert (code, error["message"]) == (400, "search is empty.")
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


@pytest.fixture
def no_folder(jp_data_dir: Path) -> None:
    """Before the server starts."""
    (jp_data_dir / "dtrain-lab").write_text("no folder")


async def test_an_index_that_cant_be_used_takes_nothing_else_along(
    no_folder: None, rest: Rest, jp_data_dir: Path
) -> None:
    code, error = await rest.refused("GET", "jobs")
    assert (code, error["code"]) == (502, "no_index")
    assert [profile["name"] for profile in await rest("GET", "profiles")] == ["local"]
    (jp_data_dir / "dtrain-lab").unlink()
    assert await rest("GET", "jobs") == []
    (jp_data_dir / "dtrain-lab" / "jobs.sqlite").write_bytes(b"no database" * 1000)
    assert await rest("GET", "jobs") == []


async def test_a_running_job_is_told_by_its_head_and_not_by_its_folder(
    rest: Rest, jp_ws_fetch: Any, jp_root_dir: Path
) -> None:
    code = (
        "import time\nimport dtrain_lab as dt\nfor i in range(600):\n    dt.log(i, seen=i); time.sleep(0.1)"
    )
    write(jp_root_dir / "long.ipynb", [code])
    job = await rest("POST", "jobs", {"notebook": "long.ipynb", "ranks_per_node": 1})
    socket = await jp_ws_fetch("dtrain-lab", "live")

    async def step(above: int) -> int:
        while True:
            frame = json.loads(await asyncio.wait_for(socket.read_message(), 60))
            for told in frame["jobs"]:
                if (found := told["metrics"]["values"].get("step", -1)) > above:
                    return int(found)

    try:
        await step(-1)
        endpoints = json.loads((Path(job["directory"]) / "endpoints.json").read_text())
        resource.prlimit(endpoints["pid"], resource.RLIMIT_FSIZE, (0, 0))  # it can write no file from now on
        left = (await rest("GET", f"jobs/{job['id']}"))["metrics"]["values"]["step"]
        assert await step(left + 20) > left
        assert (await rest("GET", f"jobs/{job['id']}"))["metrics"]["values"]["step"] <= left + 10
    finally:
        await rest("POST", f"jobs/{job['id']}/cancel")
        await rest.until(job["id"], "cancelled")
        socket.close()
