"""What a new profile's text begins with, and that none is saved that sets nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dtrain_lab.errors import BadProfile
from dtrain_lab.placement import profile
from dtrain_lab.services import paths
from dtrain_lab.services.profiles import files as profiles
from dtrain_lab.services.profiles import template


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
