"""Who owns whom: nothing survives its owner, and a world lives as long as somebody holds it."""

from __future__ import annotations

import asyncio
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

import dtrain_lab as dt
from dtrain_lab.api.portal import Portal
from dtrain_lab.errors import (
    CellFailed,
    Conflict,
    DtrainError,
    EnvironmentUnfit,
    NotFound,
    StartFailed,
    Unreachable,
)
from dtrain_lab.services.connection import head_records
from dtrain_lab.services.profiles import files as profiles
from dtrain_lab.services.worlds import launch
from dtrain_lab.wire.processes.head_record import HeadRecord
from tests.conftest import ours
from tests.waiting import wait_until

pytestmark = [pytest.mark.processes, pytest.mark.usefixtures("nothing_stays_loaded")]

START = """
import dtrain_lab as dt, sys
cluster = dt.start(ranks=2, name={name!r})
print("up", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def alone() -> Iterator[None]:
    """No process of ours before, none after."""
    wait_until(lambda: not ours(), 10, "earlier processes to end")
    yield
    left = ours()
    for process in left:
        process.kill()
    assert not left


def tree(cluster: dt.Cluster) -> dict[str, list[psutil.Process]]:
    """Processes of a cluster by what they are."""
    head = psutil.Process(cluster._connection.record.pid)
    found: dict[str, list[psutil.Process]] = {"head": [head], "agent": [], "forks": [], "rest": []}
    for process in head.children(recursive=True):
        command = " ".join(process.cmdline())
        parent = process.ppid()
        if "dtrain_lab.node.forkserver" not in command:
            found["agent"].append(process)
        elif parent == found["agent"][0].pid:
            found["forks"].append(process)
        else:
            found["rest"].append(process)
    return found


@pytest.mark.parametrize("victim", ["head", "agent", "forks"])
def test_nothing_survives_its_owner(alone: None, victim: str) -> None:
    cluster = dt.start(ranks=2)
    cluster.run("import subprocess\nchild = subprocess.Popen(['sleep', '600'])")
    processes = tree(cluster)
    others = [p for kind, group in processes.items() for p in group if kind not in ("head", victim)]
    assert len(others) >= 3
    processes[victim][0].send_signal(signal.SIGKILL)
    wait_until(lambda: not any(_runs(p) for p in others), 4, f"everything to end after the {victim}")
    if victim == "head":
        with pytest.raises(Unreachable, match="ended unexpectedly: its head process is gone"):
            cluster.run("1")
        with pytest.raises(NotFound, match="ended unexpectedly: its head process is gone"):
            Portal.get().call(Portal.get().worlds.connect(cluster.name))
    else:
        state = wait_until(lambda: cluster.state in ("failed", "stopped") and cluster.state, 4, "the failure")
        assert state == "failed"
        cluster.stop()
    wait_until(lambda: not ours(), 5, "everything to end")


def test_a_cell_that_runs_while_the_head_dies_ends_with_a_sentence(alone: None) -> None:
    cluster = dt.start(ranks=2)
    head = psutil.Process(cluster._connection.record.pid)

    def kill() -> None:
        wait_until(lambda: cluster.info()["running"], 20, "the cell to run")
        head.kill()

    threading.Thread(target=kill).start()
    with pytest.raises((Unreachable, CellFailed), match="ended"):
        cluster.run("import time; time.sleep(60)")
    wait_until(lambda: not ours(), 5, "everything to end")


def test_an_orderly_end_of_the_last_holder_stops_the_cluster(alone: None) -> None:
    with _holder("orderly") as process:
        process.communicate("", timeout=10)
        assert process.returncode == 0
    wait_until(lambda: not ours(), 5, "the cluster to end with its holder")


def test_a_killed_holder_leaves_the_cluster_to_be_adopted(alone: None) -> None:
    with _holder("orphan") as process:
        process.kill()
    names = [r.name for r in head_records.living() if not r.warm]
    assert names == ["orphan"]
    cluster = dt.clusters()[0]
    assert cluster.run("print(rank)", timeout=30).stdout[1] == "1\n"
    cluster.stop()


def test_silence_past_the_adoption_time_ends_it(alone: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DTRAIN_LAB_ADOPTION_S", "0.5")
    with _holder("brief") as process:
        process.kill()
    wait_until(lambda: not ours(), 10, "the unadopted cluster to end")


def test_two_clusters_live_side_by_side(alone: None) -> None:
    with dt.start(ranks=1, name="one") as one, dt.start(ranks=2, name="two") as two:
        one.run("x = 1")
        assert {c.name for c in dt.clusters()} == {"one", "two"}
        assert two.run("print('x' in globals())").stdout == {0: "False\n", 1: "False\n"}
        with pytest.raises(Conflict, match='"one" is running'):
            dt.start(ranks=1, name="one")
    assert dt.clusters() == []


def test_simulated_nodes_have_an_agent_each(alone: None) -> None:
    with dt.start(nodes=2, ranks_per_node=1) as cluster:
        info = cluster.info()
        assert [n["state"] for n in info["nodes"]] == ["ready", "ready"]
        assert len({r["node"] for r in info["ranks"]}) == 2
        result = cluster.run(
            "import os, torch.distributed as dist\ndist.barrier()\nprint(os.environ['NODE_RANK'])"
        )
        assert result.stdout == {0: "0\n", 1: "1\n"}


def test_a_warm_head_is_claimed_by_the_next_start(alone: None) -> None:
    from dtrain_lab.api.portal import Portal

    portal = Portal.get()
    assert portal.call(portal.worlds.warm_heads.start(python=sys.executable))
    assert not portal.call(portal.worlds.warm_heads.start(python=sys.executable))
    warm = next(r for r in head_records.living() if r.warm)
    assert dt.clusters() == []
    with dt.start(ranks=2) as cluster:
        assert cluster.id == warm.id
        assert cluster.run("print(rank)").stdout[1] == "1\n"


def test_a_warm_head_that_another_process_claims_ends_with_that_process(alone: None) -> None:
    from dtrain_lab.api.portal import Portal

    portal = Portal.get()
    assert portal.call(portal.worlds.warm_heads.start(python=sys.executable))
    warm = next(r for r in head_records.living() if r.warm)
    with _holder("claims") as process:
        assert [(r.id, r.name) for r in head_records.living()] == [(warm.id, "claims")]
        process.communicate("", timeout=10)
    wait_until(lambda: not ours(), 5, "the cluster to end with its holder")


def test_a_detached_cluster_lives_until_it_is_stopped(alone: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DTRAIN_LAB_ADOPTION_S", "0.1")  # over long before its ranks are ready
    words = ["dtrain-lab", "cluster", "start", "--ranks", "1", "--name", "kept", "--detach"]
    subprocess.run(words, check=True, capture_output=True)
    [cluster] = dt.clusters()
    assert cluster.run("print(rank)", timeout=30).stdout == {0: "0\n"}
    cluster.stop()


def test_a_start_takes_the_head_that_is_still_warming(alone: None) -> None:
    from dtrain_lab.api.portal import Portal

    portal = Portal.get()
    portal.post(
        portal.worlds.warm_heads.start(python=sys.executable)
    )  # as %load_ext does, one cell above the start
    with dt.start(ranks=2) as cluster:
        assert [r.id for r in head_records.living()] == [cluster.id]


def test_an_environment_without_torch_says_how_to_mend_it(alone: None, tmp_path: Path) -> None:
    python = _bare_python(tmp_path)
    from dtrain_lab.api.portal import Portal
    from dtrain_lab.wire.plan import Request

    portal = Portal.get()
    with pytest.raises(EnvironmentUnfit, match="has no dtrain_lab") as error:
        portal.call(portal.worlds.begin(Request(ranks=2, python=python)))
    assert error.value.hint == f"Install it there: {python} -m pip install dtrain-lab"


@pytest.mark.parametrize(
    ("kind", "path", "said"),
    [
        ("venv", "/nowhere", "/nowhere/bin/python can't be run"),
        ("apptainer", "x.sif", "is for other machines"),
    ],
)
def test_an_environment_that_is_not_there_is_refused(kind: str, path: str, said: str, alone: None) -> None:
    profiles.write("elsewhere", f'backend = "local"\n[environment]\nkind = "{kind}"\npath = "{path}"\n')
    with pytest.raises(DtrainError, match=said):
        dt.start("elsewhere", ranks=1)


def test_ranks_run_in_the_environment_of_their_profile(alone: None, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    (tmp_path / "pyvenv.cfg").write_text((Path(sys.prefix) / "pyvenv.cfg").read_text())
    (tmp_path / "lib").symlink_to(Path(sys.prefix) / "lib")
    profiles.write("own", f'backend = "local"\n[environment]\nkind = "venv"\npath = "{tmp_path}"\n')
    with dt.start("own", ranks=1) as cluster:
        assert cluster.run("import sys; print(sys.prefix)").stdout[0] == f"{tmp_path}\n"


@pytest.fixture
def failed_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new head is launched only once it has failed, as where the client has to wait for a core."""
    spawn = launch.spawn

    async def late(*args: Any, **how: Any) -> HeadRecord:
        record = await spawn(*args, **how)
        worlds = Portal.get().worlds
        while (info := await worlds.info(record)) is not None and info.state == "pending":
            await asyncio.sleep(0.01)
        return record

    monkeypatch.setattr(launch, "spawn", late)


@pytest.mark.parametrize("when", ["at once", "once it has failed"])
def test_a_torch_that_can_not_be_imported_fails_the_start_with_the_reason(
    when: str, request: pytest.FixtureRequest, alone: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if when != "at once":
        request.getfixturevalue("failed_first")
    broken = tmp_path / "torch"
    broken.mkdir()
    (broken / "__init__.py").write_text("raise ImportError('libc10.so: cannot open shared object file')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(StartFailed, match=r"libc10\.so: cannot open"):
        dt.start(ranks=2, name="mine")
    assert dt.clusters() == [], "one that has failed does not run"
    (failed,) = head_records.living()
    shutil.rmtree(broken)  # with the bytecode in it
    monkeypatch.undo()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with dt.start(ranks=1, name="mine") as again:
        assert again.name == "mine"
        assert [record.id for record in head_records.living()] == [again.id] != [failed.id]
    wait_until(lambda: not ours(), 20, "both heads to end")


@contextmanager
def _holder(name: str) -> Iterator[subprocess.Popen[str]]:
    """A process of its own that has started a cluster and holds it."""
    with subprocess.Popen(
        [sys.executable, "-c", START.format(name=name)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        yield process


def _bare_python(tmp_path: Path) -> str:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "bare")], check=True)
    return str(tmp_path / "bare" / "bin" / "python")


def _runs(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
