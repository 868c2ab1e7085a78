"""Clusters whose start does not go to its end, and clusters in an allocation whose head has died."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import dtrain_lab as dt
from dtrain_lab.errors import Unreachable
from dtrain_lab.services.connection import head_records
from tests.hosts import SLURM, Hosts, command_line, need, on_login_node, running_hosts
from tests.integration.profiles import write_profile
from tests.waiting import wait_until

pytestmark = [pytest.mark.processes, pytest.mark.hosts, pytest.mark.timeout(300)]

START = 'import dtrain_lab as dt\ndt.start("queue", nodes=1, ranks_per_node=1, name="held")\n'
CLI = ["-m", "dtrain_lab", "cluster", "start", "--profile", "queue", "--ranks", "1", "--name", "held"]


@pytest.fixture(scope="module")
def hosts(canaries: dict[str, str]) -> Iterator[Hosts]:
    need("sshd", "ssh-keygen", *SLURM)
    with running_hosts(1) as made:
        made.start_slurm()
        with on_login_node(made, **canaries) as work:
            write_profile("queue", f'backend = "slurm"\nworkdir = "{work}"\n')
            yield made


class Start:
    """A process that starts a cluster, and whose `sbatch` waits until the test lets it go on.

    Args:
        folder: For its files.
        arguments: Arguments of Python.
    """

    def __init__(self, folder: Path, arguments: list[str]) -> None:
        self._gate, reached = folder / "gate", folder / "reached"
        os.mkfifo(self._gate)
        real = shutil.which("sbatch")
        (folder / "sbatch").write_text(
            f'#!/bin/bash\ntouch {reached}\nread < {self._gate}\n{real} "$@"\ncode=$?\n'
            f"touch {folder}/submitted\nexit $code\n"
        )
        (folder / "sbatch").chmod(0o700)
        self.submitted = folder / "submitted"
        self.process = subprocess.Popen(
            [sys.executable, *arguments],
            env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"},
            start_new_session=True,  # as a kernel
            stderr=subprocess.PIPE,
            text=True,
        )
        wait_until(reached.exists, 60, "sbatch")

    def signal(self, number: int) -> None:
        """Send a signal to its process group, as Jupyter and terminals do."""
        os.killpg(self.process.pid, number)

    def go_on(self) -> None:
        """Let sbatch submit."""
        with self._gate.open("w") as gate:
            gate.write("\n")

    def end(self) -> str:
        """Wait for its end, and return what it has said."""
        return self.process.communicate(timeout=60)[1]


@contextmanager
def starting(folder: Path, arguments: list[str]) -> Iterator[Start]:
    start = Start(folder, arguments)
    try:
        yield start
    finally:
        if start.process.poll() is None:
            start.process.kill()
            start.process.communicate()


def queued(hosts: Hosts) -> str:
    return hosts.slurm("squeue", "-h", "-t", "PD,CF,R", "-o", "%j %T").strip()


def records() -> list[str]:
    return [record.name for record in head_records.living() if record.remote is not None]


@pytest.mark.parametrize("arguments", [["-c", START], CLI], ids=["Python", "terminal"])
def test_an_interrupted_start_leaves_nothing(hosts: Hosts, tmp_path: Path, arguments: list[str]) -> None:
    with starting(tmp_path, arguments) as start:
        assert records() == ["held"], "it is known before Slurm has it"
        start.signal(signal.SIGINT)
        start.go_on()
        said = start.end()
    assert start.process.returncode != 0
    assert ("KeyboardInterrupt" if arguments != CLI else "Aborted!") in said
    assert start.submitted.exists(), "the interrupt has not ended sbatch"
    assert records() == []
    wait_until(lambda: not queued(hosts), 20, "an empty queue")


def test_a_cluster_whose_client_is_killed_while_slurm_is_asked_is_found(hosts: Hosts, tmp_path: Path) -> None:
    with starting(tmp_path, ["-c", START]) as start:
        start.signal(signal.SIGKILL)
        start.end()
        (early,) = [cluster.snapshot() for cluster in dt.clusters()]
        assert (early.state, early.summary.text) == ("pending", "held is being submitted.")
        start.go_on()
    wait_until(start.submitted.exists, 20, "Slurm to have it")
    (cluster,) = dt.clusters()
    wait_until(lambda: cluster.state == "ready", 60, "the cluster")
    assert cluster.run("print(rank)").stdout == {0: "0\n"}
    assert queued(hosts) == "dtrain-held RUNNING"
    cluster.stop()
    assert records() == []
    wait_until(lambda: not queued(hosts), 20, "an empty queue")


def test_a_cluster_is_stopped_by_another_client_while_slurm_is_asked(hosts: Hosts, tmp_path: Path) -> None:
    with starting(tmp_path, ["-c", START]) as start:
        (cluster,) = dt.clusters()
        cluster.stop()
        assert records() == []
        start.go_on()
        said = start.end()
    assert start.process.returncode != 0
    assert "StartFailed" in said
    assert records() == []
    assert queued(hosts) == ""


@contextmanager
def allocated(hosts: Hosts) -> Iterator[str]:
    """A profile for clusters in an allocation that goes on without them."""
    words = ("sbatch", "--parsable", "--output=/dev/null", "-N1", "-c4", "--wrap", "sleep 300")
    job = hosts.slurm(*words).strip()
    wait_until(lambda: queued(hosts) == "wrap RUNNING", 20, "the allocation")
    write_profile(
        "inside", f'backend = "slurm"\nworkdir = "{hosts.root}/work"\n[slurm]\nallocation = "{job}"\n'
    )
    try:
        yield "inside"
        assert queued(hosts) == "wrap RUNNING"
    finally:
        hosts.slurm("scancel", job)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_cluster_in_an_allocation_ends_with_its_head(hosts: Hosts, how: signal.Signals) -> None:
    with allocated(hosts) as profile:
        cluster = dt.start(profile, ranks=1, name="inside")
        assert records() == ["inside"]
        os.kill(head_of(hosts), how)
        try:
            wait_until(lambda: cluster.gone, 60, "the end to be known")
        except AssertionError as error:
            left = [" ".join(command_line(process)) for process in hosts.processes("node1")]
            error.add_note("\n".join(["left on the node:", *left, hosts.slurm("squeue", "--steps", "-h")]))
            raise
        assert records() == []
        with pytest.raises(Unreachable, match="inside has ended"):
            cluster.run("1")


def test_a_silent_cluster_in_an_allocation_is_stopped_by_a_client_that_finds_it(hosts: Hosts) -> None:
    with allocated(hosts) as profile:
        start = f'import dtrain_lab as dt\ndt.start("{profile}", ranks=1, name="inside")\n'
        subprocess.run([sys.executable, "-c", start], check=True, timeout=60)
        os.kill(head_of(hosts), signal.SIGSTOP)
        (cluster,) = dt.clusters()
        assert cluster.state == "starting"
        cluster.stop()
        assert records() == []
        wait_until(lambda: not hosts.running("node1"), 20, "the end of the step")


def test_a_silent_cluster_in_an_allocation_is_stopped_from_another_login_node(hosts: Hosts) -> None:
    """Where the process of its step can't be seen: here in another PID namespace."""
    with allocated(hosts) as profile:
        start = f'import dtrain_lab as dt\ndt.start("{profile}", ranks=1, name="inside")\n'
        subprocess.run([sys.executable, "-c", start], check=True, timeout=60)
        os.kill(head_of(hosts), signal.SIGSTOP)
        stop = "import dtrain_lab as dt\n(cluster,) = dt.clusters()\ncluster.stop()\n"
        elsewhere = ["unshare", "--pid", "--fork", "--mount-proc"]
        subprocess.run([*elsewhere, sys.executable, "-c", stop], check=True, timeout=60)
        assert records() == []
        wait_until(lambda: not hosts.running("node1"), 60, "the end of the step")


def head_of(hosts: Hosts) -> int:
    """Pid of the head on the node."""
    running = hosts.running("node1", "dtrain_lab.head")
    found: dict[int, int] = {p.pid: p.ppid() for p in running if "python" in p.name()}
    # what a head has just forked has its command line, too, until it runs a command of its own
    (head,) = [pid for pid, parent in found.items() if parent not in found]
    return head
