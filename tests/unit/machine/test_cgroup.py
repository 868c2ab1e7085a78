"""Control groups of both versions, as files."""

from __future__ import annotations

from pathlib import Path

import pytest

from dtrain_lab.machine import cgroup

OWN = {
    1: "9:name=systemd:/\n4:memory:/job/step\n1:cpu,cpuacct:/job/step\n0::/\n",
    2: "0::/job/step\n",
}


def write(folder: Path, **files: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)


@pytest.fixture(params=[1, 2])
def places(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, list[Path]]:
    version: int = request.param
    if version == 1:
        memory, cpu = tmp_path / "memory", tmp_path / "cpu"
        write(memory, memory__limit_in_bytes="9223372036854771712\n", memory__oom_control="oom_kill 7\n")
        write(memory / "job", memory__limit_in_bytes="4000000000\n", memory__oom_control="oom_kill 5\n")
        own = "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n"
        write(memory / "job/step", memory__limit_in_bytes="8000000000\n", memory__oom_control=own)
        write(cpu, cpu__cfs_quota_us="-1\n", cpu__cfs_period_us="100000\n")
        write(cpu / "job/step", cpu__cfs_quota_us="250000\n", cpu__cfs_period_us="100000\n")
    else:
        write(tmp_path, cgroup__controllers="cpu memory\n")
        write(
            tmp_path / "job",
            memory__max="4000000000\n",
            memory__events="oom 1\noom_kill 5\n",
            cpu__max="max 100000\n",
        )
        own = "low 0\nhigh 0\nmax 3\noom 2\noom_kill 2\n"
        write(tmp_path / "job/step", memory__max="max\n", memory__events=own, cpu__max="250000 100000\n")
    return {name: cgroup.folders(name, tmp_path, OWN[version]) for name in ("memory", "cpu")}


def test_the_smallest_limit_above_this_process_counts(places: dict[str, list[Path]]) -> None:
    assert cgroup.memory_limit(places["memory"]) == 4_000_000_000
    assert cgroup.cpu_quota(places["cpu"]) == 2.5


def test_kills_are_counted_in_its_own_group(places: dict[str, list[Path]]) -> None:
    assert cgroup.oom_kills(places["memory"]) == 2


def test_without_a_group_the_machine_counts_and_nothing_limits(tmp_path: Path) -> None:
    (tmp_path / "vmstat").write_text("nr_free_pages 12\noom_kill 3\n")
    assert cgroup.folders("memory", tmp_path / "none", OWN[2]) == []
    assert cgroup.oom_kills([], tmp_path / "vmstat") == 3
    assert cgroup.memory_limit([]) is None
    assert cgroup.cpu_quota([]) is None


def test_a_container_that_sees_its_group_as_the_root(tmp_path: Path) -> None:
    write(tmp_path, cgroup__controllers="memory\n", memory__max="1000\n")
    assert cgroup.memory_limit(cgroup.folders("memory", tmp_path, "0::/docker/abc\n")) == 1000
