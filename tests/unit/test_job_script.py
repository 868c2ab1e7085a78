"""Scripts of jobs, as golden files: a change of them is seen, and bash can read them."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dtrain_lab.core import job_script
from dtrain_lab.core.job import JobRecord, JobRequest
from dtrain_lab.core.plan import NodePlan, Plan
from dtrain_lab.core.profile import Environment, Profile, Slurm
from dtrain_lab.errors import BadProfile

GOLDEN = Path(__file__).parent / "golden"
FULL = Profile(
    backend="slurm",
    memory_per_node="64G",
    environment=Environment(
        "venv",
        "/scratch/me/venv",
        ("module load CUDA",),
        {"NCCL_DEBUG": "WARN"},
        {"WANDB_API_KEY": "~/.wandb key"},
    ),
    slurm=Slurm("gpu", "project", "normal", "a100", "gpu:4", time="02:00:00", options=("--exclusive",)),
    name="cluster",
)


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


def asked(**more: Any) -> JobRequest:
    return JobRequest("nb/train it.ipynb", **more)


SCRIPTS = {
    "job_local": job_script.on_hosts(
        record(Profile(), 2, 2, launcher="agents", request=asked(retries=1, stage=("/data/set",))), None
    ),
    "job_host": job_script.on_hosts(
        record(Profile(backend="ssh"), 2, 2, launcher="agents"), 1, address="10.0.0.1"
    ),
    "job_srun": job_script.for_slurm(
        record(
            FULL,
            2,
            4,
            gpus=4,
            request=asked(mail="me@example.org", notify="say 'done'", retries=2, stage=("/data/set",)),
        )
    ),
    "job_torchrun": job_script.for_slurm(record(FULL, 2, 4, gpus=4, launcher="torchrun")),
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_are_as_they_were(name: str) -> None:
    path = GOLDEN / f"{name}.sh"
    assert path.read_text() == SCRIPTS[name], f"changed on purpose? Write it to {path}"
    subprocess.run(["bash", "-n", str(path)], check=True)


def test_a_line_break_reaches_no_directive() -> None:
    bad = msgspec.structs.replace(FULL, slurm=Slurm(options=("--mail\n#SBATCH --uid=0",)))
    with pytest.raises(BadProfile, match="line break"):
        job_script.for_slurm(record(bad, 1, 1))
