"""Somebody whom the authorizer lets only read: watches all, changes nothing."""

from __future__ import annotations

import json
import os
import secrets
import socket
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from dtrain_lab.machine import processes
from dtrain_lab.services import notebook_clusters, paths
from dtrain_lab.services.index import sweep_names
from dtrain_lab.services.sweeps import folder as folders
from dtrain_lab.wire.jobs.job import JobSize
from dtrain_lab.wire.site import KernelUse
from dtrain_lab.wire.sweeps import SweepRecord, SweepRequest
from tests.books import write
from tests.integration.server.all_routes import routes

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


def undriven(notebook: Path) -> SweepRecord:
    """A sweep that runs, and whose driver died."""
    record = SweepRecord(
        id=secrets.token_hex(6),
        name="undriven",
        request=SweepRequest(str(notebook), space={"lr": [0.1]}, objective="loss", sampler="grid"),
        file=str(notebook),
        size=JobSize(1, 1),
        total=1,
        parallel=1,
        seed=1,
        owner="someone",
        host=socket.gethostname(),
        system=processes.system(),
        python=sys.executable,
        created_at=time.time(),
    )
    folder = paths.private(sweep_names.base() / record.id)
    folders.write(folder, record)
    return record


def files(*roots: Path) -> dict[str, tuple[int, int]]:
    """All files with size and time of the last change, but logs, and the index of what was seen of jobs."""
    found = {}
    for root in roots:
        for folder, _, names in os.walk(root):
            for name in names:
                path = Path(folder, name)
                if not name.startswith("jobs.sqlite") and path.suffix != ".log":
                    status = path.stat()
                    found[str(path)] = status.st_size, status.st_mtime_ns
    return found


def running(sweep: str) -> set[tuple[int, float]]:
    """This process's children, and theirs, and the drivers of a sweep."""
    found = {(child.pid, child.create_time()) for child in psutil.Process().children(recursive=True)}
    for process in psutil.process_iter(["cmdline", "create_time"]):
        if any(sweep in word for word in process.info["cmdline"] or []):
            found.add((process.pid, process.info["create_time"]))
    return found


async def test_no_get_of_a_reader_starts_a_process_or_changes_a_file(
    jp_fetch: Any, jp_root_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, only_reads: Any
) -> None:
    """With a sweep whose driver died, a kernel whose notebook was renamed, and a job that has ended."""
    for name in ("config", "data", "runtime"):
        monkeypatch.setenv(f"JUPYTER_{name.upper()}_DIR", str(tmp_path / name))
    book = write(jp_root_dir / "a.ipynb", ["x = 1"])
    write(jp_root_dir / "b.ipynb", ["x = 1"])
    kernel = {"name": "python3"}
    body = json.dumps({"path": "b.ipynb", "name": "b.ipynb", "type": "notebook", "kernel": kernel})
    session = json.loads((await jp_fetch("api", "sessions", method="POST", body=body)).body)
    notebook_clusters.tell(session["kernel"]["id"], KernelUse(str(book)))
    sent = json.dumps({"notebook": "a.ipynb", "ranks": 1})
    job = json.loads((await jp_fetch("dtrain-lab", "jobs", method="POST", body=sent)).body)["id"]
    while json.loads((await jp_fetch("dtrain-lab", "jobs", job)).body)["ended_at"] is None:
        pass
    await jp_fetch("dtrain-lab", "profiles", "local", "check", method="POST", body="")
    sweep = undriven(book).id
    ids = {"kernels": session["kernel"]["id"], "jobs": job, "sweeps": sweep, "profiles": "local"}
    only_reads()
    roots = [tmp_path / "config", tmp_path / "data", tmp_path / "runtime", jp_root_dir]
    before = running(sweep), files(*roots)
    answers = {}
    for method, path in routes():
        if method == "GET" and not path.endswith("live"):
            filled = path.replace("some", ids.get(path.split("/")[1], "some"))
            answers[path] = (await jp_fetch(*filled.split("/"), raise_error=False)).code
    assert (running(sweep), files(*roots)) == before
    read = {path for path, code in answers.items() if code == 200}
    assert read >= {
        *("dtrain-lab/sweeps", "dtrain-lab/sweeps/some", "dtrain-lab/sweeps/some/trials"),
        *("dtrain-lab/kernels/some", "dtrain-lab/jobs/some/logs", "dtrain-lab/profiles/some/check"),
    }
    assert folders.read(sweep_names.base() / sweep).state == "running"
