"""One fork server for several agents: each hears of its own children, which end with it and with no other."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from dtrain_lab.machine import processes
from dtrain_lab.node.forkserver import trials
from dtrain_lab.node.sources.spawned_rank import exit_code
from tests.waiting import wait_until

SERVER = """
import os, sys, time
from dtrain_lab.node.forkserver import children, server
from dtrain_lab.node.forkserver.messages import Loaded

def be_script(order, files):
    os.write(files[0], b" ".join(value for name, value in order.environment if name == b"MARK"))
    os.close(files[0])
    time.sleep(float(order.arguments[1]))
    sys.exit(order.rank)

children.be_script = be_script
server.ForkServer(path=sys.argv[1]).run(Loaded)
"""


@pytest.fixture
def at() -> Iterator[str]:
    """Socket of a server whose scripts write MARK, sleep, and exit with their rank."""
    with tempfile.TemporaryDirectory(prefix="dtl") as folder:
        path = str(Path(folder, "forks"))
        with subprocess.Popen([sys.executable, "-c", SERVER, path]) as server:
            wait_until(lambda: os.path.exists(path), 60, "the server")
            yield path
            server.terminate()
            assert server.wait(30) == 0
            assert not os.path.exists(path)


async def forked(at: str, rank: int, sleep_s: float, mark: str = "") -> trials.ForkedRank:
    """Fork a script."""
    files = [os.open(os.devnull, os.O_RDONLY) for _ in range(3)]
    try:
        made = await trials.fork(at, rank, ["rank", str(sleep_s)], {"MARK": mark}, files)
    finally:
        for file in files:
            os.close(file)
    assert made is not None
    return made


@pytest.mark.asyncio
async def test_each_agent_is_told_of_its_own_rank_whose_variables_need_not_be_unicode(at: str) -> None:
    mark = os.fsdecode(b"caf\xe9")
    first, second = await asyncio.gather(forked(at, 3, 0, mark), forked(at, 4, 0))
    assert os.fsencode(mark) == await first.stdout.read()
    assert [await exit_code(first), await exit_code(second)] == [3, 4]


@pytest.mark.asyncio
async def test_a_rank_ends_with_its_agent_and_no_other_does(at: str) -> None:
    lost, stays = await asyncio.gather(forked(at, 1, 600), forked(at, 2, 600))
    asyncio.get_running_loop().remove_reader(lost.connection)
    lost.connection.close()
    assert await asyncio.to_thread(processes.gone, lost.pid, lost.began, 30)
    assert processes.same(stays.pid, stays.began) is not None
    stays.send_signal(signal.SIGKILL)
    assert await exit_code(stays) == -signal.SIGKILL


@pytest.mark.asyncio
async def test_an_agent_that_sends_no_order_is_dropped_and_no_other_is(at: str) -> None:
    stays = await forked(at, 5, 1)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as odd:
        odd.settimeout(30)
        odd.connect(at)
        odd.send(b'{"arguments": []}')
        assert odd.recv(100) == b""
    assert await exit_code(stays) == 5
