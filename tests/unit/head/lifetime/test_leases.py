"""Whose end ends a world: that of the client that started it, and of no other."""

from __future__ import annotations

import asyncio
import socket
import subprocess

import pytest

from dtrain_lab.head.lifetime.leases import Leases
from dtrain_lab.machine import processes
from dtrain_lab.wire.clients import Lease

WARMER = Lease("kernel", "elsewhere", 10, 1.0)
ENDS_WITHIN_S = 30.0
"""Far more than a timer of no seconds needs: a failure, not a hang, where it never runs."""
TERMINAL = Lease("terminal", "elsewhere", 40, 4.0)
CLIENT = Lease("kernel", "elsewhere", 20, 2.0, notebook="a.ipynb")


@pytest.mark.asyncio
async def test_who_kept_the_head_warm_does_not_hold_the_world_that_another_starts_in_it() -> None:
    ended: list[bool] = []
    leases = Leases(ended.append, lambda: 60.0)
    leases.take(WARMER, attach=True)
    leases.launched(detached=False)
    assert (leases.held, leases.notebooks) == (False, ())
    leases.take(CLIENT, attach=True)
    assert leases.notebooks == ("a.ipynb",)
    leases.release(WARMER)
    assert not ended
    leases.release(CLIENT)
    assert ended == [False], "the kernel has ended, and no server"


@pytest.mark.asyncio
async def test_a_notebook_that_uses_another_world_is_a_former_one_and_keeps_its_lease() -> None:
    leases = Leases(lambda _: None, lambda: 60.0)
    leases.detach(CLIENT)
    assert (leases.notebooks, leases.former_notebooks) == ((), ()), "it was never attached"
    leases.take(CLIENT, attach=True)
    leases.detach(CLIENT)
    assert (leases.notebooks, leases.former_notebooks) == ((), ("a.ipynb",))
    assert leases.held
    other_window = Lease("kernel", "elsewhere", 21, 3.0, notebook="a.ipynb")
    leases.take(other_window, attach=True)
    assert (leases.notebooks, leases.former_notebooks) == (("a.ipynb",), ()), "another kernel of it came"
    leases.release(other_window)
    leases.take(CLIENT, attach=True)
    assert (leases.notebooks, leases.former_notebooks) == (("a.ipynb",), ()), "it came back"
    leases.detach(CLIENT)
    leases.release(CLIENT)
    assert leases.former_notebooks == ()


@pytest.mark.asyncio
async def test_a_world_ends_with_its_server_once_the_kernels_of_that_have_ended() -> None:
    ended: list[bool] = []
    leases = Leases(ended.append, lambda: 60.0)
    server = Lease("server", "elsewhere", 30, 3.0)
    for lease in (CLIENT, server):
        leases.take(lease, attach=True)
    leases.release(server)
    assert not ended, "its kernel still holds it"
    leases.release(CLIENT)
    assert ended == [True]
    leases.take(CLIENT, attach=True)
    leases.take(server, attach=False)
    leases.release(server)
    leases.take(server, attach=False)  # another one
    leases.release(CLIENT)
    assert ended == [True]
    leases.release(server)
    assert ended == [True, True]
    leases.take(server, attach=False)
    leases.take(TERMINAL, attach=False)
    leases.release(server)
    leases.release(TERMINAL)
    assert ended == [True, True, False], "a terminal has held it on"


@pytest.mark.asyncio
async def test_a_world_ends_with_its_server_also_where_the_kernel_was_killed_before_it_could_leave() -> None:
    ended: asyncio.Queue[bool] = asyncio.Queue()
    leases = Leases(ended.put_nowait, lambda: 0.0)
    kernel = subprocess.Popen(["sleep", "60"])
    started = processes.started(kernel.pid)
    held = Lease("kernel", socket.gethostname(), kernel.pid, started, system=processes.system())
    server = Lease("server", "elsewhere", 30, 3.0)
    for lease in (held, server):
        leases.take(lease, attach=True)
    leases.release(server)
    kernel.kill()
    kernel.wait()
    assert await asyncio.wait_for(ended.get(), ENDS_WITHIN_S)


@pytest.mark.asyncio
async def test_a_detached_world_waits_for_nobody_and_outlives_its_last_lease() -> None:
    ended = asyncio.Event()
    leases = Leases(lambda _: ended.set(), lambda: 0.0)
    leases.expect()
    leases.launched(detached=True)
    leases.take(CLIENT, attach=True)
    leases.release(CLIENT)
    passed = asyncio.Event()
    asyncio.get_running_loop().call_later(0.0, passed.set)  # after every timer that ran out before
    await passed.wait()
    assert not ended.is_set()
    leases.launched(detached=False)
    await asyncio.wait_for(ended.wait(), ENDS_WITHIN_S)
