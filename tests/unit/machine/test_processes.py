"""A process stays the one that it is, whatever happens to the clock."""

from __future__ import annotations

import ast
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

import dtrain_lab
from dtrain_lab.machine import processes
from dtrain_lab.node.forkserver import messages as fork_messages
from dtrain_lab.node.sources import spawned_rank
from tests.waiting import wait_until

pytestmark = pytest.mark.skipif(not psutil.LINUX, reason="elsewhere the kernel keeps the time itself")


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield process
    process.kill()
    process.communicate()


def test_it_is_itself_after_the_clock_was_set(
    child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    began = processes.started(child.pid)
    booted = psutil.boot_time()
    # the kernel's "btime", which psutil adds, follows the clock; psutil below 7.1 reads it once
    monkeypatch.setattr(psutil._pslinux, "boot_time", lambda: booted + 3600.0)
    monkeypatch.setattr(psutil._pslinux, "BOOT_TIME", booted + 3600.0, raising=False)
    assert psutil.Process(child.pid).create_time() > time.time() + 3000
    assert processes.started(child.pid) == began
    found = processes.same(child.pid, began)
    assert found is not None
    assert found.pid == child.pid


def test_it_began_when_it_did(child: subprocess.Popen[bytes]) -> None:
    now = time.clock_gettime(time.CLOCK_BOOTTIME)
    assert now - 60 < processes.started(child.pid) <= now
    assert processes.started() < processes.started(child.pid) + 0.01


def test_another_of_the_same_number_is_not_it(child: subprocess.Popen[bytes]) -> None:
    assert processes.same(child.pid, processes.started(child.pid) - 100) is None


def test_one_that_has_ended_is_nobody(child: subprocess.Popen[bytes]) -> None:
    began = processes.started(child.pid)
    child.kill()
    wait_until(lambda: psutil.Process(child.pid).status() == psutil.STATUS_ZOMBIE, 10, "its end")
    assert processes.same(child.pid, began) is None, "its parent has not looked yet"
    child.wait()
    assert processes.same(child.pid, began) is None
    with pytest.raises(psutil.NoSuchProcess):
        processes.started(child.pid)


@pytest.mark.parametrize("leader", [0, 1, -1])
def test_no_signal_reaches_our_own_group_or_the_systems(leader: int, signals: list[tuple[int, ...]]) -> None:
    assert not processes.signal_group(leader, 0.0, signal.SIGKILL)
    assert not processes.signal_process(leader, processes.started(1), signal.SIGKILL)
    assert processes.same(leader, processes.started(1)) is None
    assert signals == []


def test_a_group_is_ended_although_its_leader_has_ended() -> None:
    leader = subprocess.Popen(
        ["sh", "-c", "sleep 600 & echo $!"], stdout=subprocess.PIPE, start_new_session=True, text=True
    )
    began = processes.started(leader.pid)
    assert leader.stdout is not None
    member = int(leader.stdout.readline())
    leader.wait()
    born = processes.started(member)
    assert processes.signal_group(leader.pid, began, signal.SIGKILL)
    assert processes.gone(member, born, 20)
    leader.stdout.close()


ADOPTS = """
import subprocess
from dtrain_lab.machine import processes
processes.adopt_orphans()
shell = ["sh", "-c", "sleep 600 >/dev/null & echo $!"]
print(subprocess.run(shell, stdout=subprocess.PIPE, text=True).stdout, flush=True)
input()
"""


def test_an_orphan_below_the_fork_server_becomes_its_child() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", ADOPTS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as adopter:
        assert adopter.stdout is not None
        orphan = psutil.Process(int(adopter.stdout.readline()))
        assert orphan.ppid() == adopter.pid
        orphan.kill()


def test_a_number_that_another_process_has_by_now_is_left_alone() -> None:
    with subprocess.Popen(["sleep", "600"], start_new_session=True) as other:
        began = processes.started(other.pid)
        assert not processes.signal_group(other.pid, began - 60, signal.SIGKILL)
        assert other.poll() is None
        assert processes.signal_group(other.pid, began, signal.SIGKILL)


@pytest.mark.skipif(os.getuid() != 0, reason="only root makes a process of another user")
def test_a_process_of_another_user_is_left_alone() -> None:
    with subprocess.Popen(["sleep", "600"], start_new_session=True, user=65534) as other:
        assert not processes.signal_group(other.pid, processes.started(other.pid), signal.SIGKILL)
        assert other.poll() is None
        other.kill()


def test_a_rank_that_leaves_a_process_of_root_ends_no_fork_server(monkeypatch: pytest.MonkeyPatch) -> None:
    from dtrain_lab.node.forkserver import server as forkserver

    def not_permitted(*_: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "killpg", not_permitted)
    forkserver._kill_group(12345)


def test_a_job_s_agent_signals_no_number_that_another_process_has_by_now(
    monkeypatch: pytest.MonkeyPatch,
) -> None:

    signalled: list[int] = []
    monkeypatch.setattr(os, "killpg", lambda pid, _: signalled.append(pid))
    kept = spawned_rank.SpawnedRank(0, 0)
    with subprocess.Popen(["sleep", "600"], start_new_session=True) as other:
        began = processes.started(other.pid)
        kept.process, kept.began = other, began - 60  # type: ignore[assignment]
        spawned_rank.signal_all(kept, signal.SIGKILL)
        assert signalled == [], "it is not the rank, which was reaped"
        kept.began = began
        spawned_rank.signal_all(kept, signal.SIGKILL)
        assert signalled == [other.pid]
        other.kill()


def test_a_rank_that_can_t_be_forked_ends_no_other(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from dtrain_lab.node.forkserver import server as forkserver
    from dtrain_lab.wire import links

    agent, channel = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    server = forkserver.ForkServer(channel)

    def no_fork() -> int:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", no_fork)
    server._obey(channel, fork_messages.ForkController((), str(tmp_path / "log")), [])
    with agent, channel:
        told = [fork_messages.decode_news(agent.recv(1 << 16)) for _ in range(2)]
    assert told[0] == fork_messages.ProcessForked(links.CONTROLLER, fork_messages.NO_PROCESS)
    assert told[1].code == 1
    assert told[1].how == "could not be forked: Resource temporarily unavailable"


def test_no_module_in_the_working_directory_stands_for_one_of_pythons() -> None:
    """Python's `-P`: a `random.py` beside a notebook would end every process of ours that starts there."""
    package = Path(dtrain_lab.__file__).parent
    starts = []
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.List | ast.Tuple):
                continue
            words = [part.value if isinstance(part, ast.Constant) else None for part in node.elts]
            if "-m" in words:
                at = words.index("-m")
                starts.append((path.name, ast.unparse(node)))
                assert "-P" in words[:at] or words[0] == "-m", starts[-1]
    assert len(starts) > 5
