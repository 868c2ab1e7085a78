"""Calls of the rendezvous store, without a head."""

from __future__ import annotations

from datetime import timedelta

import pytest
import torch.distributed as dist

from dtrain_lab.rank.group.store import Aborted, Calls


def test_a_generation_that_was_given_up_before_a_rank_came_to_it_is_not_waited_for() -> None:
    calls = Calls(0, lambda call: None)
    calls.forming(True)
    calls.abort()
    with pytest.raises(Aborted):
        calls.ask(timedelta(seconds=20), operation="get", keys=("a",))
    calls.forming(True)
    with pytest.raises(dist.DistStoreError):
        calls.ask(timedelta(0), operation="get", keys=("a",))
