"""The names of operations that users read where a rank waits."""

from __future__ import annotations

import torch.distributed as dist

from dtrain_lab.metrics.ring import OPERATIONS

OTHER = {"wait", "broadcast_buffers", "DDP's all_reduce"}
"""What is no function of torch.distributed: waiting for one, and what DDP calls by itself."""


def test_an_operation_has_a_name_that_its_user_knows() -> None:
    """As found: "Rank 0 was in backward_sync." of a rank whose DDP averaged gradients."""
    assert {name for name in OPERATIONS[1:] if not hasattr(dist, name)} == OTHER
