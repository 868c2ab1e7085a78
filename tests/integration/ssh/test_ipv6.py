"""Hosts that speak IPv6 with each other, and nothing else; each has an identical docker0 with IPv4."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import dtrain_lab as dt
from tests.books import write
from tests.hosts import SLURM, Hosts, command_line, listening, need, on_login_node, running_hosts
from tests.integration.profiles import TRAIN, write_profile
from tests.waiting import wait_until

pytestmark = [pytest.mark.processes, pytest.mark.hosts, pytest.mark.timeout(120)]

JOB = (
    "import torch, torch.distributed as dist\n"
    "from torch.nn.parallel import DistributedDataParallel as DDP\n"
    "dist.init_process_group('gloo')\n"
    "t = torch.tensor(dist.get_rank()); dist.all_reduce(t)\n"
    "DDP(torch.nn.Linear(4, 1))(torch.ones(2, 4)).sum().backward()\n"
    "print('SUM', int(t), 'of', dist.get_rank())"
)
ALL_FORMS = [("ssh6", None, 2), ("slurm6", "torchrun", 1)]


@pytest.fixture(scope="module")
def hosts() -> Iterator[Hosts]:
    need("sshd", "ssh-keygen", *SLURM)
    with running_hosts(2, version=6) as made:
        made.start_ssh()
        made.start_slurm()
        with on_login_node(made) as work:
            write_profile("ssh6", 'backend = "ssh"\n[ssh]\nhosts = ["node1", "node2"]\n')
            write_profile("slurm6", f'backend = "slurm"\nworkdir = "{work}"\n')
            yield made


def test_a_world_trains_is_viewed_and_mended(hosts: Hosts) -> None:
    with dt.start("slurm6", nodes=2, ranks_per_node=2, name="six") as world:
        assert world.run(TRAIN).ok
        assert [n["address"] for n in world.info()["nodes"]] == [hosts.address(n) for n in hosts.names]
        assert len(set(world.view().apply_sync(pid))) == 4
        world.run("kept = rank")
        result = world.run(
            "import os, signal\nif rank == 3: os.kill(os.getpid(), signal.SIGKILL)", check=False
        )
        assert "Rank 3 was lost" in result.sentence
        world.restart([3])
        assert world.run("print(kept)", ranks=[2]).stdout == {2: "2\n"}
        assert world.run("import torch.distributed as d; d.barrier()").ok
        python = [
            p for n in hosts.names for p in hosts.running(n) if "python" in "".join(command_line(p)[:1])
        ]
        listens = {at for process in python for at in listening(process)}
        assert hosts.address("node1") in listens
        assert "::" not in listens, [command_line(p) for p in python if "::" in listening(p)]
    wait_until(lambda: not any(hosts.running(n) for n in hosts.names), 20, "its end")


@pytest.mark.parametrize(("profile", "launcher", "on_each"), ALL_FORMS)
def test_a_job_forms_its_group(profile: str, launcher: str | None, on_each: int, hosts: Hosts) -> None:
    folder = hosts.root / "work" / f"{profile}-{launcher}"
    folder.mkdir()
    book = write(folder / "job.ipynb", [JOB])
    job = dt.submit(book, profile=profile, nodes=2, ranks_per_node=on_each, launcher=launcher)
    assert job.wait(90) == "succeeded", (job.info()["summary"], job.logs())
    ranks = range(2 * on_each)
    assert sorted(re.findall(rf"SUM {sum(ranks)} of (\d)", job.logs())) == [str(rank) for rank in ranks]


def test_the_check_measures_between_two(hosts: Hosts) -> None:
    program = str(Path(sys.executable).parent / "dtrain-lab")
    done = subprocess.run([program, "profile", "check", "ssh6", "--json"], capture_output=True, text=True)
    report = json.loads(done.stdout)
    assert report["network"]["speed"]["bytes_per_s"] > 1e6
    for name, node in zip(hosts.names, report["nodes"], strict=True):
        assert hosts.address(name) in node["interfaces"]


def pid() -> int:
    """On a rank."""
    import os

    return os.getpid()
