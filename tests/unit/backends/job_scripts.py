"""Records of jobs, and their scripts as they were approved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from dtrain_lab.services.policy import backends
from dtrain_lab.wire.jobs.job import JobRecord, JobRequest
from dtrain_lab.wire.plan import NodePlan, Plan
from dtrain_lab.wire.profile import Profile

GOLDEN = Path(__file__).parents[1] / "golden"


def record(profile: Profile, nodes: int, ranks: int, *, gpus: int = 0, **more: Any) -> JobRecord:
    plan = Plan(
        profile.name,
        profile.backend,
        tuple(NodePlan(f"n{i}", f"10.0.0.{i + 1}", i * ranks, ranks, gpus, 6) for i in range(nodes)),
        "/venv/bin/python",
        dict(profile.environment.variables),
        "",
        "gloo",
        True,
        cpus_per_rank=6,
        traits=backends.backend(profile.backend).traits,
    )
    made = JobRecord(
        "0123456789ab",
        JobRequest("nb/train it.ipynb"),
        profile,
        plan,
        "train it",
        "/work/it's here/0123456789ab",
        "me",
        "login",
        1.0,
        "srun",
        checkpoints="/work/it's here/0123456789ab/checkpoints",
    )
    return msgspec.structs.replace(made, **more)
