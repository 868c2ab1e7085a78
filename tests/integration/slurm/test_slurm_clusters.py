"""Worlds as jobs of a real Slurm: queue, refusals, allocations, faults, and what may not leak."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest
from msgspec.structs import replace

import dtrain_lab as dt
from dtrain_lab.api.portal import Portal
from dtrain_lab.errors import BadProfile, BadSize, StartFailed, Unreachable
from dtrain_lab.machine import processes
from dtrain_lab.services.connection import ClusterConnection, Connection, head_records
from dtrain_lab.services.connection.presence import Presence
from dtrain_lab.services.policy import backends
from dtrain_lab.services.profiles import files as profiles
from dtrain_lab.wire import clients
from dtrain_lab.wire.plan import Request
from dtrain_lab.wire.processes.head_record import HeadRecord
from dtrain_lab.wire.processes.submission import ClusterRecord, of_head
from tests.faults import note
from tests.hosts import SLURM, Hosts, need, on_login_node, running_hosts
from tests.integration.profiles import empty, write_profile
from tests.waiting import wait_until

pytestmark = [pytest.mark.processes, pytest.mark.hosts, pytest.mark.timeout(120)]


@pytest.fixture(scope="module")
def hosts(canaries: dict[str, str]) -> Iterator[Hosts]:
    need("sshd", "ssh-keygen", *SLURM)
    with running_hosts(2) as made:
        made.start_ssh()
        made.start_slurm()
        with on_login_node(made, **canaries) as work:
            write_profile("queue", f'backend = "slurm"\nworkdir = "{work}"\n')
            yield made


def taken(hosts: Hosts, nodes: str) -> str:
    """A job that has whole nodes; it waits itself for nodes that a world has just left."""
    words = ("sbatch", "--parsable", "--output=/dev/null", nodes, "--exclusive", "--wrap", "sleep 300")
    job = hosts.slurm(*words).strip()
    wait_until(lambda: "RUNNING" in hosts.slurm("squeue", "-h", "-j", job, "-o", "%T"), 20, "the job")
    return job


@pytest.fixture(scope="module")
def cluster(hosts: Hosts) -> Iterator[Any]:
    with dt.start("queue", nodes=2, ranks_per_node=2, name="job") as started:
        yield started


def test_a_world_is_a_job_with_an_agent_on_each_node(cluster: Any, hosts: Hosts) -> None:
    code = "import socket, torch, torch.distributed as dist\nt = torch.ones(1); dist.all_reduce(t)\n"
    result = cluster.run(code + "print(socket.gethostname(), int(t), rank, local_rank)")
    places = [("node1", 0, 0), ("node1", 1, 1), ("node2", 2, 0), ("node2", 3, 1)]
    assert result.stdout == {r: f"{node} 4 {r} {local}\n" for r, (node, _, local) in enumerate(places)}
    assert hosts.slurm("squeue", "-h", "-o", "%j %T %D").split() == ["dtrain-job", "RUNNING", "2"]
    assert len(cluster.view().apply_sync(os.getpid)) == 4
    progress = [(p["phase"], p["done"], p["total"], p["late_nodes"]) for p in cluster.info()["progress"]]
    assert progress == [("load", 2, 2, []), ("fork", 4, 4, []), ("connect", 4, 4, [])]


def test_no_secret_and_no_task_variable_reaches_the_job(
    cluster: Any, hosts: Hosts, canaries: dict[str, str]
) -> None:
    result = cluster.run("import os\nprint(sorted(os.environ))")
    for text in result.stdout.values():
        assert not [
            name for name in (*canaries, "SLURM_PROCID", "SLURM_NTASKS", "PMI_RANK") if f"'{name}'" in text
        ]
    job = cluster._connection.record.remote.handle.job
    written = hosts.slurm("scontrol", "show", "job", job)
    written += hosts.slurm("scontrol", "write", "batch_script", job, "-")
    for path in (hosts.root / "work").rglob("*"):
        if path.is_file():
            written += path.read_text(errors="replace")
    for process in [p for name in hosts.names for p in hosts.running(name)]:
        with suppress(psutil.NoSuchProcess):  # it has ended since
            written += " ".join([*process.cmdline(), *map(str, process.environ().items())])
    assert "dtl:" in written
    assert not [value for value in canaries.values() if value in written]


def test_the_file_with_the_keys_is_gone_once_all_have_joined(cluster: Any, hosts: Hosts) -> None:
    folder = Path(cluster._connection.record.remote.handle.directory)
    assert not (folder / "endpoints.json").exists()
    assert not (folder / "head.json").exists()
    assert (folder.stat().st_mode & 0o777, (folder / "job.sh").stat().st_mode & 0o777) == (0o700, 0o600)
    assert head_records.path_of(cluster._connection.record.id).stat().st_mode & 0o777 == 0o600


def test_a_client_that_was_waiting_when_the_file_went_finds_the_head(cluster: Any, hosts: Hosts) -> None:
    """As a kernel that starts a world while the server of its page looks for the same one."""
    record = head_records.read(cluster.id)
    assert record is not None
    assert record.remote is not None
    early = replace(record.remote, handle=replace(record.remote.handle, endpoints=None))
    client = ClusterConnection(replace(record, remote=early))

    async def look() -> str:
        await client.open()
        try:
            async with asyncio.timeout(20):
                while not client.presence.up:
                    await asyncio.sleep(0.05)
            return str((await client.ask(clients.Info())).state)
        finally:
            client.close()

    assert Portal.get().call(look()) == "ready"


def test_a_step_of_the_job_is_a_bridge_where_ports_are_closed(cluster: Any) -> None:
    record: HeadRecord = cluster._connection.record
    remote = record.remote
    assert remote is not None
    assert remote.handle.endpoints is not None
    closed = msgspec.structs.replace(remote.handle.endpoints, client=("tcp://192.0.2.1:9",))

    async def ask() -> Any:
        way = await backends.backend("slurm").reach(of_head(record), closed)
        assert way.url.startswith("ipc://")
        connection = Connection(record.id, record.name, "", lambda c: Presence(c, way))
        await connection.open()
        try:
            return await connection.ask(clients.Info())
        finally:
            connection.close()

    assert Portal.get().call(ask()).state == "ready"


def test_scancel_from_outside_is_told_and_leaves_nothing(cluster: Any, hosts: Hosts) -> None:
    hosts.slurm("scancel", cluster._connection.record.remote.handle.job)
    began = time.monotonic()
    wait_until(lambda: cluster.gone, 20, "the end to be known")
    took = time.monotonic() - began
    for name in hosts.names:
        wait_until(partial(empty, hosts, name), 10, f"{name} to be empty")
    assert not head_records.path_of(cluster._connection.record.id).exists()
    with pytest.raises(Unreachable) as ended:
        cluster.run("1")
    note(
        "scancel outside dtrain-lab (Slurm queried every second; by default every 30 s)",
        "your notebook: its connection breaks, and it queries Slurm",
        ended.value.message,
        "the job's folder with its log",
        "reported",
        took,
    )


def test_the_schedulers_limit_is_known_and_told(hosts: Hosts) -> None:
    write_profile("short", f'backend = "slurm"\nworkdir = "{hosts.root}/work"\n[slurm]\ntime = "00:05:00"\n')
    with dt.start("short", nodes=1, ranks_per_node=1, name="short") as started:
        wait_until(lambda: started.info()["limit_at"] is not None, 20, "the limit to be known")
        info = started.info()
        assert 200 < info["limit_at"] - time.time() <= 300
        assert info["ends_at"] == info["limit_at"]
        assert "Its allocation ends in 4 min" in info["summary"]["text"]
        assert started.run("print(rank)").stdout == {0: "0\n"}


def test_a_world_that_waits_says_why_and_can_be_cancelled(hosts: Hosts) -> None:
    job = taken(hosts, "-N2")
    portal = Portal.get()
    connection = portal.call(portal.worlds.begin(Request("queue", nodes=2, ranks_per_node=1, name="later")))

    def why() -> Any:
        info = portal.call(connection.ask(clients.Info()))
        return info if info.reason is not None and info.reason.code == "Resources" else None

    info = wait_until(why, 20, "the scheduler's reason")
    assert info.state == "pending"
    assert info.summary.text == "later waits in the queue."
    assert info.reason.message == "The job waits for free nodes."
    assert (info.reason.final, info.reason.ahead) == (False, 0)
    assert info.may == ("stop",)
    hosts.slurm("scancel", job)

    def ready() -> bool:
        return bool(portal.call(connection.ask(clients.Info())).state == "ready")

    wait_until(ready, 60, "the world that has waited")
    portal.call(portal.worlds.stop(connection))
    wait_until(lambda: not hosts.slurm("squeue", "-h", "-t", "PD,R,CG").strip(), 20, "an empty queue")


def test_a_world_that_waits_for_nodes_is_offered_the_idle_ones(hosts: Hosts) -> None:
    job = taken(hosts, "-N1")
    backends.backend("slurm")._facts.clear()  # type: ignore[attr-defined] # they are kept for five minutes
    portal = Portal.get()
    connection = portal.call(portal.worlds.begin(Request("queue", nodes=2, ranks_per_node=2, name="large")))

    def offered() -> Any:
        reason = portal.call(connection.ask(clients.Info())).reason
        return reason.alternatives if reason is not None else ()

    (other,) = wait_until(offered, 20, "the idle node")
    assert other.text == "2 ranks on 1 node could start sooner."
    portal.call(portal.worlds.stop(connection))
    smaller = portal.call(portal.worlds.begin(Request(**other.request, name="small")))
    wait_until(lambda: portal.call(smaller.ask(clients.Info())).state == "ready", 60, "the smaller world")
    portal.call(portal.worlds.stop(smaller))
    hosts.slurm("scancel", job)
    wait_until(lambda: not hosts.slurm("squeue", "-h", "-t", "PD,R,CG").strip(), 20, "an empty queue")


def test_a_queued_world_is_cancelled(hosts: Hosts) -> None:
    job = taken(hosts, "-N2")
    portal = Portal.get()
    connection = portal.call(portal.worlds.begin(Request("queue", nodes=2, ranks_per_node=1, name="never")))
    portal.call(portal.worlds.stop(connection))
    assert "dtrain-never" not in hosts.slurm("squeue", "-h", "-o", "%j")
    hosts.slurm("scancel", job)
    wait_until(lambda: not hosts.slurm("squeue", "-h", "-t", "PD,R,CG").strip(), 20, "an empty queue")


@pytest.mark.parametrize(
    ("profile", "size", "kind", "part"),
    [
        ("", {"ranks": 100}, BadSize, "100 ranks can't run on partition main"),
        ("", {"nodes": 3, "ranks_per_node": 1}, BadSize, "3 nodes of 1 rank can't run on partition main"),
        ('[slurm]\npartition = "nope"\n', {"ranks": 1}, BadProfile, 'no partition "nope"'),
        (
            '[slurm]\npartition = "short"\ntime = "01:00:00"\n',
            {"ranks": 1},
            BadSize,
            "never start: partition short limits jobs to 00:05:00",
        ),
        ('[slurm]\npartition = "short"\n', {"nodes": 2, "ranks_per_node": 1}, BadSize, "partition short"),
        ('[slurm]\ngres = "gpu:9"\n', {"ranks": 1}, StartFailed, "Slurm refuses"),
        ('[slurm]\noptions = ["--no-such"]\n', {"ranks": 1}, StartFailed, "Slurm refuses"),
        ('[slurm]\naccount = "a\\nb"\n', {"ranks": 1}, BadProfile, "line break"),
        (
            '[slurm]\nallocation = "current"\n',
            {"ranks": 1},
            BadProfile,
            "this process is not inside a Slurm job",
        ),
    ],
)
def test_what_can_never_run_is_refused_before_it_is_queued(
    hosts: Hosts, profile: str, size: dict[str, int], kind: type[Exception], part: str
) -> None:
    before = hosts.slurm("squeue", "-h", "-t", "all", "-o", "%i")
    write_profile("bad", f'backend = "slurm"\nworkdir = "{hosts.root}/work"\n{profile}')
    with pytest.raises(kind, match=part) as error:
        dt.start("bad", **size)
    assert error.value.hint  # type: ignore[attr-defined]
    assert hosts.slurm("squeue", "-h", "-t", "all", "-o", "%i") == before


def test_an_environment_that_is_not_there_is_told_with_the_nodes_words(hosts: Hosts) -> None:
    write_profile(
        "noenv",
        f'backend = "slurm"\nworkdir = "{hosts.root}/work"\n'
        '[environment]\nkind = "venv"\npath = "/no/venv"\n',
    )
    with pytest.raises(StartFailed, match="did not start") as error:
        dt.start("noenv", ranks=1, name="noenv")
    assert "/no/venv/bin/python" in error.value.hint
    for world in dt.clusters():
        world.stop()


def test_through_a_login_node(hosts: Hosts) -> None:
    work = hosts.root / "work"
    write_profile("login", f'backend = "slurm"\nworkdir = "{work}"\n[ssh]\nlogin = "node1"\n')
    with dt.start("login", nodes=2, ranks_per_node=1, name="login") as world:
        code = "import torch, torch.distributed as dist\nt = torch.ones(1); dist.all_reduce(t); print(int(t))"
        assert world.run(code).stdout == {0: "2\n", 1: "2\n"}
        assert len(world.view().apply_sync(os.getpid)) == 2
    wait_until(lambda: not hosts.slurm("squeue", "-h", "-t", "PD,R,CG").strip(), 20, "an empty queue")


@pytest.mark.parametrize("kind", ["command", "modules"])
def test_the_environment_of_the_profile_is_the_ranks(kind: str, hosts: Hosts) -> None:
    prefix = Path(sys.prefix)
    module = hosts.root / "modules" / "torch" / "1"
    module.parent.mkdir(parents=True, exist_ok=True)
    module.write_text(f"#%Module1.0\nprepend-path PATH {prefix}/bin\nsetenv SITE modules\n")
    if kind == "modules" and not Path("/etc/profile.d/modules.sh").exists():
        pytest.skip("NO MODULES: environment-modules is not installed; see tests/system_packages.sh")
    environment = {
        "command": f'path = "env SITE=command PATH={prefix}/bin:/usr/bin:/bin"\n',
        "modules": f'setup = ["module use {hosts.root}/modules", "module load torch/1"]\n',
    }[kind]
    common = f'backend = "slurm"\nworkdir = "{hosts.root}/work"\n'
    write_profile(kind, f'{common}[environment]\nkind = "{kind}"\n{environment}')
    with dt.start(kind, nodes=1, ranks_per_node=2, name=kind) as world:
        code = "import os, sys, torch\nprint(sys.prefix, os.environ['SITE'])"
        assert world.run(code).stdout == {r: f"{prefix} {kind}\n" for r in (0, 1)}


INSIDE = """
import json, os
import dtrain_lab as dt
with dt.start("inside", nodes=2, ranks_per_node=1, name="inside") as world:
    code = "import os, socket, torch, torch.distributed as dist\\nt = torch.ones(1); dist.all_reduce(t)\\n"
    code += "print(socket.gethostname(), int(t), [k for k in os.environ if k.startswith(('SLURM_', 'PMI'))])"
    print("RESULT", json.dumps(list(world.run(code).stdout.values())))
"""


def test_inside_an_allocation(hosts: Hosts, tmp_path: Path) -> None:
    write_profile(
        "inside",
        f'backend = "slurm"\nworkdir = "{hosts.root}/work"\ncpus_per_rank = 1\n'
        '[slurm]\nallocation = "current"\n',
    )
    script = hosts.root / "inside.py"
    script.write_text(INSIDE)
    command = ["srun", "-N1", "-n1", "--overlap", "--cpus-per-task=2", sys.executable, str(script)]
    line = " ".join(command)
    out = hosts.slurm("salloc", "-N2", "--ntasks-per-node=1", "--cpus-per-task=4", "bash", "-c", line)
    [result] = [json.loads(text.split(" ", 1)[1]) for text in out.splitlines() if text.startswith("RESULT [")]
    assert sorted(result) == ["node1 2 []\n", "node2 2 []\n"]


def test_a_step_of_an_allocation_is_cancelled(hosts: Hosts) -> None:
    job = hosts.slurm(
        "sbatch", "--parsable", "--output=/dev/null", "-N1", "-c4", "--wrap", "sleep 300"
    ).strip()
    wait_until(lambda: "RUNNING" in hosts.slurm("squeue", "-h", "-j", job, "-o", "%T"), 20, "the job")
    write_profile(
        "step", f'backend = "slurm"\nworkdir = "{hosts.root}/work"\n[slurm]\nallocation = "{job}"\n'
    )
    portal = Portal.get()
    with dt.start("step", ranks=1, name="step") as started:
        handle = started._connection.record.remote.handle
        assert processes.same(handle.pid, handle.started) is not None
        assert handle.system == processes.system()
        portal.call(backends.backend("slurm").cancel(of_head(started._connection.record)))
        wait_until(lambda: processes.same(handle.pid, handle.started) is None, 20, "the end of the step")
    hosts.slurm("scancel", job)
    wait_until(lambda: not hosts.slurm("squeue", "-h", "-t", "PD,R,CG").strip(), 20, "an empty queue")


def test_profile_check_asks_nodes_of_the_partition(hosts: Hosts) -> None:
    write_profile("two", f'backend = "slurm"\nnodes = 2\nranks_per_node = 2\nworkdir = "{hosts.root}/work"\n')
    program = str(Path(sys.executable).parent / "dtrain-lab")
    done = subprocess.run([program, "profile", "check", "two", "--json"], capture_output=True, text=True)
    report = json.loads(done.stdout)
    assert [n["node"] for n in report["nodes"]] == ["node1", "node2"]
    assert report["ranks"] == 4
    assert (report["network"]["first"], report["network"]["second"]) == ("node1", "node2")
    assert report["network"]["speed"]["bytes_per_s"] > 1e6


def test_a_job_is_found_by_its_comment(hosts: Hosts) -> None:
    backend, profile = backends.backend("slurm"), profiles.load("queue")
    job = hosts.slurm(
        "sbatch", "--parsable", "--output=/dev/null", "--comment=dtl:lost", "--wrap", "sleep 60"
    ).strip()

    async def find() -> Any:
        plan = backend.plan(await backend.facts(profile), profile, Request(), python="p", directory="/")
        lost, none = (ClusterRecord(name, name, profile, plan, "/x") for name in ("lost", "none"))
        return await backend.find(lost), await backend.find(none)

    found, none = Portal.get().call(find())
    assert (found.job, none) == (job, None)
    hosts.slurm("scancel", job)
