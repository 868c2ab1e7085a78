"""Whether a rank in a collective waits for paused ranks or can finish without them. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from dtrain_lab.debugger.state import Dap

POINT_TO_POINT = frozenset({"send", "recv", "isend", "irecv", "batch_isend_irecv"})
"""Operations without a sequence number."""


def waits_for(rank: Dap, others: Mapping[int, Dap]) -> bool:
    """Whether a rank can only continue once other ranks do.

    The rank's stack is not enough: once all peers have arrived the collective is complete, but a rank that
    has not been scheduled since still appears to wait. So the numbers of begun collectives are compared.

    Args:
        rank: the rank's answer to `where`, with `operation` and `sequences` (process group → number of
            collectives begun).
        others: the same answers of the ranks that might be waited for.
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
