"""What a new profile's text begins with, and all keys that it may have."""

from __future__ import annotations

from pathlib import Path

ALL_KEYS = Path(__file__).with_name("all_keys.toml")
"""All keys with examples; the user guide has the same text."""
BEGINNING = """\
# Where ranks run: keep one of the three parts.

# 1. On this machine.
backend = "local"
# ranks_per_node = 2  # default: one per GPU, else 2

# 2. On hosts that your own ssh reaches.
# backend = "ssh"
# ranks_per_node = 4
# [ssh]
# hosts = ["gpu-01", "gpu-02"]

# 3. In Slurm.
# backend = "slurm"
# nodes = 2
# ranks_per_node = 4
# workdir = "/scratch/me/dtrain"  # a folder that all nodes share
# [slurm]
# partition = "gpu"
# gres = "gpu:4"
# time = "02:00:00"
# [ssh]  # only if this machine has no sbatch
# login = "login1"

# Where Python comes from on the nodes: "current", "venv", "conda", "modules", "apptainer" or "command".
[environment]
kind = "current"
# path = "/scratch/me/venv"  # not for "current" and "modules"
# setup = ["module load CUDA"]
"""
"""It is valid as it is, and with one of the other parts instead of the first."""


def keys() -> str:
    """Return all keys of a profile with examples."""
    return ALL_KEYS.read_text(encoding="utf-8")
