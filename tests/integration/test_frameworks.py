"""TensorFlow and MindSpore as jobs, for real: in environments of their own, which have no torch.

Outside the default run, as they are large: `make frameworks` makes the environments and runs this module.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import dtrain_lab as dt
from dtrain_lab.api.job import Job
from dtrain_lab.backends import registry
from dtrain_lab.errors import BadNotebook
from tests import framework_books as books
from tests.books import write
from tests.hosts import SLURM, Hosts, need, running_hosts
from tests.integration.test_ssh import write_profile

ENVIRONMENTS = Path(__file__).parents[2] / ".venv"
pytestmark = [
    pytest.mark.processes,
    pytest.mark.timeout(300),
    pytest.mark.skipif(not os.environ.get("DTRAIN_LAB_FRAMEWORKS"), reason="large: make frameworks"),
]
CASES = {
    "tensorflow-sum": ("tensorflow", 2, (books.TWO_WORKERS, books.SUM)),
    "tensorflow-fit": ("tensorflow", 2, (books.TWO_WORKERS, books.DATA, books.FIT)),
    "tensorflow-loop": ("tensorflow", 2, (books.TWO_WORKERS, books.DATA, books.CUSTOM)),
    "tensorflow-servers": ("tensorflow", 3, (books.SERVERS, books.COORDINATOR)),
    "tensorflow-mirrored": ("tensorflow", None, (books.MIRRORED,)),
    "mindspore": ("mindspore", 2, (books.ALL_REDUCE, books.MINDSPORE_TRAINING)),
}


def profile(name: str, framework: str, more: str = "", keras: int = 2) -> None:
    """Write a profile whose environment is the framework's own; `keras`: what tf.keras is there."""
    folder = ENVIRONMENTS / f"frameworks-{framework}"
    if not (folder / "bin" / "python").exists():
        pytest.skip(f"NO {framework.upper()}: make frameworks")
    variables = f'TF_USE_LEGACY_KERAS = "{int(keras == 2)}", TF_CPP_MIN_LOG_LEVEL = "2", GLOG_v = "3"'
    write_profile(
        name,
        f'framework = "{framework}"\n{more}[environment]\nkind = "venv"\npath = "{folder}"\n'
        f'variables = {{ {variables}, OMP_NUM_THREADS = "1" }}\n',
    )


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory(prefix="dtl") as runtime:
        patch.setenv("HOME", str(folder))
        patch.setenv("DTRAIN_LAB_RUNTIME_DIR", runtime)
        yield folder


@pytest.fixture(autouse=True)
def no_job_left() -> Iterator[None]:
    yield
    for job in dt.jobs():
        if not job.ended:
            job.cancel()
            job.wait(60)


def run(case: str, where: str, folder: Path, **size: int) -> Job:
    """Submit a case's notebook as a job, and wait for its end."""
    framework, ranks, cells = CASES[case]
    if not size and ranks is not None:
        size = {"ranks_per_node": ranks}
    job = dt.submit(write(folder / f"{case}.ipynb", cells), profile=where, framework=framework, **size)
    job.wait(240)
    assert job.state == "succeeded", job.logs()
    return job


def said(job: Job, what: str) -> dict[int, str]:
    """What each rank printed after `rank N what`."""
    found = re.findall(rf"\brank (\d+) {what} (.*)", job.logs())
    return {int(rank): text for rank, text in found}


def check(case: str, job: Job) -> None:
    """Look at what the ranks of a case printed, and at what the panel knows of them."""
    info = job.info()
    log = job.logs()
    if case == "tensorflow-sum":
        assert said(job, "sum") == {0: "3.0", 1: "3.0"}
    elif case == "tensorflow-fit":
        losses = said(job, "fit")
        assert losses[0] == losses[1], "both have the loss of the whole batch"
        first, last = map(float, re.findall(r"[\d.]+", losses[0]))
        assert last < first
        assert info["metrics"]["values"]["loss"] == pytest.approx(last, abs=1e-4)
    elif case == "tensorflow-loop":
        losses = said(job, "custom")
        assert losses[0] == losses[1]
        assert losses[0].endswith("True"), losses
        steps_are_known(job)
        made = Path(info["directory"], "checkpoints")
        assert {path.name for path in made.glob("here-*")} == {"here-0", "here-1"}
    elif case == "tensorflow-servers":
        assert said(job, "serves as") == {1: "worker 0", 2: "ps 0"}
        assert "chief: weight 1.0" in log
    elif case == "tensorflow-mirrored":
        assert "alone 1 False" in log
        assert (info["size"]["nodes"], info["size"]["ranks_per_node"]) == (1, 1)
    else:
        assert said(job, "sum") == {0: "[3. 3. 3.]", 1: "[3. 3. 3.]"}
        losses = said(job, "loss")
        assert losses[0] == losses[1]
        assert losses[0].endswith("True"), losses
        steps_are_known(job)


def steps_are_known(job: Job) -> None:
    """What `dt.step` marks is counted; of communication nothing is claimed, and one sentence says so."""
    info = job.info()
    assert all(rank["step"] for rank in info["ranks"]), info["ranks"]
    assert info["metrics"]["comm_overhead"] is None
    assert job.logs().count("communication can't be measured") == 1


@pytest.mark.parametrize("case", CASES)
def test_ranks_of_another_framework_find_each_other_here(case: str, home: Path, tmp_path: Path) -> None:
    framework = CASES[case][0]
    profile(f"here-{framework}", framework)
    check(case, run(case, f"here-{framework}", tmp_path))


def test_ranks_on_simulated_nodes_find_each_other(home: Path, tmp_path: Path) -> None:
    profile("here-tensorflow", "tensorflow")
    check("tensorflow-sum", run("tensorflow-sum", "here-tensorflow", tmp_path, nodes=2, ranks_per_node=1))


def test_an_error_of_a_rank_names_its_cell_and_ends_the_others(home: Path, tmp_path: Path) -> None:
    profile("here-tensorflow", "tensorflow")
    cells = (books.TWO_WORKERS, "if rank == 1:\n    raise ValueError('no more data')", books.SUM)
    book = write(tmp_path / "fails.ipynb", cells)
    job = dt.submit(book, profile="here-tensorflow", ranks_per_node=2)
    job.wait(120)
    error = job.info()["error"]
    assert (job.state, error["rank"], error["cell"], error["line"]) == ("failed", 1, "[2]", 2)


def test_keras_3_is_refused_before_anything_is_submitted(home: Path, tmp_path: Path) -> None:
    profile("plain", "tensorflow", keras=3)
    cells = (books.TWO_WORKERS, "import keras\nmodel = keras.Sequential()\nmodel.fit([1], [1])")
    with pytest.raises(BadNotebook, match="Keras 3"):
        dt.submit(write(tmp_path / "keras.ipynb", cells), profile="plain", ranks_per_node=2)
    assert "keras" not in {job.name for job in dt.jobs()}


# ---- two nodes under Slurm


@pytest.fixture(scope="module")
def hosts() -> Iterator[Hosts]:
    need("sshd", "ssh-keygen", *SLURM)
    with running_hosts(2) as made, pytest.MonkeyPatch.context() as patch:
        made.start_slurm()
        home = made.root / "home"
        home.mkdir()
        work = made.root / "work"
        work.mkdir()
        patch.setenv("HOME", str(home))
        patch.setenv("SLURM_CONF", str(made.slurm_conf))
        patch.setenv("DTRAIN_LAB_POLL_FLOOR_S", "1")
        for framework in ("tensorflow", "mindspore"):
            profile(f"queue-{framework}", framework, f'backend = "slurm"\nworkdir = "{work}"\n')
        registry.backend.cache_clear()
        yield made
        registry.backend.cache_clear()


@pytest.mark.hosts
@pytest.mark.parametrize("case", [case for case in CASES if case != "tensorflow-mirrored"])
def test_ranks_on_two_nodes_of_slurm_find_each_other(case: str, hosts: Hosts, tmp_path: Path) -> None:
    framework, ranks, _ = CASES[case]
    size = {"nodes": 2, "ranks_per_node": 1 if ranks == 2 else 2}
    job = run(case, f"queue-{framework}", tmp_path, **size)
    assert {rank["node"] for rank in job.info()["ranks"]} == {"node1", "node2"}
    if case == "tensorflow-servers":  # four ranks: two nodes of two
        assert said(job, "serves as") == {1: "worker 0", 2: "worker 1", 3: "ps 0"}
        assert "chief: weight 1.0" in job.logs()
    else:
        check(case, job)
