"""Sequence numbers of process groups: how many collectives each has begun."""

from __future__ import annotations

from typing import Any


def begun(group: Any) -> int:
    """Number of collectives that this process has begun in a group, over all of its back-ends.

    All ranks of the group that keep pace have the same number. It is read from the back-ends in use: the
    group's own number is that of its first back-end, which a rebuilt world no longer uses.
    """
    from dtrain_lab.rank.torch import group_backends  # late: a rank of another framework has no torch

    return group_backends.begun(group_backends.backends(group))
