"""torchrun on one node begins anew: its ranks find each other, and nobody who is gone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.processes, pytest.mark.timeout(120)]

SCRIPT = """
import os, signal
import torch
import torch.distributed as dist
from dtrain_lab.rank.group import job_store

job_store.init(dist.init_process_group, "gloo", "first")
total = torch.ones(1)
dist.all_reduce(total)
if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
    if dist.get_rank() == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    dist.barrier()
dist.destroy_process_group()
job_store.init(dist.init_process_group, "gloo", "again")
dist.all_reduce(total)
os.write(1, f"total {total.item()}\\n".encode())
dist.barrier()
"""


def test_ranks_meet_again_after_one_was_killed(tmp_path: Path) -> None:
    script = tmp_path / "dies.py"
    script.write_text(SCRIPT)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=3"]
    done = subprocess.run(
        [*command, "--max-restarts=1", str(script)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"},
    )
    assert done.stdout.count("total 9.0\n") == 3, done.stderr[-3000:]
