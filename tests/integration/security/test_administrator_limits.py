"""The administrator's limits: one check on the plan, and no route around it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tornado.httpclient import HTTPClientError

from dtrain_lab.errors import Forbidden
from dtrain_lab.services.policy import policy
from dtrain_lab.wire.processes.settings import Policy
from tests.books import write
from tests.integration.server.all_routes import routes

pytestmark = [pytest.mark.processes, pytest.mark.timeout(120)]


@pytest.fixture
def jp_server_config() -> dict[str, Any]:
    return {"ServerApp": {"jpserver_extensions": {"dtrain_lab": True}}}


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Limits end with the test; one profile names a host that nobody has."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path / "config"))
    folder = tmp_path / "config" / "dtrain-lab" / "profiles"
    folder.mkdir(parents=True)
    (folder / "far.toml").write_text('backend = "ssh"\n[ssh]\nhosts = ["gpu-01.invalid"]\n')
    yield
    policy.forget()


async def refused(fetch: Any, method: str, path: str, body: Any = None, **query: str) -> tuple[int, str]:
    """Status and code of an answer that has to be an error."""
    sent = json.dumps(body) if method == "POST" else None
    with pytest.raises(HTTPClientError) as error:
        await fetch("dtrain-lab", *path.split("/"), method=method, body=sent, params=query or None)
    assert error.value.response is not None
    return error.value.code, json.loads(error.value.response.body)["code"]


def swept(**more: Any) -> dict[str, Any]:
    """A request of a sweep with one trial on one rank."""
    return {"notebook": "a.ipynb", "space": {"lr": [0.1]}, "objective": "loss", "sampler": "grid"} | more


LIMITED = {
    *(("POST", path) for path in ("clusters", "clusters/some/resize", "jobs", "jobs/plan")),
    *(("POST", path) for path in ("profiles/some/check", "sign-in", "sweeps", "sweeps/plan")),
    ("POST", "jobs/some/resume"),
    ("DELETE", "slots/some"),
}
"""What starts processes or opens connections; asked for one by one below."""
UNLIMITED = {
    *(("POST", f"clusters/some/{what}") for what in ("advise", "diagnose", "interrupt")),
    *(("POST", f"clusters/some/{what}") for what in ("leave-out", "restart")),
    *(("POST", path) for path in ("jobs/some/cancel", "sweeps/some/stop")),
    ("POST", "sweeps/some/resume"),  # its trials are submitted as jobs are, each with that check
    *(("DELETE", path) for path in ("clusters/some", "jobs/some", "sweeps/some")),
    *((method, "profiles/some") for method in ("PUT", "DELETE")),
    ("POST", "kernels/some"),  # a record of where a notebook is
}
"""What changes what is there, with the size and on the hosts that it was allowed, or ends it."""


def test_every_route_that_changes_something_is_known_here() -> None:
    there = {(method, path.removeprefix("dtrain-lab/")) for method, path in routes() if method != "GET"}
    assert there == LIMITED | UNLIMITED


@pytest.mark.parametrize(
    ("trait", "value", "field", "limit"),
    [
        ("backends", ["slurm"], "backends", ("slurm",)),
        ("hosts", ["gpu-*"], "hosts", ("gpu-*",)),
        ("allow_options", False, "options", False),
        ("allow_environments", False, "environments", False),
        ("ports", "20000-20999", "ports", "20000-20999"),
        ("idle_limit", 60.0, "idle_limit_s", 60.0),
        ("poll_floor", 120.0, "poll_floor_s", 120.0),
        ("allow_local", False, "local", False),
        ("max_ranks", 4, "ranks", 4),
    ],
)
async def test_each_trait_is_told_to_processes_below_the_server(
    jp_serverapp: Any, trait: str, value: Any, field: str, limit: Any
) -> None:
    app = jp_serverapp.web_app.settings["dtrain_lab"]
    assert policy.current() == Policy()
    setattr(app, trait, value)
    assert policy.current() == replace(Policy(), **{field: limit})


async def test_no_route_gets_around_a_limit(jp_fetch: Any, jp_serverapp: Any, jp_root_dir: Path) -> None:
    app = jp_serverapp.web_app.settings["dtrain_lab"]
    write(jp_root_dir / "a.ipynb", [("lr = 0.1", "parameters"), "x = 1"])
    app.max_ranks = 2
    started = await jp_fetch("dtrain-lab", "clusters", method="POST", body='{"ranks": 2, "name": "small"}')
    assert started.code == 202
    small = '{"notebook": "a.ipynb", "ranks": 1}'
    planned = await jp_fetch("dtrain-lab", "jobs", "plan", method="POST", body=small)
    submitted = await jp_fetch("dtrain-lab", "jobs", method="POST", body=small)
    plan, job = json.loads(planned.body), json.loads(submitted.body)
    while not json.loads((await jp_fetch("dtrain-lab", "jobs", job["id"])).body)["ended_at"]:
        await asyncio.sleep(0.05)
    large: list[tuple[str, Any]] = [
        ("clusters", {"ranks": 3}),
        ("clusters", {"nodes": 2, "ranks_per_node": 2}),
        ("clusters/small/resize", {"ranks": 3}),
        ("jobs/plan", {"notebook": "a.ipynb", "ranks": 3}),
        ("jobs", {"notebook": "a.ipynb", "nodes": 3}),
        ("sweeps", swept(ranks_per_node=3)),
        ("sweeps/plan", swept(ranks_per_node=3)),
    ]
    for path, body in large:
        assert await refused(jp_fetch, "POST", path, body) == (400, "bad_size"), path

    app.allow_environments = False
    chosen = {"notebook": "a.ipynb", "ranks": 1, "environment": "venv:/tmp"}
    for path in ("jobs", "jobs/plan"):
        assert await refused(jp_fetch, "POST", path, chosen) == (403, "environment_not_allowed"), path
    for path in ("sweeps", "sweeps/plan"):
        asked = swept(environment="venv:/tmp")
        assert await refused(jp_fetch, "POST", path, asked) == (403, "environment_not_allowed"), path

    app.hosts = ["cpu-*"]
    for method, path, body, query in (
        ("POST", "clusters", {"profile": "far"}, {}),
        ("POST", "jobs", {"notebook": "a.ipynb", "profile": "far"}, {}),
        ("POST", "jobs/plan", {"notebook": "a.ipynb", "profile": "far"}, {}),
        ("POST", "sweeps", swept(profile="far"), {}),
        ("POST", "sweeps/plan", swept(profile="far"), {}),
        ("POST", "profiles/far/check", {}, {}),
        ("GET", "slots", None, {"profile": "far"}),
        ("DELETE", "slots/1", None, {"profile": "far"}),
        ("POST", "sign-in", {"host": "gpu-01.invalid"}, {}),
    ):
        assert await refused(jp_fetch, method, path, body, **query) == (403, "host_not_allowed"), path

    ways: list[tuple[str, str, Any]] = [
        ("POST", "clusters", {"ranks": 1}),
        ("POST", "clusters/small/resize", {"ranks": 1}),
        ("POST", "jobs", {"notebook": "a.ipynb", "ranks": 1}),
        ("POST", "jobs", {"notebook": "a.ipynb", "ranks": 1, "plan": plan["id"]}),
        ("POST", "jobs/plan", {"notebook": "a.ipynb", "ranks": 1}),
        ("POST", f"jobs/{job['id']}/resume", None),
        ("POST", "sweeps", swept()),
        ("POST", "sweeps/plan", swept()),
        ("POST", "profiles/local/check", {}),
        ("GET", "slots", None),
        ("DELETE", "slots/1", None),
    ]
    for trait, limit, code in (
        ("backends", ["slurm"], "backend_not_allowed"),
        ("allow_local", False, "no_local_ranks"),
    ):
        setattr(app, trait, limit)
        for method, path, body in ways:
            assert await refused(jp_fetch, method, path, body) == (403, code), path
        with pytest.raises(Forbidden) as warm:
            await app.worlds.warm_heads.start()
        assert warm.value.code == code
    assert (await jp_fetch("dtrain-lab", "clusters/small", method="DELETE")).code == 202


async def test_a_job_from_before_a_limit_is_not_resumed(
    jp_fetch: Any, jp_serverapp: Any, jp_root_dir: Path
) -> None:
    app = jp_serverapp.web_app.settings["dtrain_lab"]
    write(jp_root_dir / "a.ipynb", ["raise SystemExit(3)"])
    body = json.dumps({"notebook": "a.ipynb", "ranks": 2, "files": False})
    job = json.loads((await jp_fetch("dtrain-lab", "jobs", method="POST", body=body)).body)
    while not json.loads((await jp_fetch("dtrain-lab", "jobs", job["id"])).body)["ended_at"]:
        await asyncio.sleep(0.05)
    app.allow_environments = False
    request, file = await app.jobs.request_of(job["id"])
    assert file == jp_root_dir / "a.ipynb", "a duplicate is made of it wherever the terminal stands"
    asked = replace(request, environment="venv:/tmp")
    await app.jobs._index.change(job["id"], request=asked)
    refusal = await refused(jp_fetch, "POST", f"jobs/{job['id']}/resume")
    assert refusal == (403, "environment_not_allowed")
    app.max_ranks = 1
    app.allow_environments = True
    assert await refused(jp_fetch, "POST", f"jobs/{job['id']}/resume") == (400, "bad_size")
    app.allow_local = False
    assert await refused(jp_fetch, "POST", f"jobs/{job['id']}/resume") == (403, "no_local_ranks")
    await jp_fetch("dtrain-lab", "jobs", job["id"], method="DELETE")


async def test_an_interpreter_is_not_taken_from_a_browser(jp_fetch: Any) -> None:
    body = '{"ranks": 1, "name": "kernels", "python": "/bin/false"}'
    assert (await jp_fetch("dtrain-lab", "clusters", method="POST", body=body)).code == 202
    assert (await jp_fetch("dtrain-lab", "clusters/kernels", method="DELETE")).code == 202


HUGE, LONG = "9" * 20, "9" * 5000
SENSELESS: tuple[tuple[str, str, str | None, dict[str, str]], ...] = (
    ("POST", "clusters", "[" * 100_000, {}),
    ("POST", "clusters", '{"notebook": "\\u0000"}', {}),
    ("POST", "clusters", json.dumps({"notebook": f"{LONG}/a.ipynb"}), {}),
    ("POST", "jobs", '{"parameters": ' + "[" * 30_000, {}),
    *(("GET", "clusters/one/output", None, {"most": most}) for most in ("-1", "0", HUGE, LONG, "1.5", "x")),
    *(("GET", "clusters/one/output", None, {"after": after}) for after in ("-2", HUGE, "NaN")),
    *(("GET", "clusters/one/history", None, {"since": since}) for since in ("-1", HUGE, "NaN")),
    ("GET", "clusters/one/history", None, {"format": "xml"}),
    *(("GET", "clusters/one/stacks", None, {"ranks": ranks}) for ranks in ("1", "-1", LONG, f"0-{HUGE}")),
    *(
        ("POST", f"clusters/one/{action}", f'{{"ranks": {ranks}}}', {})
        for action in ("interrupt", "restart", "leave-out")
        for ranks in ("1", "-1", "[]", "[0, 0]", f"[{HUGE}]", f"[{HUGE}{HUGE}]", '"0-1"', "true", '["0"]')
    ),
    *(("GET", "jobs/ended/logs", None, {"offset": at}) for at in ("-1", HUGE, "0:-5", f"0:{HUGE}", "a:b")),
    *(("GET", "jobs/ended/logs", None, {"ranks": ranks}) for ranks in ("1", "-1", LONG, "0,0", "x")),
    ("GET", "jobs/ended/stacks", None, {"ranks": "1"}),
    ("GET", "jobs/ended/history", None, {"format": "xml"}),
    ("GET", "slots", None, {"profile": LONG}),
    ("PUT", "profiles/deep", json.dumps({"text": "a = " + "[" * 5000}), {}),
    *(
        ("POST", "jobs/plan", json.dumps({"notebook": "a.ipynb", **wrong}), {})
        for wrong in (
            {"notebook": "\0"},
            {"notebook": LONG},
            {"profile": LONG},
            {"profile": "a\0b"},
            {"time": LONG},
            {"time": "١:00:00"},
            {"environment": "command:'"},
            {"ranks": 10**30},
            {"after": LONG},
        )
    ),
)


async def test_what_makes_no_sense_is_a_bad_request(jp_fetch: Any, jp_root_dir: Path) -> None:
    """Asked of a cluster and a job that are there: one that is not would refuse whatever is asked of it."""
    write(jp_root_dir / "a.ipynb", ["x = 1"])
    await jp_fetch("dtrain-lab", "clusters", method="POST", body='{"ranks": 1, "name": "one"}')
    body = '{"notebook": "a.ipynb", "ranks": 1, "name": "ended"}'
    await jp_fetch("dtrain-lab", "jobs", method="POST", body=body)

    async def state(path: str) -> str:
        answer = await jp_fetch("dtrain-lab", *path.split("/"), method="GET")
        return str(json.loads(answer.body)["state"])

    while await state("clusters/one") != "ready" or await state("jobs/ended") != "succeeded":
        await asyncio.sleep(0.1)
    wrong = []
    for method, path, sent, query in SENSELESS:
        answer = await jp_fetch(
            "dtrain-lab", *path.split("/"), method=method, body=sent, params=query or None, raise_error=False
        )
        told = json.loads(answer.body)
        if answer.code not in (400, 404) or not (told["code"] and told["message"]):
            wrong.append((method, path, (sent or "")[:60], str(query)[:60], answer.code))
    assert wrong == []
    for ranks in ("0", "[0]", '"0"', "null"):
        answer = await jp_fetch(
            "dtrain-lab", "clusters", "one", "interrupt", method="POST", body=f'{{"ranks": {ranks}}}'
        )
        assert answer.code == 200
    stacks = await jp_fetch("dtrain-lab", "clusters", "one", "stacks", params={"ranks": "0"})
    assert [stack["rank"] for stack in json.loads(stacks.body)] == [0]
    await jp_fetch("dtrain-lab", "clusters", "one", method="DELETE")
