"""What a new profile's text begins with, and all keys that it may have."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).parents[2]
GUIDES = (PACKAGE / "docs" / "guide.md", PACKAGE.parent / "docs" / "guide.md")
"""The user guide in the wheel, and in a checkout."""
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
_BEFORE = "All keys:\n\n```toml\n"


def keys() -> str:
    """Return all keys of a profile with examples, as the user guide has them; empty if there is no guide."""
    guide = next((path for path in GUIDES if path.exists()), None)
    if guide is None:
        return ""
    return guide.read_text(encoding="utf-8").partition(_BEFORE)[2].partition("```")[0]
