"""A profile with an environment of its own, which has TensorFlow and no torch: what is told of it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dtrain_lab.services import paths
from tests.books import write
from tests.fakes.stub_environment import without_torch

pytestmark = [pytest.mark.processes, pytest.mark.timeout(120)]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return without_torch(tmp_path_factory.mktemp("environment") / "tensorflow")


@pytest.fixture(scope="module", autouse=True)
def profiles(environment: Path) -> Iterator[None]:
    text = f'backend = "local"\n[environment]\nkind = "venv"\npath = "{environment}"\n'
    made = {
        "own-tf": f'framework = "tensorflow"\n{text}',
        "own": text,
        "own-torch": f'framework = "torch"\n{text}',
    }
    paths.profiles().mkdir(parents=True, exist_ok=True)
    for name, content in made.items():
        (paths.profiles() / f"{name}.toml").write_text(content)
    yield
    for name in made:
        (paths.profiles() / f"{name}.toml").unlink()


def cli(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "dtrain_lab", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)


def test_the_check_of_a_profile_looks_into_its_environment() -> None:
    done = cli("profile", "check", "own-tf", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    [node] = report["nodes"]
    assert (report["framework"], node["tensorflow"], node["torch"]) == ("tensorflow", "2.99.0", "")
    assert "tensorflow" in cli("profile", "check", "own-tf").stdout.splitlines()[0]


def test_an_environment_for_another_framework_is_told_to_name_it(environment: Path) -> None:
    done = cli("profile", "check", "own")
    assert done.returncode != 0
    assert done.stderr.startswith(
        f"dtrain-lab: The environment of {environment}/bin/python has no torch. It has tensorflow: set "
        'framework = "tensorflow" in the profile for jobs that train with it. For PyTorch, install '
        "torch there: "
    )


def test_an_environment_without_the_framework_that_the_profile_names_is_told_so(environment: Path) -> None:
    done = cli("profile", "check", "own-torch")
    python = f"{environment}/bin/python"
    said = f"The environment of {python} has no torch. Install it there: {python} -m pip install torch"
    assert done.stderr.startswith(f"dtrain-lab: {said}")


@pytest.mark.parametrize(("ranks", "helper"), [("1", False), ("2", True)], ids=["in a cell", "in a file"])
def test_a_notebooks_own_framework_is_proposed_instead_of_torch(
    tmp_path: Path, ranks: str, helper: bool
) -> None:
    uses = "import tensorflow as tf\n"
    (tmp_path / "model.py").write_text(uses if helper else "")
    book = write(tmp_path / "train.ipynb", ["import model" if helper else uses, "print(rank)"])
    done = cli("submit", str(book), "--profile", "own", "--ranks-per-node", ranks, "--dry-run")
    said = done.stdout + done.stderr
    assert "no framework is named, and the environment has no torch" in said
    assert 'framework = "tensorflow" in the profile' in said
    assert "Install" not in said


def test_a_notebook_of_no_framework_is_told_both(tmp_path: Path) -> None:
    book = write(tmp_path / "train.ipynb", ["print(rank)"])
    done = cli("submit", str(book), "--profile", "own", "--dry-run")
    assert "has no torch. It has tensorflow: set framework" in done.stderr
