"""The server extension: every route authenticated and authorized, errors as JSON, clusters end to end."""

from __future__ import annotations

import asyncio
import json
import os
import posixpath
import re
import secrets
import signal
import time
from pathlib import Path
from typing import Any, NoReturn

import pytest
from tornado.httpclient import HTTPClientError, HTTPRequest
from tornado.websocket import websocket_connect

from dtrain_lab.errors import Conflict
from dtrain_lab.server import long_work
from dtrain_lab.server.operations import OPERATIONS
from dtrain_lab.services import notebook_clusters, paths
from dtrain_lab.services.profiles import check as profile_check
from dtrain_lab.services.worlds import heads
from dtrain_lab.services.worlds.worlds import Worlds
from dtrain_lab.wire.profile import Profile
from dtrain_lab.wire.site import KernelUse
from tests.integration.server.all_routes import routes


@pytest.fixture
def jp_server_config() -> dict[str, Any]:
    return {
        "ServerApp": {
            "jpserver_extensions": {"dtrain_lab": True},
            "allow_unauthenticated_access": False,
        }
    }


@pytest.fixture
def live_url(jp_http_port: int, jp_base_url: str) -> str:
    return f"ws://127.0.0.1:{jp_http_port}{jp_base_url}dtrain-lab/live"


def test_the_walk_finds_all_routes_and_each_is_described() -> None:
    described = [
        (operation.method.upper(), "dtrain-lab" + operation.path.format(identity="some"))
        for operation in OPERATIONS
    ]
    assert sorted(routes()) == sorted(described)


@pytest.mark.parametrize(("method", "path"), routes())
async def test_no_route_answers_a_stranger(
    method: str, path: str, http_server_client: Any, jp_base_url: str, jp_serverapp: Any
) -> None:
    body = "{}" if method in ("POST", "PUT", "PATCH") else None
    with pytest.raises(HTTPClientError) as error:
        await http_server_client.fetch(jp_base_url + path, method=method, body=body, follow_redirects=False)
    assert error.value.code in (302, 403)


@pytest.mark.parametrize(("method", "path"), routes())
async def test_no_route_answers_whom_the_authorizer_refuses(
    method: str,
    path: str,
    jp_fetch: Any,
    jp_ws_fetch: Any,
    jp_serverapp: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []

    def refuse(handler: Any, user: Any, action: str, resource: str) -> bool:
        asked.append(resource)
        return False

    monkeypatch.setattr(jp_serverapp.authorizer, "is_authorized", refuse)
    body = "{}" if method in ("POST", "PUT") else None
    asking = jp_ws_fetch(path) if path.endswith("live") else jp_fetch(path, method=method, body=body)
    with pytest.raises(HTTPClientError) as error:
        await asking
    assert error.value.code == 403
    assert set(asked) == {"dtrain-lab"}


async def test_a_cookie_needs_the_same_origin_and_xsrf(
    jp_fetch: Any, http_server_client: Any, jp_http_port: int, jp_base_url: str, live_url: str
) -> None:
    answer = await jp_fetch("dtrain-lab", "site")
    pairs = dict(c.split(";")[0].split("=", 1) for c in answer.headers.get_list("Set-Cookie"))
    jar = "; ".join(f"{k}={v}" for k, v in pairs.items())

    def connect(origin: str) -> Any:
        return websocket_connect(HTTPRequest(live_url, headers={"Cookie": jar, "Origin": origin}))

    (await connect(f"http://127.0.0.1:{jp_http_port}")).close()
    with pytest.raises(HTTPClientError) as error:
        await connect("http://elsewhere.test")
    assert error.value.code == 403
    with pytest.raises(HTTPClientError) as error:
        await http_server_client.fetch(
            jp_base_url + "dtrain-lab/clusters", method="POST", body="{}", headers={"Cookie": jar}
        )
    assert error.value.code == 403


@pytest.mark.parametrize(
    ("method", "path", "body", "code", "part"),
    [
        ("POST", "clusters", {"ranks": 0}, 400, "at least one rank"),
        ("POST", "clusters", {"ranks": 100_000}, 400, "too many for this machine"),
        ("POST", "clusters", {"rnks": 2}, 400, "unknown field `rnks`"),
        ("POST", "clusters", {"ranks": "two"}, 400, "Expected `int | null`"),
        ("POST", "clusters", {"profile": "lokal"}, 404, 'no profile "lokal"'),
        ("POST", "clusters", {"name": "../x"}, 400, "can't be a name"),
        ("POST", "clusters", {"kernel": "nope"}, 409, 'no kernel "nope"'),
        ("GET", "clusters/nope", None, 404, 'no cluster "nope"'),
        ("DELETE", "clusters/nope", None, 404, 'no cluster "nope"'),
        ("GET", "clusters/nope/output", None, 404, 'no cluster "nope"'),
    ],
)
async def test_bad_input_is_a_clear_error_without_a_traceback(
    jp_fetch: Any, method: str, path: str, body: Any, code: int, part: str
) -> None:
    with pytest.raises(HTTPClientError) as error:
        await jp_fetch("dtrain-lab", path, method=method, body=None if body is None else json.dumps(body))
    assert error.value.code == code
    answer = json.loads(error.value.response.body)
    assert set(answer) == {"code", "message", "hint", "details"}
    assert part in answer["message"]
    assert answer["hint"]
    assert "Traceback" not in error.value.response.body.decode()


async def test_a_body_that_is_no_json_or_too_large(jp_fetch: Any) -> None:
    large = json.dumps({"name": "x" * 70_000})
    for body, says in (("{", "The body is not JSON"), (large, "The request is too large.")):
        answer = await jp_fetch("dtrain-lab", "clusters", method="POST", body=body, raise_error=False)
        assert answer.code == 400
        assert json.loads(answer.body)["message"].startswith(says)


async def test_a_bug_and_what_the_server_refuses_have_the_shape_of_every_error(
    jp_fetch: Any, jp_serverapp: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(*, active: bool) -> None:
        raise KeyError("oops")

    monkeypatch.setattr(jp_serverapp.web_app.settings["dtrain_lab"].sweeps, "listing", fails)
    for method, path, code, says in (
        ("GET", "sweeps", 500, ("bug", "dtrain-lab has failed: KeyError: 'oops'.")),
        ("DELETE", "sweeps", 405, ("http_405", "Method Not Allowed")),
    ):
        answer = await jp_fetch("dtrain-lab", path, method=method, raise_error=False)
        found = json.loads(answer.body)
        assert (answer.code, set(found)) == (code, {"code", "message", "hint", "details"})
        assert (found["code"], found["message"]) == says


async def next_frame(socket: Any, wanted: Any) -> dict[str, Any]:
    """The next frame whose clusters are as wanted."""
    while True:
        frame = json.loads(await socket.read_message())
        if wanted(frame["clusters"]):
            return frame


async def test_a_quiet_server_sends_its_last_frame_again(
    jp_ws_fetch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dtrain_lab.server.routes.live.BEAT_S", 0.2)
    socket = await jp_ws_fetch("dtrain-lab", "live")
    before = await next_frame(socket, lambda _: True)
    while (frame := await next_frame(socket, lambda _: True)) != before:
        before = frame
    socket.close()


@pytest.mark.parametrize(
    ("stop_clusters", "reason"), [(True, "stopped with clusters"), (False, "stopped alone")]
)
async def test_a_server_that_is_stopped_says_so_to_its_pages(
    jp_ws_fetch: Any, jp_serverapp: Any, stop_clusters: bool, reason: str
) -> None:
    socket = await jp_ws_fetch("dtrain-lab", "live")
    await next_frame(socket, lambda _: True)
    app = jp_serverapp.web_app.settings["dtrain_lab"]
    app.stop_clusters = stop_clusters
    await app.stop_extension()
    while await socket.read_message() is not None:
        pass
    assert (socket.close_code, socket.close_reason) == (1001, reason)
    socket.close()


@pytest.mark.processes
async def test_where_a_renamed_notebook_is_now_is_recorded_for_other_notebooks_kernels(
    jp_fetch: Any, jp_root_dir: Path
) -> None:
    async def session(method: str, *name: str, **body: Any) -> Any:
        text = json.dumps(body) if body else None
        answer = await jp_fetch("api", "sessions", *name, method=method, body=text)
        return json.loads(answer.body) if answer.body else None

    made = await session(
        "POST", path="life.ipynb", name="life.ipynb", type="notebook", kernel={"name": "python3"}
    )
    kernel, was = made["kernel"]["id"], str(jp_root_dir / "life.ipynb")
    notebook_clusters.tell(kernel, KernelUse(was))
    await jp_fetch("dtrain-lab", "kernels", kernel, method="POST", body="")
    assert notebook_clusters.path_now(was) == was
    await session("PATCH", made["id"], path="renamed.ipynb")
    use = json.loads((await jp_fetch("dtrain-lab", "kernels", kernel)).body)
    assert notebook_clusters.path_now(was) == was, "a GET records nothing"
    told = await jp_fetch("dtrain-lab", "kernels", kernel, method="POST", body="")
    assert json.loads(told.body) == use
    assert notebook_clusters.path_now(was) == str(jp_root_dir / "renamed.ipynb")
    await session("DELETE", made["id"])


START = '{"ranks": 2, "name": "web", "notebook": "sub/a.ipynb"}'


@pytest.mark.processes
async def test_a_cluster_from_start_to_stop(jp_fetch: Any, jp_ws_fetch: Any, jp_root_dir: Path) -> None:
    (jp_root_dir / "sub").mkdir()
    socket = await jp_ws_fetch("dtrain-lab", "live")
    answer = await jp_fetch("dtrain-lab", "clusters", method="POST", body=START)
    assert answer.code == 202
    begun = json.loads(answer.body)
    assert begun["state"] in ("starting", "connecting", "ready")
    mine = notebook_clusters.last(str(jp_root_dir / "sub" / "a.ipynb"))
    assert mine == notebook_clusters.UsedCluster(begun["id"], begun=True)
    notebook_clusters.tell("k1", KernelUse(str(jp_root_dir / "sub" / "a.ipynb")))
    told = json.loads((await jp_fetch("dtrain-lab", "kernels", "k1")).body)
    assert told == {"notebook": str(jp_root_dir / "sub" / "a.ipynb"), "cluster": begun["id"]}
    frame = await next_frame(socket, lambda cs: cs and cs[0]["state"] == "ready")
    assert frame["type"] == "clusters"
    assert [r["state"] for r in frame["clusters"][0]["ranks"]] == ["idle", "idle"]

    async def fetch(path: str, **more: Any) -> Any:
        return json.loads((await jp_fetch("dtrain-lab", f"clusters/{path}", **more)).body)

    assert (await fetch("web"))["id"] == begun["id"]
    assert (await fetch("web/metrics"))["verdicts"] == []
    assert len(await fetch("web/stacks")) == 2
    assert await fetch("web/advise") == []
    assert await fetch("web/measurements") == []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(long_work, "ANSWER_WITHIN_S", 0.0)
        asked = await jp_fetch("dtrain-lab", "clusters/web/diagnose", method="POST", body="{}")
    assert (asked.code, json.loads(asked.body)["state"]) == (202, "running")
    [measured] = await fetch("web/measurements", params={"wait": "1"})
    assert (measured["id"], measured["kind"]) == (json.loads(asked.body)["id"], "diagnosis")
    assert (measured["state"], measured["diagnosis"]) == ("failed", None)
    assert measured["error"]["message"].startswith("No DDP model has trained")
    worlds = Worlds("python")
    connection = await worlds.connect("web")
    from dtrain_lab.wire import clients

    await connection.run(clients.Run(cell="t", code="print('seen', rank)", label="[1]"), lambda o: None)
    code = f"import os; assert os.getcwd() == {str(jp_root_dir / 'sub')!r}, os.getcwd()"
    end = await connection.run(clients.Run(cell="u", code=code, label="[2]"), lambda o: None)
    assert end.sentence == ""

    async def run(source: str, *, fails: bool = False) -> bool:
        order = clients.Run(cell=secrets.token_hex(4), code=source, label="[9]")
        found = await connection.run(order, lambda o: None)
        assert bool(found.sentence) == fails, found.sentence
        return True

    async def seen(there: Any) -> dict[int, int]:
        """A variable of each rank, as far as they have it."""
        found: dict[int, int] = {}
        order = clients.Run(cell=secrets.token_hex(4), code="print(globals().get('secret', 0))", label="[9]")
        await there.run(order, lambda o: found.update({o.rank: int(o.text)}))
        return found

    outputs = await fetch("web/output")
    assert {(o["text"], tuple(o["ranks"])) for o in outputs} == {("seen 0\n", (0,)), ("seen 1\n", (1,))}
    assert all(set(o) >= {"seq", "time", "cell", "ranks", "kind"} for o in outputs)
    restarted = await jp_fetch("dtrain-lab", "clusters/web/restart", method="POST", body='{"ranks": [1]}')
    assert restarted.code in (200, 202)
    await next_frame(
        socket, lambda cs: cs and cs[0]["world"]["generation"] == 1 and cs[0]["state"] == "ready"
    )
    await run("secret = rank + 40")
    answer = await jp_fetch(
        "dtrain-lab", "clusters/web/restart", method="POST", body='{"ranks": [0], "source": 1}'
    )
    assert answer.code in (200, 202)
    await next_frame(
        socket, lambda cs: cs and cs[0]["world"]["generation"] == 2 and cs[0]["state"] == "ready"
    )
    while await seen(connection) != {0: 41, 1: 41}:  # ready again, and the variables on their way
        await asyncio.sleep(0.05)
    await run("import os, signal\nif rank == 0: os.kill(os.getpid(), signal.SIGKILL)", fails=True)
    frame = await next_frame(socket, lambda cs: cs and cs[0]["state"] == "degraded")
    [lost] = frame["clusters"][0]["lost"]
    assert (lost["rank"], lost["cell"], lost["why"]) == (0, "[9]", "Killed by signal 9 (SIGKILL).")
    assert abs(lost["at"] - time.time()) < 60
    answer = await jp_fetch("dtrain-lab", "clusters/web/leave-out", method="POST", body='{"ranks": [0]}')
    assert answer.code in (200, 202)
    await next_frame(socket, lambda cs: cs and cs[0]["world"]["size"] == 1 and cs[0]["state"] == "ready")
    await run("assert (secret, world_size, rank) == (41, 1, 0)")
    assert (await jp_fetch("dtrain-lab", "clusters/web/interrupt", method="POST", body="{}")).code == 200
    stopped = await jp_fetch("dtrain-lab", "clusters/web", method="DELETE")
    assert stopped.code == 202
    await next_frame(socket, lambda cs: not cs)
    worlds.close()
    again = await jp_fetch("dtrain-lab", "clusters", method="POST", body=START)
    assert json.loads(again.body)["usual_start_s"] < 120, "the start before is known"
    (pid,) = [record.pid for record in worlds.running()]
    os.kill(pid, signal.SIGSTOP)  # a head that hangs is stopped all the same
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(heads, "STOP_ANSWER_S", 0.5)
        await jp_fetch("dtrain-lab", "clusters/web", method="DELETE")
    await next_frame(socket, lambda cs: not cs)
    socket.close()


async def test_a_profile_is_written_only_if_it_can_be_used(jp_fetch: Any) -> None:
    async def fetch(path: str, **more: Any) -> Any:
        return json.loads((await jp_fetch("dtrain-lab", path, **more)).body)

    assert 'backend = "local"' in (await fetch("profiles/mine"))["text"]
    text = 'backend = "local"\nranks_per_node = 2\n'
    listed = await fetch("profiles/mine", method="PUT", body=json.dumps({"text": text}))
    assert [p["name"] for p in listed] == ["local", "mine"]
    for body, part in (("bakend = 1", 'unknown key "bakend"'), ("a = ", "mine.toml")):
        with pytest.raises(HTTPClientError) as error:
            await fetch("profiles/mine", method="PUT", body=json.dumps({"text": body}))
        assert error.value.code == 400
        assert part in json.loads(error.value.response.body)["message"]
    assert (await fetch("profiles/mine"))["text"] == text
    for name in ("..", ".hidden", "-x"):
        with pytest.raises(HTTPClientError):
            await fetch(f"profiles/{name}", method="PUT", body=json.dumps({"text": text}))
    report = await fetch("profiles/mine/check", method="POST", body="{}")
    assert report["name"] == "mine"
    assert report["ask"]["nodes"] == 1
    checked = await fetch("profiles/mine/check")
    assert (checked["state"], checked["check"], checked["error"]) == ("done", report, None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(long_work, "ANSWER_WITHIN_S", 0.0)
        begun = await fetch("profiles/mine/check", method="POST", body="{}")
        assert (begun["state"], begun["check"]) == ("running", None)
    checked = await fetch("profiles/mine/check", params={"wait": "1"})
    assert (checked["id"], checked["state"]) == (begun["id"], "done")
    unchecked = await jp_fetch("dtrain-lab", "profiles", "local", "check", raise_error=False)
    assert (unchecked.code, json.loads(unchecked.body)["code"]) == (404, "no_check")


async def test_a_profile_is_deleted_but_not_what_is_built_in_or_of_others(
    jp_fetch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def delete(name: str) -> tuple[int, Any]:
        answer = await jp_fetch("dtrain-lab", "profiles", name, method="DELETE", raise_error=False)
        return answer.code, json.loads(answer.body)

    folder = paths.profiles()
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("mine", "theirs", "local"):
        (folder / f"{name}.toml").write_text('backend = "local"\n')
    (folder / "broken.toml").write_text("a = ")
    assert {p["name"] for p in (await delete("broken"))[1]} == {"local", "mine", "theirs"}
    code, listed = await delete("mine")
    assert (code, {p["name"] for p in listed}) == (200, {"local", "theirs"})
    assert not (folder / "mine.toml").exists()
    code, gone = await delete("mine")
    assert (code, gone["message"]) == (404, 'There is no profile "mine".')
    code, listed = await delete("local")
    assert (code, next(p["file"] for p in listed if p["name"] == "local")) == (200, None), "the built-in one"
    code, refused = await delete("local")
    assert (code, refused["code"]) == (409, "built_in_profile")

    def denied(_: Path, missing_ok: bool = False) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "unlink", denied)
    code, refused = await delete("theirs")
    assert (code, refused["code"]) == (403, "profile_of_others")
    assert refused["message"].endswith("theirs.toml: Permission denied.")


async def test_a_check_that_runs_is_joined_unless_its_profile_has_changed(
    jp_fetch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked: list[int | None] = []
    go = asyncio.Event()

    async def check(profile: Profile) -> NoReturn:
        checked.append(profile.ranks_per_node)
        await go.wait()
        raise Conflict("It has no node.", "Name one.")

    monkeypatch.setattr(profile_check, "check", check)
    monkeypatch.setattr(long_work, "ANSWER_WITHIN_S", 0.0)
    file = paths.profiles() / "edited.toml"
    file.parent.mkdir(parents=True, exist_ok=True)

    async def begin(ranks: int) -> str:
        file.write_text(f'backend = "local"\nranks_per_node = {ranks}\n')  # as in an editor
        answer = await jp_fetch("dtrain-lab", "profiles", "edited", "check", method="POST", body="{}")
        assert answer.code == 202
        return str(json.loads(answer.body)["id"])

    first, again, other = await begin(2), await begin(2), await begin(3)
    assert first == again != other
    known = json.loads((await jp_fetch("dtrain-lab", "profiles", "edited", "check")).body)
    assert (known["id"], known["state"]) == (other, "running")
    assert await begin(2) == first, "it is still the answer for this file"
    file.write_text('backend = "local"\n')
    unknown = await jp_fetch("dtrain-lab", "profiles", "edited", "check", raise_error=False)
    assert (unknown.code, json.loads(unknown.body)["code"]) == (404, "no_check")
    go.set()
    file.unlink()
    assert checked == [2, 3]


async def test_the_quickstart_is_there_with_all_it_leads_to_and_has_not_been_run(jp_fetch: Any) -> None:
    answer = json.loads((await jp_fetch("dtrain-lab", "quickstart")).body)
    assert next(iter(answer)) == "quickstart.ipynb"
    notebooks = {name: file for name, file in answer.items() if name.endswith(".ipynb")}
    cells = [cell for notebook in notebooks.values() for cell in notebook["cells"]]
    assert any("%%distributed" in "".join(cell["source"]) for cell in answer["quickstart.ipynb"]["cells"])
    assert not any(cell.get("outputs") for cell in cells)
    for cell in cells:
        if cell["cell_type"] == "markdown":
            for target in re.findall(r"\]\(([^)]+)\)", "".join(cell["source"])):
                known = {f"attachment:{name}" for name in cell.get("attachments", {})} | set(answer)
                assert target.partition("#")[0] in known or "://" in target
    assert "](docs/guide.md)" in notebooks["quickstart.ipynb"]["cells"][-1]["source"]
    for name in answer.keys() - notebooks.keys():
        folder, _, _ = name.partition("/")
        for target in re.findall(r"\]\(([^)\s]+)\)", answer[name]):
            file = posixpath.normpath(f"{folder}/{target.partition('#')[0]}")
            assert file in answer or target.startswith("#") or "://" in target, target
    assert any(cell.get("attachments") for cell in cells)


def test_the_page_knows_the_servers_folder_as_ranks_and_kernels_do(
    jp_serverapp: Any, jp_root_dir: Path
) -> None:
    assert jp_serverapp.web_app.settings["page_config_data"]["dtrainRoot"] == str(jp_root_dir)
