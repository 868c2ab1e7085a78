"""Jobs on SSH hosts that share no file system: real sshd, a folder on each host."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import dtrain_lab as dt
from dtrain_lab.api.job import Job
from dtrain_lab.errors import Conflict
from dtrain_lab.machine.facts import local_facts
from dtrain_lab.placement.capacity import slot_count
from tests.books import FAILING_LINE, looping, training, write
from tests.hosts import Hosts, command_line, listening, need, running_hosts
from tests.integration.debugger.job_debugging import look_around
from tests.integration.profiles import write_profile
from tests.waiting import wait_until

pytestmark = [pytest.mark.processes, pytest.mark.hosts, pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def hosts() -> Iterator[Hosts]:
    need("sshd", "ssh-keygen")
    with running_hosts(2) as made, pytest.MonkeyPatch.context() as patch:
        made.own = "/mnt"  # what one host writes there the other does not see
        made.start_ssh()
        patch.setenv("HOME", str(made.home()))
        write_profile("hosts", 'backend = "ssh"\nworkdir = "/mnt/dtl"\n[ssh]\nhosts = ["node1", "node2"]\n')
        yield made


def alive(hosts: Hosts, job: str) -> list[Any]:
    return [process for node in ("node1", "node2") for process in hosts.running(node, job)]


HOLD = """
import sys
from dtrain_lab.machine import slot_tickets
slot_tickets.acquire("other", "somebody", {0})
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def held(node: str, slots: int) -> Iterator[None]:
    """Somebody holds slots of a host."""
    words = ["ssh", "-F", f"{os.environ['HOME']}/.ssh/config", node, sys.executable, "-P", "-c"]
    command = [*words, shlex.quote(HOLD.format(slots))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield
        process.communicate(timeout=10)


def test_a_job_waits_for_all_of_its_hosts_and_says_for_which(hosts: Hosts, tmp_path: Path) -> None:
    book = training(tmp_path / "train.ipynb", plain=True)
    with held("node2", slot_count(local_facts())):
        job: Job = dt.submit(book, "hosts", nodes=2, ranks_per_node=1, parameters={"steps": 4})
        wait_until(lambda: "node2" in (job.info()["reason"] or {}).get("message", ""), 20, "a reason")
        info = job.info()
        assert info["state"] == "queued"
        assert "cluster somebody holds" in info["reason"]["message"]
        at = {
            (node, "node admit" in " ".join(command_line(process)))
            for node in ("node1", "node2")
            for process in hosts.running(node, job.id)
            if listening(process)
        }
        assert at == {("node1", True)}
        found = {address for process in hosts.running("node1", job.id) for address in listening(process)}
        assert hosts.address("node1") in found
        assert found.isdisjoint({"0.0.0.0", "::", "127.0.0.1", "::1"}), "its own addresses only"
        first, second = slots_of("hosts")
        holds = [slot["held_by"]["id"] for slot in first["slots"] if slot["held_by"]]
        assert (first["name"], holds, first["waiting"]) == ("node1", [job.id], []), "kept for it"
        assert (second["name"], [one["id"] for one in second["waiting"]]) == ("node2", [job.id])
    assert job.wait(60) == "succeeded", job.logs()


def test_the_store_of_its_ranks_is_at_one_address(hosts: Hosts, tmp_path: Path) -> None:
    cell = """import time, torch, torch.distributed as dist
dist.all_reduce(torch.ones(1))
print("joined", flush=True)
time.sleep(600)"""
    job: Job = dt.submit(write(tmp_path / "listens.ipynb", [cell]), "hosts", nodes=2, ranks_per_node=1)
    wait_until(lambda: job.logs().count("joined") == 2, 60, "its ranks to meet")
    found = {
        node: {
            address
            for process in hosts.running(node, job.id)
            if "dtrain_lab.rank" in command_line(process)
            for address in listening(process)
        }
        for node in ("node1", "node2")
    }
    job.cancel()
    assert job.wait(60) == "cancelled"
    assert hosts.address("node1") in found["node1"], "the store of rank 0"
    for node, addresses in found.items():
        assert addresses <= {hosts.address(node), "127.0.0.1"}, "gloo's own beside it; not every interface"


MEETS = """
import os, psutil
from dtrain_lab.node import job_network
job_network.choose_rendezvous(int(os.environ["NODE_RANK"]))
from dtrain_lab.rank.group import job_store
store = job_store.first_ranks_store()
store.set(os.environ["RANK"], "here")
store.wait(["0", "1", "2"])
listens = [c.laddr.ip for c in psutil.Process().net_connections() if c.status == "LISTEN"]
print(os.environ["MASTER_ADDR"], *listens, flush=True)
store.set("done" + os.environ["RANK"], "")
store.wait(["done0", "done1", "done2"])
"""
OWN_NAME = 'mount --bind "$0" /etc/hosts && exec "$@"'


def test_ranks_meet_where_a_host_s_own_name_leads_to_loopback(hosts: Hosts, tmp_path: Path) -> None:
    """As Debian's installer writes /etc/hosts; rank 0 listens at its network's address, and nowhere else."""
    own = tmp_path / "hosts"
    own.write_text(f"127.0.0.1 localhost\n127.0.1.1 node1\n{hosts.address('node2')} node2\n")
    started = []
    for rank, node in enumerate(("node1", "node1", "node2")):
        command = [sys.executable, "-c", MEETS]
        if node == "node1":
            command = ["sh", "-c", OWN_NAME, str(own), *command]
        told = {"RANK": str(rank), "WORLD_SIZE": "3", "NODE_RANK": str(int(node == "node2"))}
        told |= {"MASTER_ADDR": "node1", "MASTER_PORT": "29511"}
        told |= {"DTRAIN_PEER": "node2" if node == "node1" else ""}
        environment = {**os.environ, **told}
        inside = hosts.inside(node, *command)
        started.append(subprocess.Popen(inside, env=environment, stdout=subprocess.PIPE, text=True))
    said = [process.communicate(timeout=60)[0].split() for process in started]
    address = hosts.address("node1")
    assert said == [[address, address], [address], ["node1"]]


def test_a_job_starts_after_another_on_its_first_host(hosts: Hosts, tmp_path: Path) -> None:
    waits = "import os, time\nwhile not os.path.exists('/mnt/go'): time.sleep(0.05)"
    with held("node1", slot_count(local_facts())):
        good: Job = dt.submit(write(tmp_path / "a.ipynb", [waits]), "hosts", ranks=1)
        assert good.info()["nodes"][0]["name"] == "node2", "where there is room"
    then: Job = dt.submit(write(tmp_path / "b.ipynb", ["print('then')"]), "hosts", ranks=1, after=good)
    wait_until(lambda: then.info()["reason"] is not None, 30, "its reason")
    assert then.info()["reason"]["message"] == f'Waits for the job "{good.name}".'
    write_profile("far", 'backend = "ssh"\nworkdir = "/mnt/else"\n[ssh]\nhosts = ["node2"]\n')
    far: Job = dt.submit(tmp_path / "b.ipynb", "far", ranks=1, after=good)
    wait_until(lambda: far.info()["reason"] is not None, 30, "its reason")
    config = f"{os.environ['HOME']}/.ssh/config"
    subprocess.run(["ssh", "-F", config, "node2", "touch", "/mnt/go"], check=True)
    assert far.wait(60) == "succeeded", "a folder of its own keeps no job from waiting for another"
    assert good.info()["ended_at"] <= far.info()["started_at"]
    assert then.wait(60) == "succeeded", then.logs()
    assert then.info()["nodes"][0]["name"] == "node2"
    assert good.info()["ended_at"] <= then.info()["started_at"]
    write_profile("other", 'backend = "ssh"\nworkdir = "/mnt/dtl"\n[ssh]\nhosts = ["node1"]\n')
    with pytest.raises(Conflict, match="node2 is not among the profile's hosts"):
        dt.submit(tmp_path / "b.ipynb", "other", ranks=1, after=good)
    # one that fails, on two hosts
    bad: Job = dt.submit(write(tmp_path / "c.ipynb", ["raise ValueError"]), "hosts", ranks=1)
    never: Job = dt.submit(
        write(tmp_path / "d.ipynb", ["print('never')"]), "hosts", nodes=2, ranks_per_node=1, after=bad
    )
    assert never.wait(60) == "failed"
    assert '" had to succeed first, but it has ended without success.' in never.info()["summary"]["text"]


def test_jobs_that_come_at_once_run_one_after_the_other(hosts: Hosts, tmp_path: Path) -> None:
    room = slot_count(local_facts())
    book = training(tmp_path / "train.ipynb", plain=True)
    with held("node1", room - 2), held("node2", room - 2):
        jobs = [
            dt.submit(book, "hosts", nodes=2, ranks_per_node=2, parameters={"steps": 4}, name=f"at-once-{n}")
            for n in range(2)
        ]
        for job in jobs:
            assert job.wait(100) == "succeeded", job.logs()
    infos = sorted((job.info() for job in jobs), key=lambda info: info["started_at"])
    assert all(a["ended_at"] <= b["started_at"] for a, b in pairwise(infos)), "no two held slots at once"


def test_a_job_that_waits_is_cancelled_on_all_hosts(hosts: Hosts, tmp_path: Path) -> None:
    with held("node2", slot_count(local_facts())):
        job: Job = dt.submit(training(tmp_path / "train.ipynb"), "hosts", nodes=2, ranks_per_node=1)
        wait_until(lambda: job.info()["reason"], 20, "it waits")
        job.cancel()
        assert job.wait(20) == "cancelled"
        wait_until(lambda: not alive(hosts, job.id), 10, "its end on both hosts")
        wait_until(lambda: not slots_of("hosts")[0]["waiting"], 10, "its ticket to be void")


def slots_of(profile: str) -> list[dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-m", "dtrain_lab", "slots", "--profile", profile, "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    nodes: list[dict[str, Any]] = json.loads(done.stdout)["nodes"]
    return nodes


def test_a_running_job_is_debugged(hosts: Hosts, tmp_path: Path) -> None:
    # each host has a /mnt of its own: whoever reaches the step ends the loop on both
    book = looping(tmp_path / "loop.ipynb", "/mnt/stop")
    job: Job = dt.submit(book, "hosts", nodes=2, ranks_per_node=1)
    look_around(job)
    config = f"{os.environ['HOME']}/.ssh/config"
    subprocess.run(["ssh", "-F", config, "node2", "touch", "/mnt/stop"], check=True)
    assert job.wait(120) == "succeeded", job.logs()
    assert "[0] total 4.0" in job.logs()


def test_a_job_over_hosts_without_a_shared_folder(hosts: Hosts, tmp_path: Path) -> None:
    job: Job = dt.submit(
        training(tmp_path / "train.ipynb"), "hosts", nodes=2, ranks_per_node=2, parameters={"steps": 6}
    )
    assert job.wait(120) == "succeeded", job.logs()
    log = job.logs()
    for rank in range(4):
        assert f"[{rank}] rank {rank} local {rank % 2} of 4" in log
        assert f"[{rank}] done 6" in log
    info = job.info()
    assert info["checkpoint_step"] == 5
    assert [rank["node"] for rank in info["ranks"]] == ["node1", "node1", "node2", "node2"]
    wait_until(lambda: not alive(hosts, job.id), 10, "its end on both hosts")
    job.delete()
    assert not Path("/mnt/dtl").exists(), "nothing was written here"


def test_a_failing_rank_ends_its_peers_on_other_hosts(hosts: Hosts, tmp_path: Path) -> None:
    code = "import time\nif rank == 1:\n    time.sleep(1)\n    raise ValueError('bad luck')\ntime.sleep(600)"
    job: Job = dt.submit(write(tmp_path / "alone.ipynb", [code]), "hosts", nodes=2, ranks_per_node=1)
    assert job.wait(60) == "failed"
    error = job.info()["error"]
    assert (error["rank"], error["cell"], error["line"], error["type"]) == (1, "[1]", 4, "ValueError")
    wait_until(lambda: not alive(hosts, job.id), 15, "its end on both hosts")


def test_error_stacks_and_cancel(hosts: Hosts, tmp_path: Path) -> None:
    book = training(tmp_path / "train.ipynb")
    plain = training(tmp_path / "plain.ipynb", plain=True)
    job: Job = dt.submit(plain, "hosts", nodes=2, ranks_per_node=1, parameters={"steps": 9, "fails": 7})
    assert job.wait(90) == "failed"
    error = job.info()["error"]
    assert (error["rank"], error["cell"], error["line"]) == (1, "[4]", FAILING_LINE)

    long: Job = dt.submit(book, "hosts", nodes=2, ranks_per_node=1, parameters={"steps": 9999, "pause": 0.01})
    wait_until(lambda: (long.info()["metrics"]["step_s"] or 0) > 0, 90, "it trains")
    assert set(long.stacks()) == {0, 1}
    long.cancel()
    assert long.wait(30) == "cancelled"
    wait_until(lambda: not alive(hosts, long.id), 15, "its end on both hosts")
    assert os.path.basename(long.info()["directory"]) == long.id


@contextmanager
def command_lines_with(text: str) -> Iterator[set[str]]:
    """All command lines of this machine, and of the hosts on it, in which a text stands meanwhile."""
    seen: set[str] = set()
    over = threading.Event()

    def look() -> None:
        while not over.is_set():
            for path in Path("/proc").glob("[0-9]*/cmdline"):
                with suppress(OSError):
                    line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
                    if text in line:
                        seen.add(line)
            time.sleep(0.01)

    looking = threading.Thread(target=look)
    looking.start()
    try:
        yield seen
    finally:
        over.set()
        looking.join()


def test_variables_of_a_profile_stand_in_no_command_line(hosts: Hosts, tmp_path: Path) -> None:
    """Whoever else is on a host can read these (`ps`)."""
    canary = "c4n4ry-of-a-key"
    write_profile(
        "private",
        'backend = "ssh"\nworkdir = "/mnt/dtl"\n[ssh]\nhosts = ["node1", "node2"]\n'
        f'[environment.variables]\nMY_KEY = "{canary}"\n',
    )
    program = f"{Path(sys.executable).parent}/dtrain-lab"
    code = "import os, time\nprint(os.environ['MY_KEY'][-3:], flush=True)\ntime.sleep(1)"
    with command_lines_with(canary) as seen:
        job: Job = dt.submit(write(tmp_path / "private.ipynb", [code]), "private", nodes=2, ranks_per_node=1)
        for words in (["profile", "check", "private"], ["slots", "--profile", "private"]):
            subprocess.run([program, *words, "--json"], check=True, capture_output=True)
        assert job.wait(60) == "succeeded", job.logs()
        with dt.start("private", ranks=2) as cluster:
            assert cluster.run("import os; assert os.environ['MY_KEY']").ok
    assert job.logs().count("key") == 2, "ranks have them all the same"
    assert seen == set()
    with command_lines_with(canary) as seen, subprocess.Popen(["bash", "-c", "sleep 1; :", canary]):
        pass
    assert seen, "else nobody would have seen it before"


def test_secrets_and_data_are_each_hosts_own(hosts: Hosts, tmp_path: Path) -> None:
    canary = "s3cr3t-canary"

    def on(node: str, line: str) -> str:
        words = ["ssh", "-F", f"{os.environ['HOME']}/.ssh/config", node, line]
        return subprocess.run(words, check=True, capture_output=True, text=True).stdout

    for node in ("node1", "node2"):
        on(node, "umask 077; mkdir -p /mnt/set /mnt/scratch; head -c 100000 /dev/zero > /mnt/set/a.bin")
        on(node, f"umask 077; printf %s {canary}-of-{node} > /mnt/key")
    write_profile(
        "carries",
        'backend = "ssh"\nworkdir = "/mnt/dtl"\nscratch = "/mnt/scratch"\n'
        '[environment]\nsecrets = { API_KEY = "/mnt/key" }\n[ssh]\nhosts = ["node1", "node2"]\n',
    )
    code = """import dtrain_lab as dt, os, time
where = dt.staged('/mnt/set/a.bin')
print(where, where.stat().st_size, os.environ['API_KEY'][-5:], len(os.environ['API_KEY']), flush=True)
while not os.path.exists('/mnt/read'): time.sleep(0.05)"""
    book = write(tmp_path / "carries.ipynb", [code])
    job: Job = dt.submit(book, "carries", nodes=2, ranks_per_node=1, stage=["/mnt/set"])
    wait_until(lambda: job.logs().count("100000") == 2, 60, "both to have read")
    base = f"/mnt/scratch/dtrain-lab-data-{os.getuid()}"
    assert sorted(job.logs().splitlines()) == [
        f"[{rank}] {base}/{job.id}.{rank}/set/a.bin 100000 node{rank + 1} {len(canary) + 9}"
        for rank in range(2)
    ]
    for node in ("node1", "node2"):
        commands = [" ".join(command_line(process)) for process in hosts.processes(node)]
        assert any(job.id in line for line in commands)
        assert [line for line in commands if canary in line] == []
        assert on(node, f"grep -rl {canary} /mnt/dtl || true") == "", "no script, record or log has it"
        on(node, "touch /mnt/read")
    assert job.wait(60) == "succeeded", job.logs()
    assert [on(node, f"ls {base}") for node in ("node1", "node2")] == ["", ""]

    for node in ("node1", "node2"):
        on(node, "rm /mnt/read")  # rank 0 runs until it is told of the other
    on("node2", "rm /mnt/key")
    failing: Job = dt.submit(book, "carries", nodes=2, ranks_per_node=1, stage=["/mnt/set"])
    assert failing.wait(60) == "failed"
    text = failing.info()["summary"]["text"]
    assert (
        ": rank 1 could not start: [environment] secrets: API_KEY is not set, because /mnt/key can't be"
        in text
    )
    wait_until(lambda: not alive(hosts, failing.id), 30, "nothing to be left of it")
    assert [on(node, f"ls {base}") for node in ("node1", "node2")] == ["", ""]
    on("node1", f"printf %s {canary} > /mnt/key")
    on("node2", "umask 077; printf %s x > /mnt/key; mv /mnt/set/a.bin /mnt/a.bin; rmdir /mnt/set")
    failing = dt.submit(book, "carries", nodes=2, ranks_per_node=1, stage=["/mnt/set"])
    assert failing.wait(60) == "failed"
    text = failing.info()["summary"]["text"]
    assert ": rank 1 could not start: " in text
    assert "/mnt/set" in text
    wait_until(lambda: not alive(hosts, failing.id), 30, "nothing to be left of it")
    assert on("node1", f"ls {base}") == ""


def test_a_job_is_done_when_all_of_its_hosts_are(hosts: Hosts, tmp_path: Path) -> None:
    code = """import os, time
while rank and not os.path.exists('/mnt/others'): time.sleep(0.05)
assert not rank, 'the last word'"""
    job: Job = dt.submit(write(tmp_path / "later.ipynb", [code]), "hosts", nodes=2, ranks_per_node=1)
    after = dt.submit(
        write(tmp_path / "after.ipynb", ["print('after')"]), "hosts", nodes=2, ranks_per_node=1, after=job
    )
    wait_until(lambda: _doing(job)[:1] == ["idle"], 60, "the first to be done")
    _touch("/mnt/others")
    assert job.wait(60) == "failed"
    why = "rank 1 failed in cell [1], line 3: AssertionError: the last word"
    assert why in job.info()["summary"]["text"]
    assert after.wait(60) == "failed"
    assert "had to succeed first" in after.info()["summary"]["text"]


def test_an_attempt_begins_anew_on_hosts_that_were_done_too(hosts: Hosts, tmp_path: Path) -> None:
    code = """import os, time, torch.distributed as dist
dist.init_process_group()
first = os.environ['DTRAIN_ATTEMPT'] == '0'
while rank and not os.path.exists('/mnt/now'): time.sleep(0.05)
assert not rank or not first, 'once'
print('both:', dist.get_world_size(), 'attempt', os.environ['DTRAIN_ATTEMPT'])"""
    path = write(tmp_path / "anew.ipynb", [code])
    job: Job = dt.submit(path, "hosts", nodes=2, ranks_per_node=1, retries=1)
    wait_until(lambda: _doing(job)[:1] == ["idle"], 60, "the first to be done")
    _touch("/mnt/now")
    assert job.wait(90) == "succeeded"
    said = sorted(line for line in job.logs().splitlines() if "both" in line)
    assert said == ["[0] both: 2 attempt 0", "[0] both: 2 attempt 1", "[1] both: 2 attempt 1"]


def _doing(job: Job) -> list[str]:
    return [rank["state"] for rank in job.info()["ranks"]]


def _touch(path: str) -> None:
    line = ["ssh", "-F", f"{os.environ['HOME']}/.ssh/config", "node2", f"touch {path}"]
    subprocess.run(line, check=True)
