"""Logged values for charts: all of a short job, the telling ones of a long one."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec

from dtrain_lab.jobs import chart_values
from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.services.jobs import reader as readers
from dtrain_lab.wire.cluster import World
from dtrain_lab.wire.jobs.job import Job, JobRecord, JobRequest, JobSize, Logged
from dtrain_lab.wire.metrics.history import Point
from dtrain_lab.wire.metrics.world import Metrics
from dtrain_lab.wire.plan import NodePlan, Plan
from dtrain_lab.wire.profile import Profile
from dtrain_lab.wire.summary import Summary


def _calls(count: int, name: str = "loss") -> list[Logged]:
    return [Logged(100 + step / 100, step, {name: 1 / (step + 1)}) for step in range(count)]


def _reader(folder: Path) -> readers.JobReader:
    plan = Plan("local", "local", (NodePlan("a", "", 0, 1, 0, 1),), "python", {}, "", "gloo", True)
    record = JobRecord(
        "1234abcd", JobRequest("n.ipynb"), Profile(), plan, "n", str(folder), "me", "h", 1.0, "torchrun"
    )
    job = Job(
        "1234abcd",
        "n",
        "local",
        "local",
        "n.ipynb",
        JobSize(1, 1),
        World(1, 0),
        (),
        (),
        "succeeded",
        None,
        Summary("succeeded", {}, "Done."),
        Metrics(),
        None,
        0,
        None,
        None,
        str(folder),
        None,
        "me",
        (),
        (),
        None,
        1.0,
        2.0,
        3.0,
    )
    return readers.JobReader(record, job)


def test_all_values_of_a_short_job_are_kept() -> None:
    calls = _calls(chart_values.MOST)
    assert chart_values.thinned(calls) == calls


def test_of_a_long_job_no_peak_and_not_its_last_value_are_lost() -> None:
    calls = _calls(50_000)
    calls[12_345] = Logged(calls[12_345].at, 12_345, {"loss": 99.0})
    calls[40_001] = Logged(calls[40_001].at, 40_001, {"loss": -99.0})
    calls[40_007] = Logged(calls[40_007].at, 40_007, {"loss": "nan"})
    kept = chart_values.thinned(calls)
    assert len(kept) <= chart_values.MOST + 2
    assert kept[0] == calls[0]
    assert kept[-1] == calls[-1]
    assert all(calls[index] in kept for index in (12_345, 40_001, 40_007))
    assert kept == sorted(kept, key=lambda one: one.at)


def test_a_name_that_is_seldom_logged_keeps_all_of_its_values() -> None:
    calls = _calls(20_000)
    for step in range(0, 20_000, 200):
        calls[step] = Logged(calls[step].at, step, {**calls[step].values, "accuracy": step})
    kept = chart_values.thinned(calls)
    assert sum("accuracy" in one.values for one in kept) == 100


def test_a_jobs_metrics_have_each_value_that_it_has_logged_within_a_second(tmp_path: Path) -> None:
    calls = _calls(50)
    lines = b"\n".join(map(msgspec.json.encode, calls)) + b"\n"
    (tmp_path / job_files.VALUES).write_bytes(lines + b'{"at": 101.0, "st')
    (tmp_path / job_files.HISTORY).write_bytes(msgspec.json.encode(Point(100.5)) + b"\n")
    found = asyncio.run(_reader(tmp_path).metrics())
    assert list(found.logged) == calls
    assert [point.at for point in found.history] == [100.5]


def test_of_many_values_the_latest_are_read_and_the_history_has_those_before(tmp_path: Path) -> None:
    calls = _calls(40_000)
    (tmp_path / job_files.VALUES).write_bytes(b"".join(msgspec.json.encode(one) + b"\n" for one in calls))
    points = [Point(at, values={"loss": at, "step": round(at)}) for at in (100.0, 105.0, 499.0)]
    again = Point(106.0, values=points[1].values)
    history = [points[0], points[1], again, points[2]]
    (tmp_path / job_files.HISTORY).write_bytes(b"".join(msgspec.json.encode(p) + b"\n" for p in history))
    found = asyncio.run(_reader(tmp_path).metrics()).logged
    assert found[:2] == (Logged(100.0, 100, {"loss": 100.0}), Logged(105.0, 105, {"loss": 105.0}))
    assert found[2].at > 300, "then those of the file's end"
    assert found[-1] == calls[-1]


def test_a_job_that_has_logged_nothing_has_no_values(tmp_path: Path) -> None:
    assert asyncio.run(_reader(tmp_path).metrics()).logged == ()
