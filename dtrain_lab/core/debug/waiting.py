"""Whether a rank in a collective waits for ranks that stand, or comes back without them. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from dtrain_lab.core.debug.state import Dap

POINT_TO_POINT = frozenset({"send", "recv", "isend", "irecv", "batch_isend_irecv"})
"""Operations that no sequence number counts."""


def waits_for(rank: Dap, others: Mapping[int, Dap]) -> bool:
    """Can the rank come back only once others go on?

    What its thread stands in does not tell: where its peers have come, the collective is done, and a rank
    that has not had the processor since still looks as if it waited. The numbers of collectives do.

    Args:
        rank: its answer to `where`: `operation`, and `sequences` (process group → collectives begun).
        others: the answers of ranks that could go on.
    """
    operation = rank.get("operation")
    if not operation:
        return False
    if operation["name"] in POINT_TO_POINT:
        return True
    members = operation.get("ranks")
    return any(
        theirs.get("sequences", {}).get(group, number) < number
        for group, number in rank.get("sequences", {}).items()
        for other, theirs in others.items()
        if not members or other in members
    )
