"""Jobs of this machine: from terminal, Python and REST; faults, queue, crashes of whoever submits."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest
from jupyter_core.paths import jupyter_data_dir

import dtrain_lab as dt
from dtrain_lab.api.job import Job
from dtrain_lab.api.portal import Portal
from dtrain_lab.backends.base import Backend
from dtrain_lab.backends.local import backend as local
from dtrain_lab.errors import BadNotebook, BadRequest, BadSize, Conflict, NotFound, Unreachable
from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.jobs import judgement
from dtrain_lab.machine.facts import local_facts
from dtrain_lab.placement.capacity import slot_count
from dtrain_lab.services.index.store import JobIndex
from dtrain_lab.services.jobs.jobs import Jobs
from dtrain_lab.services.plans import folder_files
from dtrain_lab.wire.jobs.job import JobRecord
from tests.books import FAILING_LINE, shadow, training, write
from tests.faults import note
from tests.hosts import command_line
from tests.integration.jobs.local_jobs import of_job, terminal
from tests.integration.profiles import write_profile
from tests.waiting import wait_until

pytestmark = [pytest.mark.processes, pytest.mark.timeout(180)]


@pytest.fixture(scope="module", autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Jobs lie in the user's home: one that no user has."""
    folder = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(folder))
        # slots of its own: what another run has left must not keep these jobs waiting
        with tempfile.TemporaryDirectory(prefix="dtl") as runtime:
            patch.setenv("DTRAIN_LAB_RUNTIME_DIR", runtime)
            yield folder


@pytest.fixture(autouse=True)
def no_job_left(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A test that fails leaves no job behind that would hold slots; its patches hold until then."""
    yield
    left = [job for job in dt.jobs() if not job.ended]
    for job in left:
        job.cancel()
    for job in left:
        job.wait(60)


def named(job: str, module: str) -> list[psutil.Process]:
    return [p for p in of_job(job) if module in " ".join(command_line(p))]


def account(job: Job) -> str:
    """All that is known of a job that ended otherwise than it should: its log may be empty."""
    launcher = Path(job.info()["directory"]) / "launcher.log"
    said = launcher.read_text(errors="replace") if launcher.exists() else "no launcher.log"
    return f"{job.info()['summary']['text']}\nlog:\n{job.logs()}\nlauncher.log:\n{said}"


LEAVES = """import atexit, ctypes, threading, time
atexit.register(print, 'said at the exit')
threading.Thread(target=lambda: (time.sleep(0.5), print('a thread ends'))).start()
written = ctypes.CDLL(None).puts(b'written by C')"""


def test_a_rank_ends_as_python_does(tmp_path: Path) -> None:
    job: Job = dt.submit(write(tmp_path / "leaves.ipynb", [LEAVES]), ranks=1)
    assert job.wait(60) == "succeeded", job.logs()
    last = [line.removeprefix("[0] ") for line in job.logs().splitlines()[-3:]]
    assert sorted(last) == ["a thread ends", "said at the exit", "written by C"]
    info = job.info()
    assert json.loads(json.dumps(info, allow_nan=False)) == info, "as REST and --json have it"


HABITS = [
    "import weakref, torch, torch.distributed as dist, torch.multiprocessing as mp\n"
    "def sums(index, add):\n"
    "    dist.init_process_group('gloo', rank=index, world_size=2)\n"
    "    t = torch.tensor([float(add + index)])\n"
    "    dist.all_reduce(t)\n"
    "    print('sum', t.item())\n"
    "    known = weakref.ref(dist.group.WORLD)\n"
    "    dist.destroy_process_group()\n"
    "    print('kept while its threads may still work', known() is not None)\n"
    "mp.spawn(sums, args=(1,), nprocs=2)\n"
    "processes = [mp.Process(target=sums, args=(r, 2)) for r in range(2)]\n"
    "[p.start() for p in processes]; [p.join() for p in processes]",
    "import inspect\n"
    "from torch.utils.data import DataLoader, Dataset\n"
    "class Squares(Dataset):\n"
    "    def __len__(self): return 4\n"
    "    def __getitem__(self, i): return i * i\n"
    "print(inspect.getsource(Squares).split('(')[0])\n"
    "if rank == 1:\n"
    "    print(*DataLoader(Squares(), batch_size=4, num_workers=1, multiprocessing_context='spawn'))",
    "%%writefile program.py\nimport sys\nmade = sys.argv[1:]",
    "%run program.py --lr 0.5\nprint(made)",
    "import torch.distributed.rpc as rpc\n"
    "for _ in range(2):\n"
    "    rpc.init_rpc(f'w{rank}', rank=rank, world_size=2)\n"
    "    if rank == 0: print('rpc', rpc.rpc_sync('w1', max, args=(3, 4)))\n"
    "    rpc.shutdown()",
    "import gc\n"
    "print('the collector looks at torch', gc.get_freeze_count() < len(gc.get_objects()))\n"
    "torch.manual_seed(rank)\n"
    "net = torch.nn.Linear(3, 3)\n"
    "optimizer = torch.optim.SGD(net.parameters(), lr=0.1)\n"
    "for _ in range(30):\n"
    "    net(torch.randn(4, 3)).sum().backward(); optimizer.step()",
]


def test_habits_of_notebooks_hold_in_a_job(tmp_path: Path) -> None:
    job: Job = dt.submit(write(tmp_path / "habits.ipynb", HABITS), ranks=2)
    assert job.wait(120) == "succeeded", job.logs()
    said = job.logs()
    for part in (
        "[0] sum 3.0", "[1] sum 3.0", "[0] sum 5.0", "[1] sum 5.0", "[1] class Squares",
        "[1] tensor([0, 1, 4, 9])", "['--lr', '0.5']",
        "2 ranks train without exchanging gradients; after 30 steps their parameters differ (weight, bias)",
    ):  # fmt: skip
        assert part in said, said
    assert said.count("[0] rpc 4\n") == 2, said
    assert said.count("the collector looks at torch False\n") == 2, said
    assert said.count("[1] kept while its threads may still work True\n") == 2, said


def test_a_job_is_planned_followed_and_exported_from_the_terminal(tmp_path: Path) -> None:
    """Each command is a process of its own: the job belongs to none of them."""
    book = str(training(shadow(tmp_path) / "train.ipynb", plain=True))
    size = ["--nodes", "2", "--ranks-per-node", "1"]
    plan = terminal("submit", book, *size, "--param", "steps=8", "--dry-run")
    assert plan["size"] == {"nodes": 2, "ranks_per_node": 1}
    paths = {f["path"] for f in plan["files"]}
    assert paths >= {"code/dtrain_main.py", "code/train.ipynb", "job.sh", "job.json"}
    assert "steps = 8" in plan["files"][0]["text"]

    job = terminal("submit", book, *size, "--name", "t", "--param", "steps=9", "--param", "fails=7")
    assert job["state"] in ("planned", "queued", "starting")
    log = subprocess.run(
        ["dtrain-lab", "job", "logs", "-f", job["id"]], capture_output=True, text=True, check=True
    )
    assert "[1] ValueError: the data ended early" in log.stdout
    shown = terminal("job", "show", job["id"])
    assert (shown["state"], shown["exit_code"], shown["failed_rank"]) == ("failed", 1, 1)
    error = shown["error"]
    assert (error["cell"], error["cell_id"] != "", error["line"]) == ("[4]", True, FAILING_LINE)
    assert shown["checkpoint_step"] == 5
    only = terminal("job", "logs", job["id"], "--rank", "1")
    assert {line["rank"] for line in only} == {1}

    exported = terminal("job", "export", job["id"], str(tmp_path / "t.tar.gz"))
    with tarfile.open(exported["file"]) as tar:
        names = set(tar.getnames())
    assert {"./job.json", "./executed.ipynb", "./log.0", "./code/dtrain_main.py", "./packages.txt"} <= names
    assert not [name for name in names if "checkpoints" in name]


def test_jobs_go_on_are_copied_cancelled_and_deleted_from_the_terminal(tmp_path: Path) -> None:
    """The jobs are small: under load a dozen commands take their time."""
    book = training(tmp_path / "train.ipynb", plain=True)
    first: Job = dt.submit(book, ranks=1, name="first", parameters={"steps": 9, "fails": 7})
    assert first.wait(60) == "failed"
    before = {job.id for job in dt.jobs()} - {first.id}
    folder = Path(first.info()["directory"]).parent

    again = terminal("job", "resume", "first")
    assert again["parent"] == first.id
    Portal.get().call(Portal.get().jobs.wait(again["id"]))
    sleep = str(
        write(tmp_path / "sleep.ipynb", [("seconds = 1", "parameters"), "import time", "time.sleep(seconds)"])
    )
    long = terminal("submit", sleep, "--ranks", "1", "--name", "long", "--param", "seconds=600")
    copy = terminal("job", "duplicate", long["id"])
    assert copy["parent"] is None
    for one in (long, copy):
        assert terminal("job", "cancel", one["id"])["state"] == "cancelled"
    made = (copy["id"], long["id"], again["id"], first.id)
    assert {job["id"] for job in terminal("job", "list")} == before | set(made)

    refused = json.loads(terminal("job", "delete", first.id, "--yes", code=4))
    assert refused["code"] == "checkpoints_used"
    refused = json.loads(terminal("job", "delete", copy["id"], code=2))
    assert refused["code"] == "not_confirmed"
    for one in made:  # what goes on from a job has its checkpoints in that one's folder
        terminal("job", "delete", one, "--yes")
        assert not (folder / one).exists()
    assert {job.id for job in dt.jobs()} == before
    assert "There is no job" in terminal("job", "show", "first", code=3)


SHORT = """from torch.nn.parallel import DistributedDataParallel as DDP
import os, time, torch
model = DDP(torch.nn.Linear(16, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(60):
    model(torch.randn(8, 16)).sum().backward()
    optimizer.step(); optimizer.zero_grad()
    time.sleep(0.02)
os._exit(0)"""


def test_figures_of_a_job_that_has_ended_are_of_its_last_steps(tmp_path: Path) -> None:
    """Ranks are sampled each second, and end between two samples."""
    job: Job = dt.submit(write(tmp_path / "short.ipynb", [SHORT]), ranks=2)
    assert job.wait(60) == "succeeded", job.logs()
    shown = job.info()
    assert [rank["step"] for rank in shown["ranks"]] == [60, 60]
    assert [rank["memory_bytes"] is not None for rank in shown["ranks"]] == [True, True]
    assert 0 < shown["metrics"]["samples_per_s"] < 16 / 0.02


AVERAGED = """import dtrain_lab as dt
for step in range(3):
    dt.log(step, average=True, level=float(step + rank))"""


@pytest.mark.parametrize(
    ("imports", "level", "told"),
    [("import torch\n", 2.5, False), ("", 2.0, True)],
    ids=["a group", "no torch, so no group"],
)
def test_means_over_its_ranks_are_its_values(tmp_path: Path, imports: str, level: float, told: bool) -> None:
    job: Job = dt.submit(write(tmp_path / "averaged.ipynb", [imports + AVERAGED]), ranks=2)
    assert job.wait(60) == "succeeded", account(job)
    assert job.info()["metrics"]["values"] == {"level": level, "step": 2}
    logged = [(call["step"], call["values"]["level"]) for call in job.metrics()["logged"]]
    assert logged == [(0, level - 2), (1, level - 1), (2, level)], (
        "each at its own step, also within a second"
    )
    assert "did not log" not in job.logs()
    assert ("without a process group there is no mean" in job.logs()) is told


def test_what_it_shows_is_kept_and_the_notebook_is_filled(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("def double(x):\n    return 2 * x\n")
    (tmp_path / "big.bin").write_bytes(b"x" * (2 << 20))
    cells = [
        "import matplotlib.pyplot as plt, os, warnings\nfrom helper import double",
        ("n = 1", "parameters"),
        "plt.plot([1, 2]); plt.show()\nprint(double(n), os.path.getsize('big.bin'))",
        ("raise ValueError('not in a job')", "skip-in-job"),
        "display({'a': rank})\nos.system('echo from a child')\nwarnings.warn('careful')",
        "from IPython.display import HTML\nHTML('<b>bold</b>')",
    ]
    job: Job = dt.submit(write(tmp_path / "show.ipynb", cells), ranks=2, parameters={"n": 21})
    assert job.wait(60) == "succeeded", job.logs()
    log = job.logs()
    for rank in range(2):
        assert f"[{rank}] 42 {2 << 20}" in log
        assert f"[{rank}] from a child" in log
        assert f"[{rank}] {{'a': {rank}}}" in log
    assert "cell [5], line 3: UserWarning: careful" in log
    book = json.loads((Path(job.info()["directory"]) / "executed.ipynb").read_text())
    code = book["cells"]
    assert [c["execution_count"] for c in code] == [1, 2, None, 3, None, 5, 6]
    assert code[2]["metadata"]["tags"] == ["injected-parameters"]
    assert code[2]["source"].startswith("# Parameters of this job, set when it was submitted\n")
    assert "image/png" in code[3]["outputs"][0]["data"]
    assert code[3]["outputs"][1]["text"].endswith(f"42 {2 << 20}\n")
    assert code[4]["outputs"] == []
    assert code[6]["outputs"][0]["data"]["text/html"] == "<b>bold</b>"


@pytest.mark.parametrize(
    ("ends", "kind", "message"),
    [
        ("os.kill(os.getpid(), 9)", "Killed", "SIGKILL"),
        ("os._exit(7)", "Ended", "code 7"),
        ("import ctypes; ctypes.string_at(0)", "Killed", "SIGSEGV"),
        ("raise SystemExit(3)", "SystemExit", "3"),
        ("class E(Exception):\n        def __str__(self): 1/0\n    raise E", "E", "str() failed"),
    ],
)
def test_a_rank_that_ends_is_named_and_takes_the_others_along(
    tmp_path: Path, ends: str, kind: str, message: str
) -> None:
    code = f"import os, time\nif rank == 1:\n    print('last words', flush=True)\n    {ends}\ntime.sleep(600)"
    job: Job = dt.submit(write(tmp_path / "ends.ipynb", [code]), nodes=2, ranks_per_node=1)
    wait_until(lambda: "[1] last words" in job.logs(), 60, "its last words")
    began = time.monotonic()
    wait_until(lambda: not of_job(job.id), 30, "its end")
    took = time.monotonic() - began
    assert job.wait(60) == "failed"
    error = job.info()["error"]
    assert (error["rank"], error["type"]) == (1, kind)
    assert message in error["message"]
    note(
        f"job: a rank ends with `{ends.split(chr(10))[-1].strip()}`",
        "the job, as soon as the process ends",
        job.info()["summary"]["text"],
        "log, checkpoints, executed notebook",
        "last output shown → all processes ended",
        took,
    )


def test_its_head_may_die_and_its_agent_takes_the_ranks_along(tmp_path: Path) -> None:
    code = "import time\nfor i in range(60):\n    print(i, flush=True)\n    time.sleep(0.1)"
    job: Job = dt.submit(write(tmp_path / "head.ipynb", [code]), ranks=1)
    wait_until(lambda: "[0] 3" in job.logs(), 30, "its first lines")
    wait_until(Path(job.info()["directory"], job_files.ENDPOINTS).exists, 30, "its head's address")
    for process in named(job.id, "dtrain_lab.head"):
        process.kill()
        process.wait()
    began = time.monotonic()
    with pytest.raises(Unreachable, match="the job's head was killed"):
        job.stacks()
    assert time.monotonic() - began < 5  # it is not waited for
    shown = job.info()
    assert (
        shown["summary"]["text"] == "Running on 1 rank. Nothing watches the ranks: the job's head was killed."
    )
    assert "stacks" not in shown["may"]
    assert job.wait(60) == "succeeded"
    assert "[0] 59" in job.logs()

    other: Job = dt.submit(write(tmp_path / "agent.ipynb", ["import time\ntime.sleep(600)"]), ranks=1)
    wait_until(lambda: named(other.id, "dtrain_lab.rank"), 30, "its rank")
    for process in named(other.id, "ranks"):
        process.kill()
    assert other.wait(60) == "failed"
    wait_until(lambda: not of_job(other.id), 10, "its end")
    assert other.info()["exit_code"] == 137


def test_retry_and_notify(tmp_path: Path) -> None:
    told = tmp_path / "told"
    code = "import os\nturn = os.environ['DTRAIN_ATTEMPT']\nprint('attempt', turn)\nassert turn == '1'"
    request = ["submit", str(write(tmp_path / "again.ipynb", [code])), "--ranks", "2", "--retries", "2"]
    made = terminal(*request, "--notify", f"touch '{told}'")
    portal = Portal.get()
    job = portal.call(portal.jobs.wait(made["id"]))
    assert (job.state, job.attempt) == ("succeeded", 1)
    log = Job(portal, job).logs()
    assert log.count("attempt 0") == 2
    assert log.count("attempt 1") == 2
    assert told.exists()
    wait_until(
        lambda: (Job(portal, job).info()["end_command"] or {}).get("exit_code") == 0, 30, "its command's end"
    )


def test_a_command_at_a_jobs_end_that_fails_is_told(tmp_path: Path) -> None:
    go = tmp_path / "go"
    command = f"while [ ! -e '{go}' ]; do sleep 0.05; done; echo told; exit 3"
    job: Job = dt.submit(write(tmp_path / "ends.ipynb", ["print('ran')"]), ranks=1, notify=command)

    def ended() -> Any:
        return (job.info()["end_command"] or {}).get("exit_code")

    assert job.wait(60) == "succeeded"
    assert job.info()["end_command"] == {"command": command, "exit_code": None, "output": ""}, "it runs"
    go.touch()
    wait_until(lambda: ended() is not None, 30, "its command's end")
    assert job.info()["end_command"] == {"command": command, "exit_code": 3, "output": "told"}
    assert job.state == "succeeded"


def test_a_gang_waits_for_its_slots_and_says_for_whom(tmp_path: Path) -> None:
    room = slot_count(local_facts())
    sleep = write(tmp_path / "sleep.ipynb", ["import time\ntime.sleep(600)"])
    first: Job = dt.submit(sleep, ranks=room - 2, name="first")
    wait_until(lambda: first.state == "running", 60, "the first job")
    second: Job = dt.submit(sleep, ranks=4, name="second")
    third: Job = dt.submit(write(tmp_path / "quick.ipynb", ["print('ran')"]), ranks=1, name="third")
    wait_until(lambda: second.info()["reason"] and third.info()["reason"], 30, "their reasons")
    reason = second.info()["reason"]
    assert reason["message"] == f"Waits for 4 of {room} slots; 2 are free: job first holds {room - 2}."
    assert (second.state, third.state) == ("queued", "queued"), "nobody overtakes"
    assert third.info()["reason"]["ahead"] == 1
    slots = terminal("slots")["nodes"][0]
    assert (
        sum(s["held_by"] is not None and s["held_by"]["name"] == "first" for s in slots["slots"]) == room - 2
    )
    assert [w["name"] for w in slots["waiting"]] == ["second", "third"]
    second.cancel()
    assert second.wait(30) == "cancelled"
    assert third.wait(60) == "succeeded", account(third)
    first.cancel()
    assert first.wait(30) == "cancelled", account(first)
    wait_until(lambda: not of_job(first.id), 15, "its end")
    with pytest.raises(BadSize):
        dt.submit(sleep, ranks=10_000)


def test_after_another_job(tmp_path: Path) -> None:
    go = tmp_path / "go"
    waits = f"import os, time\nwhile not os.path.exists({str(go)!r}): time.sleep(0.05)"
    # of another folder; and it saves where it is told to, without asking whether that is there
    write_profile("apart", f'backend = "local"\nworkdir = "{tmp_path}/apart"\n')
    waits += "\nopen(os.environ['DTRAIN_CHECKPOINT_DIR'] + '/saved', 'w').close()"
    good: Job = dt.submit(write(tmp_path / "a.ipynb", [waits]), "apart", ranks=1)
    then: Job = dt.submit(write(tmp_path / "b.ipynb", ["print('then')"]), ranks=1, after=good)
    wait_until(lambda: then.info()["reason"] is not None, 30, "its reason")
    assert then.info()["reason"]["message"] == f'Waits for the job "{good.name}".'
    go.touch()
    assert then.wait(60) == "succeeded"
    assert good.info()["ended_at"] <= then.info()["started_at"]
    assert (Path(good.info()["directory"]) / "checkpoints" / "saved").exists()
    bad: Job = dt.submit(write(tmp_path / "c.ipynb", ["raise ValueError"]), ranks=1)
    never: Job = dt.submit(write(tmp_path / "d.ipynb", ["print('never')"]), ranks=1, after=bad)
    assert never.wait(60) == "failed"
    assert '" had to succeed first, but it has ended without success.' in never.info()["summary"]["text"]
    assert never.logs() == ""
    with pytest.raises(Conflict, match="would never start"):
        dt.submit(write(tmp_path / "e.ipynb", ["print('never')"]), ranks=1, after=bad)


def test_what_the_check_warns_of_is_told_where_it_is_submitted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    book = write(tmp_path / "apart.ipynb", [ALONE])
    sleep = write(tmp_path / "sleep.ipynb", ["import time\ntime.sleep(600)"])
    before: Job = dt.submit(sleep, ranks=1)  # so that none of the others begins
    dt.submit(book, ranks=2, after=before)
    assert SEPARATE in capsys.readouterr().err
    words = ["dtrain-lab", "submit", str(book), "--ranks", "2", "--after", before.id, "--json"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert "warning: " in done.stderr
    assert SEPARATE in done.stderr
    two = json.loads(done.stdout)["id"]
    done = subprocess.run(["dtrain-lab", "job", "duplicate", two], capture_output=True, text=True, check=True)
    assert SEPARATE in done.stderr
    for job in dt.jobs():
        if job.name in ("apart", "sleep"):
            job.cancel()


def test_a_cancel_during_the_hand_over_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one who submits it has not written the handle yet, when another process cancels it."""
    original = local.LocalBackend.submit

    async def submit(self: Any, record: Any, files: Any) -> Any:
        handle = await original(self, record, files)
        words = ["dtrain-lab", "job", "cancel", record.id, "--no-wait"]
        await asyncio.to_thread(subprocess.run, words, check=True, capture_output=True)
        return handle

    monkeypatch.setattr(local.LocalBackend, "submit", submit)
    began = time.monotonic()
    job: Job = dt.submit(write(tmp_path / "long.ipynb", ["import time\ntime.sleep(600)"]), ranks=1)
    assert job.wait(30) == "cancelled"
    wait_until(lambda: not of_job(job.id), 20, "nothing of it runs")
    took = time.monotonic() - began
    fault = "job: you cancel it while it is still being submitted"
    said = job.snapshot().summary.text
    note(fault, "the submitting process", said, "–", "submitted → no process left", took)


@pytest.mark.parametrize("how", ["damaged", "gone"])
def test_a_lost_index_is_made_again_by_itself(how: str, tmp_path: Path) -> None:
    job: Job = dt.submit(write(tmp_path / f"{how}.ipynb", ["print('kept')"]), ranks=1)
    assert job.wait(60) == "succeeded"
    path = Path(jupyter_data_dir()) / "dtrain-lab" / "jobs.sqlite"
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    if how == "damaged":
        path.write_bytes(b"no database" * 1000)
    began = time.monotonic()
    assert job.id in {one.id for one in dt.jobs()}
    took = time.monotonic() - began
    found = terminal("job", "list")
    assert [(j["state"], j["name"]) for j in found if j["id"] == job.id] == [("succeeded", how)]
    fault = f"job: the index of jobs is {how}"
    aside = "set aside and " if how == "damaged" else ""
    kept = f"all jobs: the index is {aside}rebuilt from their folders"
    note(fault, "the next reader of the index", "–", kept, "read → all jobs listed", took)


SAVES = """import os, signal
import dtrain_lab as dt
last = dt.latest_checkpoint()
print('goes on after', last.step if last else 0, flush=True)
for step in range(last.step + 1 if last else 1, 4):
    with dt.checkpoint(step) as folder:
        (folder / f'part-{rank}').write_text('half')
        if step == 3 and rank == 1 and not last:
            os.kill(os.getpid(), signal.SIGKILL)
        (folder / f'part-{rank}').write_text('whole')"""


def test_a_checkpoint_that_a_kill_cut_off_is_not_resumed_from(tmp_path: Path) -> None:
    job: Job = dt.submit(write(tmp_path / "saves.ipynb", [SAVES]), ranks=2)
    assert job.wait(60) == "failed"
    assert job.info()["checkpoint_step"] == 2
    again = job.resume()
    assert again.wait(60) == "succeeded", again.logs()
    assert again.logs().count("goes on after 2") == 2
    assert again.info()["checkpoint_step"] == 3
    listed = {each["id"]: each["checkpoint_step"] for each in terminal("job", "list")}
    assert listed[job.id] == 3, "it would be resumed from there, too"
    folder = Path(job.info()["directory"]) / "checkpoints" / "step-3"
    assert [(folder / f"part-{rank}").read_text() for rank in range(2)] == ["whole", "whole"]
    with pytest.raises(Conflict, match="contains checkpoints of saves"):
        job.delete()
    info = again.info()
    note(
        "job: a rank is killed in the middle of a checkpoint (`with dt.checkpoint(step)`)",
        "the resumed job",
        job.info()["summary"]["text"],
        "the previous checkpoint; the incomplete one is written again",
        "resumed → succeeded",
        info["ended_at"] - info["created_at"],
    )
    again.delete()
    job.delete()


STARTED_OVER = """import os, time
import dtrain_lab as dt
last = dt.latest_checkpoint()
print('goes on after', last.step if last else 0, flush=True)
if not os.path.exists({go!r}):
    raise KeyError('lr')
if not last:
    with dt.checkpoint(1) as folder:
        (folder / 'part').write_text('whole')
    while not os.path.exists({end!r}):
        time.sleep(0.05)
    raise KeyError('later')"""


def test_a_job_that_was_started_over_keeps_its_checkpoints_when_the_first_is_deleted(tmp_path: Path) -> None:
    go, end = tmp_path / "go", tmp_path / "end"
    cell = STARTED_OVER.format(go=str(go), end=str(end))
    job: Job = dt.submit(write(tmp_path / "fails.ipynb", [cell]), ranks=1)
    assert job.wait(60) == "failed"
    go.touch()
    again = job.resume()
    folder, own = (Path(one.info()["directory"]) for one in (job, again))
    wait_until((own / "checkpoints" / "step-1" / "complete").exists, 60, "its checkpoint")
    job.delete()  # while the second one runs
    assert not folder.exists()
    end.touch()
    assert again.wait(60) == "failed"
    assert again.info()["checkpoint_step"] == 1
    third = again.resume()
    assert third.wait(60) == "succeeded", third.logs()
    assert "goes on after 1" in third.logs()
    assert not folder.exists()
    third.delete()
    again.delete()
    assert not own.exists()


def test_a_job_whose_processes_vanish_is_lost_until_its_end_is_found(tmp_path: Path) -> None:
    """Its processes are gone; the file with its end may come late, as over a network file system."""
    job: Job = dt.submit(write(tmp_path / "gone.ipynb", ["import time\ntime.sleep(600)"]), ranks=1)
    wait_until(lambda: job.info()["ranks"][0]["pid"] is not None, 60, "it runs")
    began = time.monotonic()
    for process in of_job(job.id):
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    assert job.wait(30) == "lost"
    took = time.monotonic() - began
    fault = "job: all of its processes vanish without a report (the machine restarts)"
    who = "the next query, 2 s after the job's last sign of life (20 s on a network file system)"
    said = job.snapshot().summary.text
    note(fault, who, said, "log, checkpoints; Resume continues from them", "reported", took)
    end = Path(job.info()["directory"]) / "exit"
    end.write_text(f'{{"code": 0, "at": {time.time()}}}')
    assert job.state == "succeeded"


ALONE = """import torch
model = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()"""
SEPARATE = "would train 2 separate models"


def crash(portal: Portal, point: str, book: Path) -> str:
    """A submission whose process dies at a point; the id of its job."""
    script = f"""
import asyncio, os, sys
from dtrain_lab.backends.local import backend as local, jobs as jobs_here
from dtrain_lab.wire.jobs.job import JobRequest
from dtrain_lab.services.jobs.jobs import Jobs
from pathlib import Path
jobs = Jobs()
def die(*_, **__):
    os._exit(9)
async def die_async(*_, **__):
    os._exit(9)
original = local.LocalBackend.submit
async def submit(self, record, files):
    print(record.id, flush=True)
    if {point!r} == "before":
        die()
    if {point!r} == "files":
        jobs_here.start = die
    handle = await original(self, record, files)
    if {point!r} == "started":
        die()
    return handle
local.LocalBackend.submit = submit
if {point!r} == "recorded":
    jobs._records.change = die_async
asyncio.run(jobs.submit(JobRequest({str(book)!r}, ranks=1, python=sys.executable), Path({str(book)!r})))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 9, done.stderr
    return done.stdout.strip()


POINTS = {
    "before": "before its files are written",
    "files": "after its files are written",
    "started": "after its processes start",
    "recorded": "before the index has its processes",
}


@pytest.mark.parametrize("point", POINTS)
def test_a_crash_at_any_point_of_a_submission(
    tmp_path: Path, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is lost, and nothing runs twice."""
    portal = Portal.get()
    book = write(tmp_path / "once.ipynb", ["import time\ntime.sleep(1)\nprint('once')"])
    identity = crash(portal, point, book)
    began = time.monotonic()
    monkeypatch.setattr(judgement, "FOUND_WITHIN_S", 1.0)
    portal._jobs = Jobs()
    job = next(j for j in dt.jobs() if j.id == identity)
    if point in ("started", "recorded"):
        assert job.wait(60) == "succeeded"
        took = time.monotonic() - began
        assert job.logs() == "[0] once\n"
    else:
        assert job.wait(60) == "lost"
        took = time.monotonic() - began
        assert not of_job(identity)
        again = job.resume() if point == "files" else None
        if again is not None:
            assert again.wait(60) == "succeeded"
    what = "the job succeeds (its cell takes 1 s)" if point in ("started", "recorded") else "shown as lost"
    who, kept = (
        "the next listing of the jobs",
        "the job, which runs once" if point in ("started", "recorded") else "its record",
    )
    said = job.snapshot().summary.text
    note(f"job: the submitting process dies {POINTS[point]}", who, said, kept, what, took)


def test_the_index_is_made_again_from_the_folders(tmp_path: Path, home: Path) -> None:
    job: Job = dt.submit(write(tmp_path / "kept.ipynb", ["print('kept')"]), ranks=1)
    assert job.wait(60) == "succeeded"
    portal = Portal.get()
    portal.call(portal.jobs._index.remove(job.id))
    with pytest.raises(NotFound):
        portal.call(portal.jobs.job(job.id))
    assert portal.call(portal.jobs.rebuild()).added > 0
    assert portal.call(portal.jobs.rebuild(home / ".dtrain-lab" / "jobs")).added == 0
    found = portal.call(portal.jobs.job(job.id))
    assert (found.state, found.name) == ("succeeded", "kept")


@pytest.mark.parametrize(
    "hostile", ["$(touch HIT)", "a'; touch HIT; '", 'a"b`touch HIT`', "../../etc", "a\nb"]
)
def test_hostile_values_reach_no_shell(tmp_path: Path, hostile: str) -> None:
    code = [("value = ''", "parameters"), "print(repr(value))"]
    folder = tmp_path / "it's $(touch HIT) here"
    job: Job = dt.submit(
        write(folder / "a b $(touch HIT).ipynb", code), ranks=1, parameters={"value": hostile}
    )
    assert job.wait(60) == "succeeded", job.logs()
    assert job.logs() == f"[0] {hostile!r}\n"
    assert not list(Path(job.info()["directory"]).rglob("HIT"))
    assert not list(tmp_path.rglob("HIT"))
    with pytest.raises(BadRequest, match="can't be a name"):
        dt.submit(folder / "a b $(touch HIT).ipynb", ranks=1, name=hostile)


def test_bad_input_is_told_and_leaves_nothing(tmp_path: Path, home: Path) -> None:
    good = write(tmp_path / "good.ipynb", ["import time\ntime.sleep(600)"])
    before = len(dt.jobs())
    folders = sorted((home / ".dtrain-lab" / "jobs").glob("*"))
    cases: list[tuple[Callable[[], Any], type[Exception], str]] = [
        (lambda: dt.submit(tmp_path / "none.ipynb"), NotFound, "There is no notebook"),
        (lambda: dt.submit(tmp_path), BadNotebook, "can't be read"),
        (lambda: dt.submit(write(tmp_path / "e.ipynb", [""])), BadNotebook, "no code"),
        (
            lambda: dt.submit(write(tmp_path / "m.ipynb", ["x = 1", "%foo"])),
            BadNotebook,
            "Cell \\[2\\], line 1",
        ),
        (
            lambda: dt.submit(write(tmp_path / "u.ipynb", ["print(nothing)"])),
            BadNotebook,
            "nothing is not defined",
        ),
        (lambda: dt.submit(good, "nowhere"), NotFound, "no profile"),
        (lambda: dt.submit(good, ranks=0), BadSize, "at least one rank"),
        (lambda: dt.submit(good, ranks=1, launcher="srun"), BadRequest, "for schedulers"),
        (lambda: dt.submit(good, ranks=1, parameters={"a b": 1}), BadRequest, "not a Python name"),
        (
            lambda: dt.submit(
                write(tmp_path / "p.ipynb", [("lr = 0.1", "parameters")]), parameters={"lr": "abc"}
            ),
            BadNotebook,
            'lr is set to the string "abc"; the notebook has 0.1. Give a number, such as 0.1.',
        ),
        (lambda: dt.submit(good, ranks=1, after="no such"), NotFound, "no job"),
    ]
    for act, kind, text in cases:
        with pytest.raises(kind, match=text):
            act()
    (tmp_path / "file").write_text("")
    write_profile("full", f'backend = "local"\nworkdir = "{tmp_path}/file"\n')
    with pytest.raises(Unreachable, match="can't be written"):
        dt.submit(good, "full", ranks=1)
    assert len(dt.jobs()) == before
    assert sorted((home / ".dtrain-lab" / "jobs").glob("*")) == folders


@pytest.mark.parametrize("ends", ["cancelled", "failed", "succeeded"])
def test_a_child_that_holds_the_streams_of_a_rank_holds_up_no_end(tmp_path: Path, ends: str) -> None:
    stubborn = f"trap '' TERM; echo $$ > {tmp_path}/child; while :; do sleep 1; done"
    then = {"cancelled": "time.sleep(600)", "failed": "os._exit(7)", "succeeded": "pass"}[ends]
    code = f"""import os, subprocess, time
if rank: subprocess.Popen(['bash', '-c', {stubborn!r}])
print("loss 0.5", end="", flush=True)
open(f'{tmp_path}/said{{rank}}', 'w').close()
while not all(os.path.exists(f'{tmp_path}/{{n}}') for n in ('child', 'said0', 'said1')): time.sleep(0.05)
{then}"""
    job: Job = dt.submit(write(tmp_path / "s.ipynb", [code]), ranks=2)
    wait_until(lambda: (tmp_path / "child").exists() and (tmp_path / "child").read_text(), 60, "the child")
    wait_until(lambda: len(list(tmp_path.glob("said*"))) == 2, 60, "both ranks to print")
    child = psutil.Process(int((tmp_path / "child").read_text()))
    if ends == "cancelled":
        job.cancel()
    assert job.wait(60) == ends
    assert job.logs().count("loss 0.5") == 2, "a line without an end"
    if ends == "succeeded":  # whatever it does, it was meant to stay
        assert child.is_running()
        child.kill()
    wait_until(lambda: not child.is_running() or child.status() == "zombie", 20, "its end")


def test_jobs_that_clash(tmp_path: Path) -> None:
    waits = write(
        tmp_path / "w.ipynb",
        [f"import os, time\nwhile not os.path.exists('{tmp_path}/go'): time.sleep(0.05)"],
    )
    job: Job = dt.submit(waits, ranks=1, name="mine")
    with pytest.raises(Conflict, match="already exists"):
        dt.submit(waits, ranks=1, name="mine")
    with pytest.raises(Conflict, match="still runs"):
        job.delete()
    with pytest.raises(Conflict, match="still runs"):
        job.resume()
    job.cancel()
    assert job.wait(30) == "cancelled"
    again = job.resume()
    with pytest.raises(Conflict, match="already continues this job"):
        job.resume()
    (tmp_path / "go").touch()
    wait_until(lambda: not of_job(again.id), 60, "its end, at which nobody looks")
    assert dt.submit(waits, ranks=1, name="mine").wait(60) == "succeeded"
    assert job.resume().wait(60) == "succeeded"


@pytest.mark.skipif(os.geteuid() != 0, reason="a file system of its own size needs root")
def test_a_full_disk_stops_no_training(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", str(small)], check=True)
    try:
        write_profile("small", f'backend = "local"\nworkdir = "{small}"\n')
        code = "for i in range(2000):\n    print('a line that fills the disk', i, 'x' * 400)"
        job: Job = dt.submit(write(tmp_path / "fills.ipynb", [code]), "small", ranks=1)
        wait_until(lambda: not of_job(job.id), 60, "its end")
        assert "a line that fills the disk 0 " in job.logs()
        assert "a line that fills the disk 1999 " not in job.logs(), "the disk was full"
        assert job.state == "succeeded"
    finally:
        subprocess.run(["umount", "-l", str(small)], check=True)


def test_a_head_that_comes_back_is_told_of_the_ranks(tmp_path: Path) -> None:
    job: Job = dt.submit(write(tmp_path / "long.ipynb", ["import time\ntime.sleep(600)"]), ranks=2)
    wait_until(lambda: job.info()["state"] == "running", 60, "its start")
    for process in named(job.id, "dtrain_lab.head"):
        process.kill()
        process.wait()
    command = [sys.executable, "-P", "-m", "dtrain_lab.head", "observe", job.info()["directory"]]

    def seen() -> bool:
        try:
            return [rank for rank, text in sorted(job.stacks().items()) if "[1]" in (text or "")] == [0, 1]
        except Unreachable:  # it has not begun yet
            return False

    with subprocess.Popen(command) as head:
        try:
            wait_until(seen, 60, "stacks of both ranks by the new head")
        finally:
            head.terminate()
            job.cancel()
    assert job.wait(30) == "cancelled"


def test_stacks_while_the_gil_is_held_and_a_rank_is_stopped(tmp_path: Path) -> None:
    code = "import re\nprint('begins', flush=True)\nre.match(r'(a+)+$', 'a' * 40 + 'b')"
    job: Job = dt.submit(write(tmp_path / "gil.ipynb", [code]), ranks=1)
    wait_until(lambda: "begins" in job.logs(), 30, "its first line")
    wait_until(lambda: job.info()["state"] == "running", 30, "its state")
    assert "gil.ipynb[1]" in job.stacks()[0]
    job.cancel()
    assert job.wait(30) == "cancelled"
    wait_until(lambda: not of_job(job.id), 15, "its end")


def test_nobody_but_the_user_can_read_it_and_nothing_listens(tmp_path: Path) -> None:
    job: Job = dt.submit(write(tmp_path / "quiet.ipynb", ["import time\ntime.sleep(600)"]), ranks=2)
    wait_until(lambda: job.info()["state"] == "running", 30, "its start")
    folder = Path(job.info()["directory"])
    for path in (folder, *folder.rglob("*")):
        assert path.lstat().st_mode & 0o077 == 0, path
    for process in of_job(job.id):
        connections = getattr(process, "net_connections", None) or process.connections  # psutil below 6
        assert [c for c in connections() if c.status == psutil.CONN_LISTEN] == []
    job.cancel()
    job.wait(30)
    assert socket.gethostname()
    assert signal.SIGTERM


def test_a_record_of_a_job_survives_another_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A younger version submits it, this one runs it: what it does not know is neither refused nor lost."""

    def younger(record: JobRecord) -> bytes:
        data = msgspec.json.decode(msgspec.json.encode(record))
        data["request"] |= {"urgent": {"since": 3}}
        return msgspec.json.encode({**data, "color": "red"})

    def files_of(record: JobRecord, backend: Backend) -> dict[str, bytes]:
        return {**known_files(record, backend), "job.json": younger(record)}

    def add(store: JobIndex, record: JobRecord, clashes: Any) -> JobRecord | None:
        other = known_add(store, record, clashes)
        store.put(record, younger(record))
        return other

    known_files, known_add = folder_files.files_of, JobIndex.add
    monkeypatch.setattr(folder_files, "files_of", files_of)
    monkeypatch.setattr(JobIndex, "add", add)
    job: Job = dt.submit(write(tmp_path / "v.ipynb", ["1"]), ranks=1)
    assert job.wait(60) == "succeeded", (Path(job.info()["directory"]) / "launcher.log").read_text()
    record = msgspec.json.decode((Path(job.info()["directory"]) / "job.json").read_bytes())
    assert record["handle"]["pid"] > 0
    assert (record["color"], record["request"]["urgent"]) == ("red", {"since": 3})
