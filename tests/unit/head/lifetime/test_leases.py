"""Whose end ends a world: that of the client that started it, and of no other."""

from __future__ import annotations

import asyncio

import pytest

from dtrain_lab.head.lifetime.leases import Leases
from dtrain_lab.wire.clients import Lease

WARMER = Lease("kernel", "elsewhere", 10, 1.0)
ENDS_WITHIN_S = 30.0
"""Far more than a timer of no seconds needs: a failure, not a hang, where it never runs."""
CLIENT = Lease("kernel", "elsewhere", 20, 2.0, notebook="a.ipynb")


@pytest.mark.asyncio
async def test_who_kept_the_head_warm_does_not_hold_the_world_that_another_starts_in_it() -> None:
    ended: list[str] = []
    leases = Leases(lambda: ended.append("over"), lambda: 60.0)
    leases.take(WARMER, attach=True)
    leases.launched(detached=False)
    assert (leases.held, leases.notebooks) == (False, ())
    leases.take(CLIENT, attach=True)
    assert leases.notebooks == ("a.ipynb",)
    assert not leases.release(WARMER)
    assert not ended
    assert not leases.release(CLIENT), "the kernel has ended, and no server"
    assert ended == ["over"]


@pytest.mark.asyncio
async def test_a_world_ends_with_its_server_once_the_kernels_of_that_have_ended() -> None:
    ended: list[str] = []
    leases = Leases(lambda: ended.append("over"), lambda: 60.0)
    server = Lease("server", "elsewhere", 30, 3.0)
    for lease in (CLIENT, server):
        leases.take(lease, attach=True)
    assert not leases.release(server), "its kernel still holds it"
    assert leases.release(CLIENT), "who released it notes how the world has ended"
    assert leases.ended_with_server, "and so does the head"
    assert ended == ["over"]
    leases.take(CLIENT, attach=True)
    leases.take(server, attach=False)
    leases.release(server)
    leases.take(server, attach=False)
    assert not leases.release(CLIENT)
    assert leases.release(server)


@pytest.mark.asyncio
async def test_a_detached_world_waits_for_nobody_and_outlives_its_last_lease() -> None:
    ended = asyncio.Event()
    leases = Leases(ended.set, lambda: 0.0)
    leases.expect()
    leases.launched(detached=True)
    leases.take(CLIENT, attach=True)
    assert not leases.release(CLIENT)
    passed = asyncio.Event()
    asyncio.get_running_loop().call_later(0.0, passed.set)  # after every timer that ran out before
    await passed.wait()
    assert not ended.is_set()
    leases.launched(detached=False)
    await asyncio.wait_for(ended.wait(), ENDS_WITHIN_S)
