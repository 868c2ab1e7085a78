"""A back-end that another package ships: found by its entry point, it runs clusters and jobs as ours do."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import dtrain_lab as dt
from dtrain_lab.api.job import Job
from dtrain_lab.backends import registry
from dtrain_lab.errors import BadProfile, NotFound
from dtrain_lab.services.policy import backends
from dtrain_lab.services.profiles import files as profiles
from tests.books import write
from tests.integration.profiles import write_profile

pytestmark = [pytest.mark.processes, pytest.mark.timeout(150)]
PACKAGE = Path(__file__).parents[2] / "toy"


@pytest.fixture(scope="module", autouse=True)
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    backends.backend.cache_clear()
    work = tmp_path_factory.mktemp("toy")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(PACKAGE))
        write_profile("toys", f'backend = "toy"\nworkdir = "{work}"\n[toy]\nnice = 3\n')
        yield
    backends.backend.cache_clear()


def test_it_is_small_and_named_among_ours() -> None:
    assert len((PACKAGE / "dtrain_lab_toy.py").read_text().splitlines()) <= 150
    assert registry.names() == ["local", "slurm", "ssh", "toy"]
    assert profiles.load("toys").backend == "toy"
    listed = next(one for one in profiles.listing() if one.name == "toys")
    assert listed.profile is not None
    assert listed.profile.section == {"nice": 3}
    with pytest.raises(BadProfile, match=r'p\.toml, line 3: unknown key "\[toy\] nise".') as refused:
        profiles.write("p", 'backend = "toy"\n[toy]\nnise = 3\n')
    assert refused.value.hint == "Did you mean nice?"
    with pytest.raises(NotFound, match="no back-end"):
        backends.backend("toys")


def test_it_runs_a_cluster() -> None:
    with dt.start("toys", ranks=2, name="toy-cluster") as cluster:
        result = cluster.run("import torch.distributed as dist\nprint(rank, dist.get_world_size())")
        assert result.stdout == {0: "0 2\n", 1: "1 2\n"}
        assert [c.state for c in dt.clusters() if c.name == "toy-cluster"] == ["ready"]
        assert cluster.view()["rank"] == [0, 1]
    assert [c for c in dt.clusters() if c.name == "toy-cluster"] == []


def test_it_runs_a_job(tmp_path: Path) -> None:
    cells = [
        ("waits = False", "parameters"),
        "import os, time\nprint('of', world_size, 'nice', os.nice(0))\nwhile waits:\n    time.sleep(0.1)",
    ]
    book = write(tmp_path / "toy.ipynb", cells)
    plan = dt.submit(book, "toys", ranks=2, dry_run=True)
    assert plan.command.startswith("bash ")
    job: Job = dt.submit(book, "toys", nodes=2, ranks_per_node=1)
    assert job.wait(60) == "succeeded", job.logs()
    nice = min(19, os.nice(0) + 3)
    assert sorted(job.logs().splitlines()) == [f"[{rank}] of 2 nice {nice}" for rank in (0, 1)]
    assert job.info()["backend"] == "toy"
    long: Job = dt.submit(book, "toys", ranks=2, parameters={"waits": True})
    long.cancel()
    assert long.wait(30) == "cancelled"
    for one in (job, long):
        one.delete()
