"""A sweep is deleted with the jobs of its trials: all of them, or nothing."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from dtrain_lab.api.portal import Portal
from dtrain_lab.backends.hosts.local_transport import LocalTransport
from dtrain_lab.cli.main import main
from dtrain_lab.errors import Conflict, NotFound, Unreachable
from dtrain_lab.services.index import sweep_names
from dtrain_lab.services.index.store import JobIndex
from dtrain_lab.services.jobs.jobs import Jobs
from dtrain_lab.services.sweeps import deletion
from dtrain_lab.services.sweeps import folder as folders
from dtrain_lab.services.sweeps.sweeps import Sweeps
from dtrain_lab.wire.jobs.job import JobSize
from dtrain_lab.wire.sweeps import SweepRecord, SweepRequest, TrialRecord
from tests.unit.jobs.records import FAILED, RECORD

Add = Callable[..., Path]
TRIALS = (
    TrialRecord(0, "succeeded", {"lr": 0.1}, 1.0, 3, "c0ffee01", jobs=("c0ffee00", "c0ffee01")),
    TrialRecord(1, "stopped", {"lr": 0.2}, job="c0ffee02", jobs=("c0ffee02",)),
    TrialRecord(2, "failed", {"lr": 0.3}),
)
SWEEP = SweepRecord(
    "5eed", "search", SweepRequest("n.ipynb", space={"lr": [0.1, 0.2]}, objective="loss"), "", JobSize(1, 1),
    3, 1, seed=3, owner="me", host="here", system="boot", python="python", created_at=1.0, state="stopped",
    trials=TRIALS, ended_at=2.0,
)  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> JobIndex:
    return JobIndex(tmp_path / "jobs.sqlite")


@pytest.fixture
def add(tmp_path: Path, store: JobIndex) -> Add:
    """Adds a job that has ended to the index, with its folder; `of`: the job that it continues."""

    def add(identity: str, of: str | None = None) -> Path:
        folder = tmp_path / "jobs" / identity
        folder.mkdir(parents=True)
        checkpoints = f"{tmp_path / 'jobs' / (of or identity)}/checkpoints"
        record = replace(
            RECORD, id=identity, name=identity, directory=str(folder), checkpoints=checkpoints, handle=None
        )
        store.put(record)
        store.save_state(record, replace(FAILED, id=identity, name=identity, directory=str(folder)))
        (folder / "exit").write_text('{"code": 1, "at": 200.0}')
        return folder

    return add


@pytest.fixture
def sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))
    folder = sweep_names.base() / SWEEP.id
    (folder / folders.CODE).mkdir(parents=True)
    folders.write(folder, SWEEP)
    return folder


async def test_the_sweep_goes_with_its_trials_jobs_and_no_other(
    sweep: Path, store: JobIndex, add: Add
) -> None:
    theirs = [add("c0ffee00"), add("c0ffee01", "c0ffee00"), add("c0ffee02")]
    other = add("feedface")
    sweeps = Sweeps(Jobs(store))
    assert (await sweeps.sweep("search")).may == ("resume", "delete")
    gone = await sweeps.delete("search")
    assert (gone.id, gone.may) == (SWEEP.id, ())
    assert not any(folder.exists() for folder in (*theirs, sweep))
    assert other.exists()
    assert store.ids() == {"feedface"}
    assert await sweeps.listing() == []
    with pytest.raises(NotFound):
        await sweeps.delete("search")


async def test_nothing_is_deleted_while_another_job_needs_a_trials_checkpoints(
    sweep: Path, store: JobIndex, add: Add
) -> None:
    came_from = {"c0ffee00": None, "c0ffee01": "c0ffee00", "c0ffee02": None, "feedface": "c0ffee02"}
    for identity, of in came_from.items():
        add(identity, of)
    with pytest.raises(Conflict, match=r"contain checkpoints of feedface \(feedface\)") as refused:
        await Sweeps(Jobs(store)).delete("search")
    assert refused.value.code == "checkpoints_used"
    assert store.ids() == {"c0ffee00", "c0ffee01", "c0ffee02", "feedface"}
    assert sweep.exists()


async def test_a_job_whose_host_cant_be_asked_for_checkpoints_is_not_said_to_have_some(
    store: JobIndex, add: Add, monkeypatch: pytest.MonkeyPatch
) -> None:
    add("c0ffee00")
    add("feedface", "c0ffee00")

    async def silent(*_: object, **__: object) -> None:
        raise Unreachable("gpu1 did not answer.", "Check that the host is up.")

    with monkeypatch.context() as patch:
        patch.setattr(LocalTransport, "run", silent)
        with pytest.raises(Unreachable, match="gpu1 did not answer"):
            await Jobs(store).delete("c0ffee00")
    assert store.ids() == {"c0ffee00", "feedface"}
    await Jobs(store).delete("c0ffee00")
    assert store.ids() == {"feedface"}, "it has no checkpoints"


async def test_a_sweep_that_runs_or_was_asked_to_go_on_is_not_deleted(
    sweep: Path, store: JobIndex, add: Add, monkeypatch: pytest.MonkeyPatch
) -> None:
    add("c0ffee00")
    sweeps = Sweeps(Jobs(store))
    folders.ask(sweep, "run")
    with pytest.raises(Conflict, match="search still runs") as refused:
        await sweeps.delete("search")
    assert refused.value.hint == "Stop it first: dtrain-lab sweep stop 5eed"
    monkeypatch.setattr(deletion, "DRIVER_WITHIN_S", 0.0)
    for record in (replace(SWEEP, heard=1, state="running"), replace(SWEEP, heard=1)):
        folders.write(sweep, record)
        held = folders.take(sweep)  # as its driver does
        assert held is not None
        with pytest.raises(Conflict, match="search still runs"):
            await deletion.remove(sweep, Jobs(store), force=False)
        os.close(held)
    assert store.ids() == {"c0ffee00"}


async def test_a_sweep_stays_while_a_job_of_it_can_not_be_deleted(
    sweep: Path, store: JobIndex, add: Add, monkeypatch: pytest.MonkeyPatch
) -> None:
    add("c0ffee00")
    add("c0ffee02")
    sweeps = Sweeps(Jobs(store))

    def busy(folder: str) -> None:
        raise OSError(16, "Device or resource busy", folder)

    with monkeypatch.context() as patch:
        patch.setattr("shutil.rmtree", busy)
        with pytest.raises(Unreachable, match="can't be removed"):
            await sweeps.delete("search")
    assert store.ids() == {"c0ffee00", "c0ffee02"}
    await sweeps.delete("search")
    assert store.ids() == set()
    assert not sweep.exists()


def test_the_terminal_asks_first(
    sweep: Path, store: JobIndex, add: Add, monkeypatch: pytest.MonkeyPatch
) -> None:
    add("c0ffee00")
    add("c0ffee02")
    jobs = Jobs(store)
    monkeypatch.setattr(Portal.get("terminal"), "_jobs", jobs)
    monkeypatch.setattr(Portal.get("terminal"), "_sweeps", Sweeps(jobs))
    refused = CliRunner().invoke(main, ["sweep", "delete", "search"])
    assert refused.exit_code == 2
    assert "Delete search (5eed) and the 3 jobs of its trials, with all checkpoints?" in refused.stderr
    assert sweep.exists()
    done = CliRunner().invoke(main, ["sweep", "delete", "search", "--yes"])
    assert done.stdout == "search (5eed) is deleted, with the jobs of its trials.\n"
    assert not sweep.exists()
