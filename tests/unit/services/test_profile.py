from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from dtrain_lab.errors import BadProfile
from dtrain_lab.placement import profile
from dtrain_lab.services import paths
from dtrain_lab.services.profiles import files as profiles
from dtrain_lab.services.profiles import template
from dtrain_lab.wire.profile import Profile
from tests.faults import ROOT

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


def test_the_guide_shows_every_key() -> None:
    guide = (Path(__file__).parents[3] / "docs" / "guide.md").read_text()
    shown = tomllib.loads(guide.partition("All keys:\n\n```toml\n")[2].partition("```")[0])
    known = {field for field in Profile.__struct_fields__ if field not in ("name", "section")}
    assert set(shown) == known
    for table, kind in profile.TABLES.items():
        assert set(shown[table]) == set(kind.__struct_fields__), table


def test_an_allocation_may_be_a_jobs_number() -> None:
    for given in ("new", "current", "12", "12_3", "12+1"):
        read = profile.parse(f'[slurm]\nallocation = "{given}"\n', "p", "p.toml")
        assert read.slurm.allocation == given


def test_all_errors_of_a_profile_are_told_at_once() -> None:
    """Found by hand: a profile with two errors named the second one only after the first was mended."""
    text = 'backend = "local"\nnodes = -1\n[watch]\nstuck_after_s = "soon"\nprbe = true\n'
    text += '[environment]\nkind = "nix"\n'
    with pytest.raises(BadProfile) as error:
        profile.parse(text, "p", "p.toml")
    lines = str(error.value).splitlines()
    assert [line.split(": ")[1].rpartition("p.toml, ")[2] for line in ["Also: " + lines[0], *lines[1:]]] == [
        "line 2",
        "line 4",
        "line 5",
        "line 7",
    ]
    assert "nodes is -1. It must be 1 or more." in lines[0]
    assert "Use one of current, venv" in lines[3]


@pytest.mark.parametrize(
    ("text", "line", "part", "hint"),
    [
        ('backend = "local"\nndoes = 2\n', 2, 'unknown key "ndoes"', "Did you mean nodes?"),
        ('[slurm]\n# a comment\npartion = "x"\n', 3, "[slurm] partion", "Did you mean partition?"),
        ('[environment]\nkind = "nix"\n', 2, '[environment] kind is "nix".', "Use one of current, venv"),
        ("[environment]\nkind = 1\n", 2, "[environment] kind has a value of the wrong type.", "Use one of"),
        ('nodes = "two"\n', 1, "nodes takes a whole number, not text in quotes.", "Write it as nodes = 2."),
        ("nodes = 1.5\n", 1, "nodes takes a whole number, not a number with a fraction.", "nodes = 2"),
        ('monitor = "on"\n', 1, "monitor takes true or false, not text in quotes.", "monitor = true"),
        ("[slurm]\ntime = 02:00:00\n", 2, "[slurm] time takes text in quotes, not a time.", 'time = "…"'),
        ('[ssh]\nhosts = "gpu-01"\n', 2, "[ssh] hosts takes a list, not text in quotes.", '["…"]'),
        ("[ssh]\nhosts = [1]\n", 2, "[ssh] each value of hosts has to be text in quotes, not", "Correct"),
        ("ssh = 1\n", 1, "ssh takes a table, not a whole number.", "Correct"),
        ("nodes = 0\n", 1, "nodes is 0", "1 or more"),
        ("nodes = \n", 1, "Invalid value", "Correct the TOML"),
        ('[slurm]\nlauncher = "torchrn"\n', 2, '[slurm] launcher is "torchrn"', "mean torchrun?"),
        ('[slurm]\nallocation = "curent"\n', 2, '[slurm] allocation is "curent"', '"current" or'),
        ('nodes = 1\nmemory_per_node = "64 Gx"\n', 2, 'memory_per_node: "64 Gx" is not a size', '"64G"'),
        ('[network]\nports = "99999-5"\n', 2, '[network] ports: "99999-5" is not a range', "20000-20999"),
        ('[network]\nports = "20000-20001"\n', 2, "2 ports are too few", "at least 24"),
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


def test_a_back_end_that_is_not_there_is_told_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "profiles", lambda: tmp_path)
    (tmp_path / "far.toml").write_text('nodes = 1\nbackend = "cloud"\n')
    with pytest.raises(BadProfile, match=r"far\.toml, line 2: backend") as error:
        profiles.load("far")
    assert error.value.hint == "Use one of local, slurm, ssh."


def parts() -> dict[str, str]:
    """The template with each of its three parts, by the part's back-end."""
    head, *three = re.split(r"(?m)^# \d\..*\n", template.BEGINNING)
    last, _, tail = three[-1].partition("# Where Python")
    three[-1] = last
    shown = [re.sub(r"(?m)^# ?", "", part) for part in three]
    return {part.split('"')[1]: f"{head}{part}# Where Python{tail}" for part in shown}


def test_a_new_profile_shows_each_kind_of_place_and_each_is_valid_with_its_signs_removed() -> None:
    made = {backend: profile.parse(text, "p", "p.toml") for backend, text in parts().items()}
    assert {backend: one.backend for backend, one in made.items()} == {
        "local": "local",
        "ssh": "ssh",
        "slurm": "slurm",
    }
    assert made["ssh"].ssh.hosts == ("gpu-01", "gpu-02")
    assert (made["slurm"].slurm.partition, made["slurm"].ssh.login) == ("gpu", "login1")
    as_it_is = profile.parse(template.BEGINNING, "p", "p.toml")
    assert (as_it_is.backend, as_it_is.ranks_per_node) == ("local", None)


def test_all_keys_are_those_of_the_guide() -> None:
    keys = template.keys()
    assert profile.parse(keys, "p", "p.toml").slurm.qos == "long"
    assert "# slurm" not in keys
    assert "default: one per GPU" in keys
    guide = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
    assert f"```toml\n{keys}```\n" in guide, f"copy {template.ALL_KEYS.name} into the guide"


@pytest.mark.parametrize("text", ["", "\n", "# nodes = 2\n"])
def test_a_profile_that_sets_nothing_is_not_saved(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "profiles", lambda: tmp_path)
    profiles.write("mine", "nodes = 1\n")
    with pytest.raises(BadProfile, match=r"mine\.toml sets nothing") as error:
        profiles.write("mine", text)
    assert "delete it" in error.value.hint
    assert profiles.text("mine") == "nodes = 1\n"
