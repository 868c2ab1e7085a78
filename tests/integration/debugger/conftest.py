"""Two ranks that have imported files, which a debugger steps through."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import dtrain_lab as dt
from dtrain_lab.api.debug import Debugger
from tests.integration.debugger.cells import STEPS
from tests.waiting import wait_until


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    """Name → text; a module has its own by a fixture of this name."""
    return {"steps.py": STEPS}


@pytest.fixture(scope="module")
def imports() -> str:
    """What the ranks run before the first test."""
    return "import steps"


@pytest.fixture(scope="module")
def folder(files: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("code")
    for name, text in files.items():
        (made / name).write_text(text)
    return made


@pytest.fixture(scope="module")
def module(files: dict[str, str], folder: Path) -> Path:
    """The first of the files."""
    return folder / next(iter(files))


@pytest.fixture(scope="module")
def cluster(folder: Path, imports: str) -> Iterator[dt.Cluster]:
    with dt.start(ranks=2) as made:
        made.run(f"import sys; sys.path.insert(0, {str(folder)!r})\n{imports}")
        yield made


@pytest.fixture
def tidy(cluster: dt.Cluster) -> Iterator[None]:
    """A test that fails leaves no cell behind that the next one would wait for."""
    yield
    if cluster.info()["running"]:
        cluster.interrupt()
        wait_until(lambda: not cluster.info()["running"], 20, "the cell to end")


@pytest.fixture
def debugger(cluster: dt.Cluster) -> Iterator[Debugger]:
    with cluster.debug() as made:
        yield made
