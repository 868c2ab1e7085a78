"""Scripts of jobs, as golden files: a change of them is seen, and bash can read them."""

from __future__ import annotations

import re
import socket
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dtrain_lab.backends import script, script_lines
from dtrain_lab.backends.slurm.script import batch
from dtrain_lab.errors import BadProfile
from dtrain_lab.wire.jobs.job import JobRequest
from dtrain_lab.wire.profile import Environment, Network, Profile, Slurm
from tests.unit.backends.job_scripts import GOLDEN, record

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
    network=Network(ports="21000-21099"),
)


def asked(**more: Any) -> JobRequest:
    return JobRequest("nb/train it.ipynb", **more)


SCRIPTS = {
    "job_local": script.on_hosts(
        record(Profile(), 2, 2, launcher="agents", request=asked(retries=1, stage=("/data/set",))), None
    ),
    "job_host": script.on_hosts(
        record(Profile(backend="ssh"), 2, 2, launcher="agents"), 1, address="10.0.0.1"
    ),
    "job_srun": batch(
        record(
            FULL,
            2,
            4,
            gpus=4,
            request=asked(mail="me@example.org", notify="say 'done'", retries=2, stage=("/data/set",)),
        )
    ),
    "job_torchrun": batch(record(FULL, 2, 4, gpus=4, launcher="torchrun")),
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_are_as_they_were(name: str) -> None:
    path = GOLDEN / f"{name}.sh"
    assert path.read_text() == SCRIPTS[name], f"changed on purpose? Write it to {path}"
    subprocess.run(["bash", "-n", str(path)], check=True)


def test_a_host_that_starts_late_removes_nothing_that_ranks_of_others_have_written() -> None:
    """All hosts may share the folder: marks of `!command` and errors of ranks belong to an attempt."""
    removed = [line for line in SCRIPTS["job_host"].splitlines() if re.search(r"\b(rm|mv|>) ", line)]
    assert removed
    assert not [line for line in removed if ".once" in line or "error." in line]


@pytest.mark.parametrize(("code", "left"), [(0, b"{}\n"), (124, None)])
def test_nodes_that_do_not_say_their_networks_in_time_hold_up_no_job(
    code: int, left: bytes | None, tmp_path: Path
) -> None:
    lines = SCRIPTS["job_srun"].splitlines()
    [last] = [number for number, line in enumerate(lines) if "dtrain_lab.node interfaces" in line]
    limited = f'timeout() {{ [ "$4" = srun ] && echo "{{}}"; return {code}; }}'  # as it does after 30 s: 124
    script = "\n".join([limited, *lines[last - 1 : last + 1]])
    subprocess.run(["bash", "-c", script], cwd=tmp_path, check=True)
    file = tmp_path / "interfaces.jsonl"
    assert (file.read_bytes() if file.exists() else None) == left


def test_a_line_break_reaches_no_directive() -> None:
    bad = msgspec.structs.replace(FULL, slurm=Slurm(options=("--mail\n#SBATCH --uid=0",)))
    with pytest.raises(BadProfile, match="line break"):
        batch(record(bad, 1, 1))


def test_ports_stay_in_the_range_of_the_profile() -> None:
    """Bash takes the next free port, and begins anew at the range's end."""

    def taken(port: int, ports: range) -> int:
        line = f"port={port}; {script_lines.next_free(ports)}; echo $port"
        return int(subprocess.run(["bash", "-c", line], capture_output=True, check=True).stdout)

    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        last = listening.getsockname()[1]
        assert taken(last, range(last - 20, last + 1)) in range(last - 20, last)
        assert taken(last, range(last, last + 1)) == last, "a range that is full does not hang the job"
    slurm = [line for line in SCRIPTS["job_srun"].splitlines() if line.startswith("port=")]
    done = subprocess.run(
        ["bash", "-c", f"SLURM_JOB_ID=12399\n{slurm[0]}; echo $port"], capture_output=True, text=True
    )
    assert done.stdout == "21099\n"
