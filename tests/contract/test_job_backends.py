"""What every back-end promises of jobs: the same notebook, the same words, the same end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import dtrain_lab as dt
from dtrain_lab.api.job import Job
from dtrain_lab.api.portal import Portal
from dtrain_lab.services.policy import backends
from tests.books import write
from tests.hosts import SLURM, Hosts, need, on_login_node, running_hosts
from tests.integration.profiles import write_profile
from tests.waiting import wait_until

pytestmark = [pytest.mark.processes, pytest.mark.hosts, pytest.mark.timeout(180)]
BACKENDS = ("local", "ssh", "slurm")
CELLS = [
    ("word = 'none'\nwaits = False\nfails = False", "parameters"),
    "import os, time\ne = os.environ\n"
    "assert os.path.isdir(e['DTRAIN_CHECKPOINT_DIR'])\n"
    "print(word, rank, local_rank, world_size, e['LOCAL_WORLD_SIZE'], e['NODE_RANK'])",
    "while waits:\n    time.sleep(0.1)",
    "if fails and rank == 1:\n    raise KeyError(word)",
    # once on each node, and its other ranks wait
    "!sleep 0.3; echo made >> made.{rank - local_rank}\n"
    "made = open(f'made.{rank - local_rank}').read()\nassert made == 'made\\n', made",
]


@pytest.fixture(scope="module")
def hosts() -> Iterator[Hosts]:
    need("sshd", "ssh-keygen", *SLURM)
    with running_hosts(2) as made:
        made.start_ssh()
        made.start_slurm()
        with on_login_node(made) as work:
            write_profile("on-local", f'backend = "local"\nworkdir = "{work}/local"\n')
            write_profile("on-slurm", f'backend = "slurm"\nworkdir = "{work}/slurm"\n')
            write_profile(
                "on-ssh", f'backend = "ssh"\nworkdir = "{work}/ssh"\n[ssh]\nhosts = ["node1", "node2"]\n'
            )
            yield made


@pytest.mark.parametrize("name", BACKENDS)
def test_a_job_from_its_submission_to_its_end(name: str, hosts: Hosts, tmp_path: Path) -> None:
    book = write(tmp_path / "same.ipynb", CELLS)
    size = {"nodes": 2, "ranks_per_node": 2}
    job: Job = dt.submit(book, f"on-{name}", **size, parameters={"word": "hello there"})
    assert job.wait(60) == "succeeded", job.logs()
    assert sorted(job.logs().splitlines()) == [
        f"[{rank}] hello there {rank} {rank % 2} 4 2 {rank // 2}" for rank in range(4)
    ]
    info = job.info()
    assert (info["exit_code"], info["error"], info["backend"]) == (0, None, name)
    assert info["created_at"] <= info["started_at"] <= info["ended_at"]

    bad: Job = dt.submit(book, f"on-{name}", **size, parameters={"word": "why", "fails": True})
    assert bad.wait(60) == "failed"
    error = bad.info()["error"]
    assert (error["rank"], error["cell"], error["line"], error["type"]) == (1, "[4]", 2, "KeyError")

    long: Job = dt.submit(book, f"on-{name}", **size, parameters={"waits": True})
    wait_until(lambda: long.logs().count("none") == 4, 60, "its first lines")
    portal = Portal.get()
    record = portal.call(portal.jobs._records.record(long.id))
    assert portal.call(backends.backend(name).find(record)) is not None
    long.cancel()
    assert long.wait(30) == "cancelled"

    again = bad.resume()
    assert again.wait(60) == "failed"
    assert again.info()["parent"] == bad.id
    for one in (job, again, bad, long):  # what goes on from a job has its checkpoints in that one's folder
        one.delete()
    assert dt.jobs() == [] or not {j.id for j in dt.jobs()} & {job.id, bad.id, long.id, again.id}
