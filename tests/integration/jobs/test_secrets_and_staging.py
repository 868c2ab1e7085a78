"""What a job brings to its nodes besides code: values of secrets, and data on the nodes' own disks."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

import dtrain_lab as dt
from dtrain_lab.api.job import Job
from dtrain_lab.errors import BadNotebook, BadProfile, BadRequest
from tests.books import write
from tests.hosts import command_line
from tests.integration.jobs.local_jobs import of_job
from tests.integration.profiles import write_profile
from tests.waiting import wait_until

pytestmark = [pytest.mark.processes, pytest.mark.timeout(180)]
CANARY = "s3cr3t-canary-$(touch /tmp/never)"
SHOWS = (
    "import os\nprint('its length', len(os.environ['API_KEY']), os.environ['API_KEY'] == open(path).read())"
)
READS = """import dtrain_lab as dt
where = dt.staged(data)
print('read', sum(p.stat().st_size for p in where.rglob('*.bin')), 'below', where)"""


@pytest.fixture(scope="module", autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home that no user has, and slots of its own."""
    folder = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory(prefix="dtl") as runtime:
        patch.setenv("HOME", str(folder))
        patch.setenv("DTRAIN_LAB_RUNTIME_DIR", runtime)
        yield folder


@pytest.fixture
def scratch() -> Iterator[Path]:
    """A disk of the node's own: another file system than that of the tests' data."""
    folder = Path(tempfile.mkdtemp(prefix="dtl", dir="/dev/shm"))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "set"
    (folder / "train").mkdir(parents=True)
    for number in range(4):
        (folder / "train" / f"{number}.bin").write_bytes(os.urandom(50_000))
    return folder


def copies(scratch: Path) -> list[Path]:
    return [copy for below in scratch.glob("dtrain-lab-data-*") for copy in below.iterdir()]


def test_a_secret_reaches_ranks_and_nothing_else(tmp_path: Path, home: Path) -> None:
    (home / "key").write_text(CANARY)
    write_profile("secret", '[environment]\nsecrets = { API_KEY = "~/key" }\n')
    shows = SHOWS.replace("path", repr(str(home / "key")))
    job: Job = dt.submit(write(tmp_path / "shows.ipynb", [shows]), "secret", ranks=1)
    assert job.wait(60) == "succeeded", job.logs()
    assert f"its length {len(CANARY)} True" in job.logs()
    files = [p for p in Path(job.info()["directory"]).rglob("*") if p.is_file()]
    assert {"job.json", "job.sh"} <= {p.name for p in files}
    assert [p for p in files if CANARY.encode() in p.read_bytes()] == []
    assert not Path("/tmp/never").exists()
    with dt.start("secret", ranks=1, name="secret") as cluster:
        assert cluster.run(shows).stdout == {0: f"its length {len(CANARY)} True\n"}
        argv = [" ".join(p.info["cmdline"] or ()) for p in psutil.process_iter(["cmdline"])]
        assert [line for line in argv if CANARY in line and "pytest" not in line] == []


def test_a_secret_that_is_not_there_is_named(tmp_path: Path) -> None:
    write_profile("none", '[environment]\nsecrets = { API_KEY = "~/no key" }\n')
    with pytest.raises(BadProfile, match="API_KEY is not set, because ~/no key can't be read") as error:
        dt.start("none", ranks=1)
    assert "chmod 600" in error.value.hint
    job: Job = dt.submit(write(tmp_path / "none.ipynb", ["1"]), "none", ranks=1)
    assert job.wait(60) == "failed"
    text = job.info()["summary"]["text"]
    assert text.startswith("It did not start: [environment] secrets: API_KEY is not set"), text


def test_data_is_copied_read_and_removed(tmp_path: Path, data: Path, scratch: Path) -> None:
    write_profile("scratch", f'scratch = "{scratch}"\n')
    book = write(tmp_path / "reads.ipynb", [READS.replace("data)", f"{str(data)!r})")])
    job: Job = dt.submit(book, "scratch", nodes=2, ranks_per_node=1, stage=[str(data)])
    assert job.wait(60) == "succeeded", job.logs()
    assert job.logs().count(f"read 200000 below {scratch}/dtrain-lab-data-{os.getuid()}/{job.id}") == 2
    assert copies(scratch) == []


def test_a_job_that_is_cancelled_leaves_no_copy(tmp_path: Path, data: Path, scratch: Path) -> None:
    write_profile("scratch", f'scratch = "{scratch}"\n')
    sleeps = write(tmp_path / "sleeps.ipynb", ["import time\nprint('sleeps', flush=True)\ntime.sleep(600)"])
    job: Job = dt.submit(sleeps, "scratch", ranks=1, stage=[str(data)])
    wait_until(lambda: "sleeps" in job.logs(), 60, "its first line")
    assert [c.name for c in copies(scratch)] == [f"{job.id}.0"]
    job.cancel()
    assert job.wait(30) == "cancelled"
    wait_until(lambda: not of_job(job.id), 30, "its end")
    assert copies(scratch) == []


def test_a_copy_whose_keeper_was_killed_goes_with_the_next(tmp_path: Path, data: Path, scratch: Path) -> None:
    write_profile("scratch", f'scratch = "{scratch}"\n')
    book = write(tmp_path / "one.ipynb", ["import time\nprint('begins', flush=True)\ntime.sleep(600)"])
    job: Job = dt.submit(book, "scratch", ranks=1, stage=[str(data)])
    wait_until(lambda: "begins" in job.logs(), 60, "its first line")
    for process in of_job(job.id):
        if "stage" in command_line(process):
            process.kill()
    job.cancel()
    job.wait(30)
    assert [c.name for c in copies(scratch)] == [f"{job.id}.0"]
    after: Job = dt.submit(write(tmp_path / "two.ipynb", ["1"]), "scratch", ranks=1, stage=[str(data)])
    assert after.wait(60) == "succeeded", after.logs()
    assert copies(scratch) == []


def test_what_can_not_be_copied_is_told_before_and_on_the_node(
    tmp_path: Path, data: Path, scratch: Path
) -> None:
    book = write(tmp_path / "b.ipynb", ["1"])
    with pytest.raises(BadRequest, match="can't be copied to the nodes"):
        dt.submit(book, ranks=1, stage=["set"])
    with pytest.raises(BadNotebook, match="/no/such, which is to be copied to the nodes, does not exist"):
        dt.submit(book, ranks=1, stage=["/no/such"])
    write_profile("scratch", f'scratch = "{scratch}/no/such"\n')
    job: Job = dt.submit(book, "scratch", ranks=1, stage=[str(data)])
    assert job.wait(60) == "failed"
    info = job.info()
    assert info["summary"]["text"].startswith(f"It did not start: {scratch}/no/such/dtrain-lab-data-"), info
    assert "No such file or directory" in info["summary"]["text"]


def count(mount: Path, options: str) -> None:
    """Note who has how much there."""
    os.sync()
    subprocess.run(["quotacheck", options, mount], check=True, capture_output=True)


@pytest.fixture
def limited(tmp_path: Path) -> Iterator[Path]:
    """A file system with a quota of 20 MiB and 500 files; whether the kernel enforces it does not matter."""
    if os.getuid() != 0 or not all(map(shutil.which, ("setquota", "mkfs.ext4"))):
        pytest.skip("NO QUOTA: needs root, and the package quota; see tests/system_packages.sh")
    image, mount = tmp_path / "image", tmp_path / "limited"
    mount.mkdir()
    with image.open("wb") as file:
        file.truncate(64 << 20)
    subprocess.run(["mkfs.ext4", "-q", "-F", image], check=True)
    if subprocess.run(["mount", "-o", "loop,usrquota", image, mount], check=False).returncode:
        pytest.skip("NO QUOTA: this machine mounts no image of a file system")
    try:
        count(mount, "-ucm")
        subprocess.run(["setquota", "-u", "root", "0", "20480", "0", "500", mount], check=True)
        yield mount
    finally:
        subprocess.run(["umount", "-l", mount], check=True)


def test_the_plan_says_what_disk_and_quota_leave(tmp_path: Path, limited: Path) -> None:
    write_profile("limited", f'workdir = "{limited}/work"\n')
    book = str(write(tmp_path / "b.ipynb", ["1"]))

    def planned() -> Any:
        words = ["dtrain-lab", "submit", book, "--profile", "limited", "--ranks", "1", "--dry-run"]
        done = subprocess.run([*words, "--json"], capture_output=True, text=True, check=False)
        said = subprocess.run(words, capture_output=True, text=True, check=False).stdout
        return json.loads(done.stdout), " ".join(said.split())

    plan, said = planned()
    room = plan["room"]
    assert room["folder"] == f"{limited}/work/jobs"
    assert 0 < room["quota_bytes"] <= 20 << 20 < room["free_bytes"] < 64 << 20
    assert 400 < room["quota_files"] <= 500
    assert "your quota leaves 0.0 GiB; your quota leaves 49" in said
    (found,) = [f for f in plan["findings"] if f["code"] == "little_room"]
    assert (found["severity"], found["field"]) == ("warning", "profile")
    assert found["message"].startswith("Your quota leaves ")
    (limited / "large").write_bytes(os.urandom(25 << 20))
    count(limited, "-um")
    (found,) = [f for f in planned()[0]["findings"] if f["code"] == "little_room"]
    assert (found["severity"], found["message"][:24]) == ("problem", "Your quota leaves 0 MiB ")
