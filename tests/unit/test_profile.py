from __future__ import annotations

import pytest

from dtrain_lab.core import profile
from dtrain_lab.errors import BadProfile

WHOLE = """
backend = "slurm"
nodes = 2
ranks_per_node = 4
cpus_per_rank = 6
memory_per_node = "64G"
workdir = "/scratch/me/dtrain"
monitor = true
[environment]
kind = "venv"
path = "/scratch/me/venv"
setup = ["module load CUDA"]
variables = { NCCL_DEBUG = "WARN" }
[network]
interface = "ib0"
ports = "20000-20999"
[ssh]
hosts = ["gpu-01", "gpu-02"]
login = "login1"
[slurm]
partition = "gpu"
account = "project"
gres = "gpu:4"
time = "02:00:00"
launcher = "torchrun"
allocation = "new"
options = ["--constraint=a100"]
"""


def test_the_whole_documented_profile_is_read() -> None:
    read = profile.parse(WHOLE, "hpc", "hpc.toml")
    assert (read.name, read.nodes, read.slurm.options) == ("hpc", 2, ("--constraint=a100",))
    assert read.environment.variables == {"NCCL_DEBUG": "WARN"}


@pytest.mark.parametrize(
    ("text", "line", "part", "hint"),
    [
        ('backend = "local"\nndoes = 2\n', 2, 'unknown key "ndoes"', 'Did you mean "nodes"?'),
        ('[slurm]\n# a comment\npartion = "x"\n', 3, "[slurm] partion", 'Did you mean "partition"?'),
        ('backend = "cloud"\n', 1, "backend", "Use one of local, ssh, slurm."),
        ('[environment]\nkind = "nix"\n', 2, "environment.kind", "Use one of current, venv"),
        ('nodes = "two"\n', 1, "nodes: Expected", "Mend the value"),
        ("nodes = 0\n", 1, "nodes is 0", "1 or more"),
        ("nodes = \n", 1, "Invalid value", "Mend the TOML"),
        ('name = "x"\n', 1, 'unknown key "name"', ""),
        ("zzzzzz = 1\n", 1, 'unknown key "zzzzzz"', "Known keys: backend, nodes"),
    ],
)
def test_a_bad_profile_names_line_key_and_the_nearest_known_key(
    text: str, line: int, part: str, hint: str
) -> None:
    with pytest.raises(BadProfile) as error:
        profile.parse(text, "p", "/home/me/p.toml")
    assert error.value.details["line"] == line
    assert f"/home/me/p.toml, line {line}" in error.value.message
    assert part in error.value.message
    assert hint in error.value.hint
