"""Ascend NPUs under torch (`torch_npu`, HCCL): back-end, and the variables of a job's processes.

Follows the vendor's documentation; untested, because it needs the devices and their driver.
"""

from __future__ import annotations

from dtrain_lab.wire.plan import Plan
from dtrain_lab.wire.profile import Profile

COLLECTIVES = "cpu:gloo,npu:hccl"
VISIBLE = "ASCEND_RT_VISIBLE_DEVICES"
TABLE = "RANK_TABLE_FILE"


def used(profile: Profile) -> bool:
    """Whether a profile's nodes have NPUs."""
    return profile.accelerator == "npu"


def variables(profile: Profile, plan: Plan) -> dict[str, str]:
    """Return the variables of a job's processes for the vendor's libraries; empty without NPUs.

    A scheduler says which devices a job has; elsewhere the ranks of a node get its first ones.

    Args:
        profile: the job's.
        plan: the job's.
    """
    if not used(profile):
        return {}
    result: dict[str, str] = {}
    if not plan.traits.schedules:
        result[VISIBLE] = ",".join(map(str, range(plan.nodes[0].ranks)))
    if profile.network.rank_table is not None:
        result[TABLE] = profile.network.rank_table
    return result
