"""TensorFlow and MindSpore as jobs, for real: in environments of their own, which have no torch.

Outside the default run, as they are large: `make frameworks` makes the environments and runs this module.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import dtrain_lab as dt
from dtrain_lab.api.job import Job
from dtrain_lab.errors import BadNotebook
from tests import framework_books as books
from tests.books import write
from tests.hosts import SLURM, Hosts, need, on_login_node, running_hosts
from tests.integration.profiles import write_profile
from tests.waiting import wait_until

EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "resnet18_cifar10.py"
ENVIRONMENTS = Path(__file__).parents[3] / ".venv"
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
    "tensorflow-mirrored": ("tensorflow", None, (books.ALONE.format("MirroredStrategy"),)),
    "tensorflow-central": ("tensorflow", None, (books.ALONE.format("CentralStorageStrategy"),)),
    "mindspore": ("mindspore", 2, (books.ALL_REDUCE, books.MINDSPORE_TRAINING)),
}


def profile(name: str, framework: str, keys: str = "", *, more: str = "", keras: int = 2) -> None:
    """Write a profile whose environment is the framework's own.

    `keys` stand at its top, `more` at its end. `keras`: what tf.keras is there.
    """
    folder = ENVIRONMENTS / f"frameworks-{framework}"
    if not (folder / "bin" / "python").exists():
        pytest.skip(f"NO {framework.upper()}: make frameworks")
    variables = f'TF_USE_LEGACY_KERAS = "{int(keras == 2)}", TF_CPP_MIN_LOG_LEVEL = "2", GLOG_v = "3"'
    write_profile(
        name,
        f'framework = "{framework}"\n{keys}[environment]\nkind = "venv"\npath = "{folder}"\n'
        f'variables = {{ {variables}, OMP_NUM_THREADS = "1" }}\n{more}',
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
        first, last = map(float, losses[0].split())
        assert last < first
        steps_are_known(job)
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
    elif CASES[case][1] is None:
        assert "alone 1 2.0 False" in log
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


@pytest.mark.parametrize("case", ["tensorflow-sum", "mindspore"])
def test_a_second_attempt_finds_its_own_ranks(case: str, home: Path, tmp_path: Path) -> None:
    """With ports of its own, and MindSpore with another scheduler."""
    framework, _, (first, *_) = CASES[case]
    profile(f"here-{framework}", framework)
    fails = "import os\nif rank == 1 and os.environ['DTRAIN_ATTEMPT'] == '0':\n    raise ValueError('once')"
    cells = [first, fails, *([books.SUM] if framework == "tensorflow" else [books.AGAIN])]
    book = write(tmp_path / "again.ipynb", cells)
    job = dt.submit(book, profile=f"here-{framework}", ranks_per_node=2, retries=1)
    assert job.wait(150) == "succeeded", job.logs()
    assert job.info()["attempt"] == 1
    wanted = "3.0" if framework == "tensorflow" else "[6. 6. 6.]"
    assert said(job, "sum" if framework == "tensorflow" else "again") == {0: wanted, 1: wanted}


def test_ranks_without_torch_are_debugged_and_their_stacks_read(home: Path, tmp_path: Path) -> None:
    profile("here-tensorflow", "tensorflow")
    stop = tmp_path / "stop"
    book = write(tmp_path / "loop.ipynb", [books.TWO_WORKERS, books.LOOP.format(stop=str(stop))])
    job = dt.submit(book, profile="here-tensorflow", ranks_per_node=2)
    wait_until(lambda: all(rank["step"] for rank in job.info()["ranks"]), 60, "the loop")
    assert all("loop.ipynb[2]" in text for text in job.stacks().values())
    with job.debug() as debugger:
        debugger.pause()
        debugger.wait(30, [0, 1])
        debugger.set_breakpoint("[2]", 5, condition="i > 3")
        debugger.go()
        debugger.wait(30, [0, 1])
        assert [str(frame) for frame in debugger.stack(1)] == [
            "cell [2]:5, in step",
            "cell [2]:9, in <module>",
        ]
        assert debugger.evaluate("y == i * 2", 0) == "True"
    stop.touch()
    assert job.wait(60) == "succeeded", job.logs()


def test_the_example_for_npus_trains_on_cpus(home: Path, tmp_path: Path) -> None:
    """With the same script on both: what is missing here are the devices and torch_npu."""
    shutil.copy(EXAMPLE, tmp_path)
    cells = ["import torch", f"%run {EXAMPLE.name} --epochs 1 --batch 8 --steps 3"]
    job = dt.submit(write(tmp_path / "npu.ipynb", cells), ranks_per_node=2)
    assert job.wait(200) == "succeeded", job.logs()
    assert re.search(r"\[0\] epoch 0: loss \d+\.\d+, accuracy 0\.\d+, 2 × cpu", job.logs())
    assert Path(job.info()["directory"], "checkpoints", "resnet18.pt").exists()


def test_keras_3_is_refused_before_anything_is_submitted(home: Path, tmp_path: Path) -> None:
    profile("plain", "tensorflow", keras=3)
    cells = (books.TWO_WORKERS, "import keras\nmodel = keras.Sequential()\nmodel.fit([1], [1])")
    with pytest.raises(BadNotebook, match="Keras 3"):
        dt.submit(write(tmp_path / "keras.ipynb", cells), profile="plain", ranks_per_node=2)
    helper = "import keras\ndef train():\n    keras.Sequential().fit([1], [1])\n"
    (tmp_path / "keras_helper.py").write_text(helper)
    cells = (books.TWO_WORKERS, "import keras_helper\nkeras_helper.train()")
    with pytest.raises(BadNotebook, match="Keras 3"):
        dt.submit(write(tmp_path / "keras.ipynb", cells), profile="plain", ranks_per_node=2)
    assert "keras" not in {job.name for job in dt.jobs()}


def test_a_strategy_in_a_file_beside_the_notebook_finds_its_ranks(home: Path, tmp_path: Path) -> None:
    profile("plain", "tensorflow", keras=3)
    (tmp_path / "workers.py").write_text(books.BESIDE)
    cells = ("import workers", "print('rank', rank, 'sum', workers.total())")
    job = dt.submit(write(tmp_path / "beside.ipynb", cells), profile="plain", ranks_per_node=2)
    assert job.wait(240) == "succeeded", job.logs()
    assert said(job, "sum") == {0: "3.0", 1: "3.0"}


# ---- two nodes


def check_on_two(case: str, job: Job) -> None:
    """Look at a job of two nodes; parameter servers have four ranks there, two on each."""
    assert {rank["node"] for rank in job.info()["ranks"]} == {"node1", "node2"}
    if case != "tensorflow-servers":
        check(case, job)
        return
    assert said(job, "serves as") == {1: "worker 0", 2: "worker 1", 3: "ps 0"}
    assert "chief: weight 1.0" in job.logs()


def size_on_two(case: str) -> dict[str, int]:
    """Nodes and ranks on each."""
    return {"nodes": 2, "ranks_per_node": 1 if CASES[case][1] == 2 else 2}


@pytest.fixture
def slurm_hosts() -> Iterator[Hosts]:
    need("sshd", "ssh-keygen", *SLURM)
    with running_hosts(2) as made:
        made.start_slurm()
        with on_login_node(made):
            yield made


@pytest.mark.hosts
@pytest.mark.timeout(900)  # five jobs, one after the other
def test_ranks_on_two_nodes_of_slurm_find_each_other(slurm_hosts: Hosts, tmp_path: Path) -> None:
    work = slurm_hosts.root / "work"
    for case in [case for case, (_, ranks, _) in CASES.items() if ranks is not None]:
        framework = CASES[case][0]
        profile(f"queue-{framework}", framework, f'backend = "slurm"\nworkdir = "{work}"\n')
        check_on_two(case, run(case, f"queue-{framework}", tmp_path, **size_on_two(case)))


@pytest.fixture
def ssh_hosts() -> Iterator[Hosts]:
    need("sshd", "ssh-keygen")
    with running_hosts(2) as made, pytest.MonkeyPatch.context() as patch:
        made.own = "/mnt"  # what one host writes there the other does not see
        made.start_ssh()
        patch.setenv("HOME", str(made.home()))
        yield made


@pytest.mark.hosts
@pytest.mark.parametrize("case", ["tensorflow-sum", "tensorflow-servers", "mindspore"])
def test_ranks_on_hosts_that_share_no_folder_find_each_other(
    case: str, ssh_hosts: Hosts, tmp_path: Path
) -> None:
    framework = CASES[case][0]
    profile(
        "hosts",
        framework,
        'backend = "ssh"\nworkdir = "/mnt/dtl"\n',
        more='[ssh]\nhosts = ["node1", "node2"]\n',
    )
    check_on_two(case, run(case, "hosts", tmp_path, **size_on_two(case)))
