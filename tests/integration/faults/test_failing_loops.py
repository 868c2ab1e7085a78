"""Faults of our own: thrown into each loop by its name; the product goes on, and says so."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
import zmq
from tornado.httpclient import HTTPRequest
from tornado.websocket import websocket_connect

import dtrain_lab as dt
from dtrain_lab.api.debug import Debugger
from dtrain_lab.errors import Unreachable
from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.machine import supervision
from dtrain_lab.machine.task_names import LOOPS
from dtrain_lab.services.debugger.reattach import Reattach
from dtrain_lab.wire import VERSION, clients
from dtrain_lab.wire.jobs.folder import Live
from dtrain_lab.wire.processes.endpoints import Endpoints
from tests.books import write
from tests.faults import note
from tests.hosts import command_line, need, running_hosts
from tests.integration.profiles import write_profile
from tests.throwing import sitecustomize as throwing
from tests.waiting import wait_until

pytestmark = [pytest.mark.processes, pytest.mark.timeout(300)]

OF_A_CLUSTER = (
    *("head.watch", "head.agents", "head.limit", "node.samples", "node.unsaid", "client.watch"),
    *("debug.hold", "debug.look"),
)
OF_ITS_START = ("head.controller",)
OF_AN_EDITOR = ("debug.again",)
OF_OTHER_HOSTS = ("node.link", "client.link", "ssh.cut")
OF_THE_WAY = ("client.reach",)
OF_A_SERVER = ("server.keep", "server.jobs", "server.feeds", "server.panel", "server.sweeps")
OF_A_DEBUGGED_JOB = ("debug.job",)
OF_A_JOB = ("node.look", "node.samples", "node.output", "node.debugger")
OF_AN_ADMISSION = ("admission.end",)
OF_A_JOBS_START = ("node.head",)
"""Those that last for a moment get all faults as they begin."""


def test_each_loop_is_walked() -> None:
    walked = [*OF_A_CLUSTER, *OF_AN_EDITOR, *OF_ITS_START, *OF_OTHER_HOSTS, *OF_THE_WAY, *OF_A_SERVER]
    # samples are taken in both
    assert {*walked, *OF_A_JOB, *OF_A_DEBUGGED_JOB, *OF_AN_ADMISSION, *OF_A_JOBS_START} == set(LOOPS)


@pytest.fixture
def faults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder: what is written there is thrown, here and in the processes that begin from now on."""
    folder = tmp_path / "throw"
    folder.mkdir()
    monkeypatch.setenv("PYTHONPATH", str(Path(throwing.__file__).parent))
    monkeypatch.setenv("DTRAIN_TEST_THROW", str(folder))
    monkeypatch.setattr(supervision, "_run", throwing.thrower(folder))
    return folder


def throw(folder: Path, name: str, kind: str) -> None:
    part = folder / ".part"
    part.write_text(kind)
    part.rename(folder / name)


def throw_all(folder: Path, names: tuple[str, ...]) -> None:
    """Every fault, one a beginning."""
    for name in names:
        throw(folder, name, "\n".join(throwing.FAULTS))


def times(troubles: Any, name: str) -> int:
    return sum(t.times for t in troubles if t.name == name)


def walk(cluster: dt.Cluster, faults: Path, names: tuple[str, ...]) -> None:
    """Throw each fault into each loop; cells run after it, and it is told."""
    for name in names:
        for count, kind in enumerate(throwing.FAULTS, start=1):
            throw(faults, name, kind)
            wait_until(lambda n=name, c=count: times(troubles(cluster), n) == c, 20, f"{kind} in {name}")
        assert cluster.run("print(rank)", timeout=30).stdout == {0: "0\n", 1: "1\n"}, name


def troubles(cluster: dt.Cluster) -> Any:
    """Of the cluster, and of this process."""
    return (*cluster.snapshot().troubles, *cluster._portal.call(_troubles()))


def test_a_cluster_goes_on(faults: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "1")  # as in a scheduler's job that it knows nothing of
    throw_all(faults, OF_ITS_START)
    with dt.start(ranks=2, name="own-faults") as cluster:
        seen: list[Any] = []
        cluster._portal.call(_watch(cluster, seen.append))
        assert len(cluster.view().apply_sync(os.getpid)) == 2
        for name in OF_ITS_START:
            assert times(troubles(cluster), name) == len(throwing.FAULTS), name
        with cluster.debug() as debugger:
            walk(cluster, faults, OF_A_CLUSTER)
            cluster._portal.call(_keep_attached(cluster, debugger))
            walk(cluster, faults, OF_AN_EDITOR)
        # what is answered once: whoever asks is told
        throw(faults, "head.answer", "OSError")
        with pytest.raises(Unreachable, match="The head could not answer: OSError"):
            cluster._portal.call(cluster._connection.ask(clients.Clock()))
        assert cluster._portal.call(cluster._connection.ask(clients.Clock())) > 0
        # the head still notices the end of an agent after its watch was begun anew
        log = Path(cluster._connection.record.directory) / "head.events.log"
        assert "head.watch failed; restarting it" in log.read_text()
        assert all(" ERROR " in x or " INFO " in x or " WARNING " in x for x in log.read_text().splitlines())
        began = time.monotonic()
        throw(faults, "head.watch", "OSError")
        wait_until(lambda: times(troubles(cluster), "head.watch") == 4, 20, "the fourth")
        took = time.monotonic() - began
        [trouble] = (t for t in cluster.snapshot().troubles if t.name == "head.watch")
        assert cluster.run("print(rank)", timeout=30).stdout == {0: "0\n", 1: "1\n"}
        note(
            "an I/O error (our bug, or the disk's) in the task that monitors the ranks, for the fourth time",
            "the cluster, which restarts the task",
            trouble.text,
            "everything: cells run",
            "reported by the cluster",
            took,
        )


@pytest.mark.hosts
def test_a_cluster_on_other_hosts_goes_on(faults: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need("sshd", "ssh-keygen")
    with running_hosts(2) as made:
        for name in made.names:
            made.variables[name] = {v: os.environ[v] for v in ("PYTHONPATH", "DTRAIN_TEST_THROW")}
        made.start_ssh()
        monkeypatch.setenv("HOME", str(made.home()))
        write_profile("throwing", 'backend = "ssh"\n[ssh]\nhosts = ["node1", "node2"]\n')
        throw_all(faults, OF_THE_WAY)
        with dt.start("throwing", nodes=2, ranks_per_node=1, name="far-faults") as cluster:
            for name in OF_THE_WAY:
                assert times(troubles(cluster), name) == len(throwing.FAULTS), name
            walk(cluster, faults, OF_OTHER_HOSTS)
            head = next(p for p in made.running("node1") if command_line(p)[-1:] == ["dtrain_lab.head"])
            head.kill()
            wait_until(lambda: cluster.gone, 20, "the end to be known by a watch that was begun anew")
            wait_until(lambda: not made.running("node2"), 20, "an agent's to know, too")


async def _watch(cluster: dt.Cluster, seen: Callable[[Any], None]) -> None:
    cluster._connection.watch(seen, 0.5)


async def _keep_attached(cluster: dt.Cluster, debugger: Debugger) -> None:
    """As an editor's session does."""
    Reattach(debugger._debugging, cluster._connection, None, lambda _: None, lambda: None).start()


async def _troubles() -> Any:
    return supervision.here().failures


def test_garbage_and_other_versions_are_answered_or_dropped(pair: dt.Cluster) -> None:
    """At the head's client and at its link; the head goes on."""
    record = pair._connection.record
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    client, link = context.socket(zmq.DEALER), context.socket(zmq.DEALER)
    try:
        for one in (client, link):
            one.linger = 0
            one.rcvtimeo = 10_000
        client.connect(f"ipc://{record.socket}")
        link.connect(f"ipc://{Path(record.socket).parent}/link")
        newer = {"k": "call", "id": 5, "version": VERSION + 3, "body": {"k": "teleport"}}
        for data in (b"", b"\xff\x00garbage", msgspec.msgpack.encode([1, 2]), os.urandom(200)):
            client.send(data)
            link.send(data)
        began = time.monotonic()
        client.send(msgspec.msgpack.encode(newer))
        client.send(msgspec.msgpack.encode(clients.Request(6, clients.Clock(), version=VERSION + 3)))
        answers = {a.id: a for a in (clients.decode_to_client(client.recv()) for _ in range(2))}
        for number in (5, 6):
            assert answers[number].error["code"] == "wire_mismatch", answers
        assert f"uses protocol version {VERSION + 3}" in answers[5].error["message"]
        note(
            "another version of dtrain-lab, or an unknown program, sends messages to a cluster's head",
            "the cluster, which answers a request, and drops the rest with a line in its log",
            f"{answers[5].error['message']} {answers[5].error['hint']}",
            "everything: the cluster continues",
            "answered",
            time.monotonic() - began,
        )
    finally:
        context.destroy(linger=0)
    assert pair.run("print(rank)").stdout == {0: "0\n", 1: "1\n"}
    assert "dropped" in (Path(record.directory) / "head.events.log").read_text()


@pytest.fixture
def jp_server_config() -> dict[str, Any]:
    return {"ServerApp": {"jpserver_extensions": {"dtrain_lab": True}}}


async def test_a_server_goes_on(
    faults: Path,
    jp_fetch: Any,
    jp_serverapp: Any,
    jp_http_port: int,
    jp_base_url: str,
    jp_auth_header: dict[str, str],
) -> None:
    jp_serverapp.web_app.settings["dtrain_lab"].begin_work()
    url = f"ws://127.0.0.1:{jp_http_port}{jp_base_url}dtrain-lab/live"
    page = await websocket_connect(HTTPRequest(url, headers=jp_auth_header))
    first = json.loads(await page.read_message())

    async def site() -> dict[str, int]:
        told = json.loads((await jp_fetch("dtrain-lab", "site")).body)
        return {t["name"]: t["times"] for t in told["troubles"]}

    for name in OF_A_SERVER:
        for count, kind in enumerate(throwing.FAULTS, start=1):
            throw(faults, name, kind)
            async with asyncio.timeout(20):
                while (await site()).get(name) != count:
                    await asyncio.sleep(0.05)
    frames = [first["seq"]]
    async with asyncio.timeout(20):
        while len(frames) < 2:  # begun anew, it sends the page all there is
            frames.append(json.loads(await page.read_message())["seq"])
    assert frames == sorted(set(frames))
    page.close()


def test_a_job_goes_on(faults: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with tempfile.TemporaryDirectory(prefix="dtl") as runtime:
        monkeypatch.setenv("DTRAIN_LAB_RUNTIME_DIR", runtime)
        variables = {"PYTHONPATH": os.environ["PYTHONPATH"], "DTRAIN_TEST_THROW": str(faults)}
        lines = "\n".join(f'{k} = "{v}"' for k, v in variables.items())
        write_profile("throws", f'backend = "local"\n[environment.variables]\n{lines}\n')
        stop = tmp_path / "stop"
        code = f"import os, time\nwhile not os.path.exists({str(stop)!r}):\n    print('on'); time.sleep(0.1)"
        throw_all(faults, OF_A_JOBS_START)
        job = dt.submit(write(tmp_path / "long.ipynb", [code]), ranks=2, profile="throws")
        folder = Path(job.snapshot().directory)

        def live() -> Live | None:
            try:
                return msgspec.json.decode((folder / job_files.LIVE).read_bytes(), type=Live)
            except (FileNotFoundError, msgspec.DecodeError):
                return None

        def log() -> str:
            logs = *folder.glob("agent.*.events.log"), folder / f"{job_files.LAUNCHER_LOG}.log"
            return "".join(p.read_text() for p in logs)

        wait_until(lambda: (x := live()) is not None and all(r.pid for r in x.ranks), 60, "the job's head")
        try:
            # a line that a killed rank left by half
            with open(folder / job_files.VALUES, "ab") as values:
                values.write(b'{"step": 1, "values": {"lo\n{"step": 2, "values": {"loss": 0.5}}\n')
            wait_until(lambda: (x := live()) is not None and x.values.get("loss") == 0.5, 20, "the next line")
            for name in OF_A_JOBS_START:
                assert log().count(f"{name} failed; restarting it") == len(throwing.FAULTS), name
                (faults / name).unlink(missing_ok=True)
            for name in ("head.watch", *OF_A_JOB):
                for count, kind in enumerate(throwing.FAULTS, start=1):
                    throw(faults, name, kind)
                    if name == "head.watch":
                        wait_until(
                            lambda n=name, c=count: (x := live()) is not None and times(x.troubles, n) == c,
                            20,
                            f"{kind} in {name}",
                        )
                    else:
                        wait_until(
                            lambda n=name, c=count: log().count(f"{n} failed; restarting it") == c,
                            20,
                            f"{kind} in {name}",
                        )
            _asks_its_head(folder)
            with job.debug():
                for name in OF_A_DEBUGGED_JOB:
                    for count, kind in enumerate(throwing.FAULTS, start=1):
                        throw(faults, name, kind)
                        wait_until(
                            lambda n=name, c=count: times(job._portal.call(_troubles()), n) == c,
                            20,
                            f"{kind} in {name}",
                        )
            throw_all(faults, OF_AN_ADMISSION)
            then = dt.submit(
                write(tmp_path / "then.ipynb", ["print('then')"]), ranks=1, profile="throws", after=job
            )
            waiting = Path(then.snapshot().directory) / f"{job_files.LAUNCHER_LOG}.log"

            def begun_anew() -> bool:
                text = waiting.read_text() if waiting.exists() else ""
                return all(
                    text.count(f"{x} failed; restarting it") == len(throwing.FAULTS) for x in OF_AN_ADMISSION
                )

            wait_until(begun_anew, 30, "all faults of a job that waits for its turn")
        finally:
            stop.touch()
        assert job.wait(60) == "succeeded", job.logs()
        assert then.wait(60) == "succeeded", then.logs()


def _asks_its_head(folder: Path) -> None:
    """Of another version, and garbage: answered as a cluster's head does."""
    endpoints = msgspec.json.decode((folder / job_files.ENDPOINTS).read_bytes(), type=Endpoints)
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    try:
        client = context.socket(zmq.DEALER)
        client.rcvtimeo = 10_000
        client.connect(f"ipc://{endpoints.directory}/client")
        client.send(b"\xffgarbage")
        newer = {"k": "call", "id": 5, "version": VERSION + 3, "body": {"k": "teleport"}}
        client.send(msgspec.msgpack.encode(newer))
        answer = clients.decode_to_client(client.recv())
        assert answer.error["code"] == "wire_mismatch"
    finally:
        context.destroy(linger=0)


# ---- disks


def _fill(file: Path) -> None:
    with open(file, "wb", buffering=0) as out:
        try:
            while True:
                out.write(b"\0" * 4096)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise


class Server:
    """A real Jupyter server, on a disk that can be broken."""

    def __init__(self, disk: Path, slow: Path, folder: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = int(probe.getsockname()[1])
        variables = {
            **os.environ,
            "PYTHONPATH": str(Path(throwing.__file__).parent),
            "DTRAIN_TEST_SLOW": str(slow),
            "DTRAIN_TEST_SLOW_FOLDER": str(disk),
            "JUPYTER_RUNTIME_DIR": str(disk / "runtime"),
            "JUPYTER_DATA_DIR": str(disk / "data"),
            "JUPYTER_TOKEN": "t",
            # its new list of jobs is filled from the folders of this user and of all profiles: both its own
            "HOME": str(folder),
            "JUPYTER_CONFIG_DIR": str(folder / "config"),
        }
        self.log = folder / "server.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "jupyter_server", "--no-browser", "--allow-root"),
                    *("--ServerApp.ip=127.0.0.1", f"--ServerApp.port={self._port}"),
                    "--ServerApp.port_retries=0",
                    "--ServerApp.jpserver_extensions={'dtrain_lab': True}",
                ],
                cwd=folder,
                env=variables,
                stdout=log,
                stderr=log,
            )

    def get(self, path: str, within_s: float = 30.0) -> tuple[int, Any]:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self._port}/{path}", headers={"Authorization": "token t"}
        )
        try:
            with urllib.request.urlopen(request, timeout=within_s) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)
        except (OSError, ValueError):
            return 0, None

    def works(self) -> bool:
        return self.get("dtrain-lab/clusters")[0] == 200

    def end(self) -> float:
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)
        return time.monotonic() - began


@contextmanager
def mounted(folder: Path) -> Iterator[Path]:
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "dtl", str(folder)], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip("mounting needs root")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], capture_output=True, check=False)


@pytest.mark.parametrize("how", ["full", "read-only", "slow", "gone"])
def test_a_server_lives_on_a_disk_that_is(how: str, tmp_path: Path) -> None:
    disk, slow = tmp_path / "disk", tmp_path / "slow"
    disk.mkdir()
    with mounted(disk):
        server = Server(disk, slow, tmp_path)
        try:
            wait_until(server.works, 60, "the server")
            if how == "full":
                _fill(disk / "fill")
            elif how == "read-only":
                subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
            elif how == "slow":
                slow.touch()
            else:
                subprocess.run(["umount", "-l", str(disk)], check=True)
                disk.rename(tmp_path / "elsewhere")
                disk.write_text("no folder any more")
            asks = threading.Thread(target=lambda: server.get("dtrain-lab/clusters", 60))
            asks.start()
            slowest, said = 0.0, "–"
            until = time.monotonic() + 4
            while time.monotonic() < until:  # its own loops run over the broken disk meanwhile
                began = time.monotonic()
                assert server.get("api/status")[0] == 200
                slowest = max(slowest, time.monotonic() - began)
            asks.join(60)
            code, body = server.get("dtrain-lab/clusters", 60)
            # its folder may be missing, or the disk too slow: then in words of ours, with a code
            assert code == 200 or (code in (409, 502) and body["code"] and body["hint"]), (code, body)
            if how == "gone":
                disk.unlink()
                (tmp_path / "elsewhere").rename(disk)
                told = {t["name"]: t["times"] for t in server.get("dtrain-lab/site")[1]["troubles"]}
                assert told["server.keep"] >= 1
                said = f'Background task "keeping clusters" restarted {told["server.keep"]} times.'
            elif how == "read-only":
                subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
            elif how == "full":
                (disk / "fill").unlink()
            else:
                slow.unlink()
            wait_until(server.works, 30, "the disk to be back")
            assert slowest < 2.0, f"the server stood for {slowest:.1f} s"
            note(
                f"the disk with the server's own files is {how}{' (5 s a call)' if how == 'slow' else ''}",
                "the Jupyter server, which continues",
                said,
                "everything; the server's other pages respond meanwhile",
                "slowest answer meanwhile",
                slowest,
            )
            assert server.end() < 15
        finally:
            if server.process.poll() is None:
                server.process.kill()
            print(server.log.read_text()[-6000:])


def test_a_server_lives_and_ends_while_somebody_locks_the_list_of_jobs(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    index = disk / "data" / "dtrain-lab" / "jobs.sqlite"
    disk.mkdir()
    server = Server(disk, tmp_path / "slow", tmp_path)
    try:
        wait_until(server.works, 60, "the server")
        assert server.get("dtrain-lab/jobs") == (200, [])
        with closing(sqlite3.connect(index, isolation_level=None)) as other:
            other.execute("PRAGMA journal_mode=DELETE")  # readers have to wait, too
            other.execute("BEGIN EXCLUSIVE")
            asked = [threading.Thread(target=lambda: server.get("dtrain-lab/jobs", 60)) for _ in range(4)]
            for one in asked:
                one.start()
            began = time.monotonic()
            assert server.get("api/status")[0] == 200
            answered = time.monotonic() - began
            code, told = server.get("dtrain-lab/jobs", 60)
            assert (code, told["code"]) == (502, "no_index")
            assert answered < 2.0
            for one in asked:
                one.join(60)
            asked = [threading.Thread(target=lambda: server.get("dtrain-lab/jobs", 60)) for _ in range(4)]
            for one in asked:
                one.start()
            took = server.end()
            assert took < 15
            for one in asked:
                one.join(60)
        note(
            "another program locks the index of jobs",
            "the request for the list",
            f"The index of jobs, {index.name}, can't be used: database is locked.",
            "all jobs; the server's other pages respond meanwhile",
            "SIGTERM → the server has ended",
            took,
        )
    finally:
        if server.process.poll() is None:
            server.process.kill()
