"""What the abort of one rank's collectives does to its peers, which are aborted a moment later."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from dtrain_lab.rank.group.gloo_sockets import GlooSockets
from tests.gloo import on_ranks
from tests.waiting import wait_until

pytestmark = [pytest.mark.processes, pytest.mark.timeout(180)]

ANNOUNCED = Path("announced")


def _aborted_by_turns() -> str:
    """Rank 0 stands still while rank 1 asks for two tensors and is aborted; then it is aborted itself.

    What rank 1 asked for is read before the end of the connection, so rank 0 writes to a peer that has gone.
    """
    sockets = GlooSockets()
    with sockets.watch():
        group = dist.new_group(backend="gloo")
    dist.barrier(group)
    rank = dist.get_rank()
    tensors = [torch.ones(1000) for _ in range(2)]
    if rank == 0:
        works = [dist.isend(tensor, 1, group, tag) for tag, tensor in enumerate(tensors)]
        ANNOUNCED.write_text(str(os.getpid()))
        os.kill(os.getpid(), signal.SIGSTOP)
    else:
        peer = wait_until(lambda: ANNOUNCED.read_text() if ANNOUNCED.exists() else "", 60, "rank 0 to send")
        wait_until(lambda: _state(peer) == "T", 60, "rank 0 to stand still")
        works = [dist.irecv(tensor, 0, group, tag) for tag, tensor in enumerate(tensors)]
    sockets.shut()
    began = time.monotonic()
    failed = [_fails(work) for work in works]
    if rank == 1:
        assert all(failed), "an abort ends what waits for a peer"
        os.kill(int(peer), signal.SIGCONT)
    assert time.monotonic() - began < 20, "the time-out of the group ended it"
    dist.barrier()
    return "free"


def _state(pid: str) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]


def _fails(work: dist.Work) -> bool:
    try:
        work.wait()
    except RuntimeError:
        return True
    return False


def test_a_rank_that_is_aborted_after_its_peer_is_free_as_well() -> None:
    assert [result for result, _ in on_ranks(_aborted_by_turns)] == ["free", "free"]
