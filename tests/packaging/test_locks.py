"""What `make` installs is what was tried: one version of each package, the locks with hashes."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from requirements.lock import without_torch

ROOT = Path(__file__).parents[2]
PINNED = re.compile(r"(\S+)==(\S+)((?: --hash=sha256:[0-9a-f]{64})+)")


def locked(name: str) -> dict[str, str]:
    """Package → version of a lock, each of which has its hashes."""
    text = (ROOT / "requirements" / f"{name}.txt").read_text().replace("\\\n", "")
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    found = {}
    for line in lines:
        match = PINNED.fullmatch(line)
        assert match, f"{name}.txt: {line}"
        found[canonicalize_name(match[1].partition("[")[0])] = match[2]
    return found


@pytest.mark.parametrize("name", ["lab", "test"])
def test_a_lock_has_what_the_project_needs(name: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    needs = [*project["project"]["dependencies"], *extras["lab"], *extras["notebooks"]]
    needs += project["build-system"]["requires"]
    needs += extras["test"] if name == "test" else []
    there = locked(name)
    for need in map(Requirement, needs):
        key = canonicalize_name(need.name)
        if key != "torch":  # the user's own, and other builds elsewhere: `constraints.txt` names its version
            assert key in there, f"make locks: {name}.txt lacks {need}"
            assert need.specifier.contains(there[key]), f"make locks: {key} {there[key]} is not {need}"


def test_one_package_has_one_version() -> None:
    lab, test = locked("lab"), locked("test")
    assert lab.items() <= test.items()
    pins = dict(
        line.split("==")
        for line in (ROOT / "constraints.txt").read_text().split()
        if not line.startswith("#")
    )
    told = {canonicalize_name(name): version for name, version in pins.items()}
    assert "torch" in told
    assert {name: test[name] for name in told if name in test}.items() <= told.items()


LOCK = """a==1 \\
    --hash=sha256:1
debugpy==1.8.22 ; python_version < "3.12" \\
    --hash=sha256:2
nvidia-cublas==13 \\
    --hash=sha256:3 \\
    --hash=sha256:4
nvidia-ml-py==13 \\
    --hash=sha256:5
torchmetrics==1 \\
    --hash=sha256:6

# The following packages are considered to be unsafe in a requirements file:
torch==2.15.0 \\
    --hash=sha256:7
"""


def test_a_lock_leaves_out_pytorch_though_others_need_it_and_serves_all_pythons() -> None:
    wanted = [("a==1", 1), ("debugpy==1.8.22", 2), ("nvidia-ml-py==13", 5), ("torchmetrics==1", 6)]
    text = "".join(f"{name} \\\n    --hash=sha256:{number}\n" for name, number in wanted)
    assert without_torch(LOCK) == text


def test_make_installs_nothing_that_is_not_pinned() -> None:
    commands = [line for line in (ROOT / "Makefile").read_text().splitlines() if " install " in line]
    assert len(commands) >= 6
    for command in commands:
        words = command.partition(" install ")[2].partition("||")[0].split()
        if "--require-hashes" in words or words[-2:] == ["-e", "."]:
            continue
        names = [word for word in words if word not in ("-c", "constraints.txt", "--no-deps", "\\")]
        held = names == ["torch"] and "constraints.txt" in words
        pin = "@" if " --prefix " in command else "=="  # npm's
        assert held or all(pin in name for name in names), command


def test_environments_without_torch_have_the_versions_of_the_lock() -> None:
    lab = locked("lab")
    light = [line for line in (ROOT / "Makefile").read_text().splitlines() if "install cloudpickle==" in line]
    assert len(light) == 2
    for pin in (word for line in light for word in line.partition(" install ")[2].split()):
        name, _, version = pin.partition("==")
        assert lab[canonicalize_name(name)] == version, pin
