"""Time-outs of collectives, which the debugger lifts while ranks stand."""

from __future__ import annotations

from datetime import timedelta

import torch.distributed as dist

from dtrain_lab.rank.torch import group_backends


def test_a_time_out_is_set_without_a_word_of_torch() -> None:
    """A warning, which torch 2.14 has for the private name, would stand in the user's cell."""
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        group_backends.set_timeout(timedelta(days=1))
        assert group_backends.timeout_of(dist.group.WORLD) == timedelta(days=1)
    finally:
        dist.destroy_process_group()
