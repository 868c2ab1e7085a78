"""The public names of the package, whatever of it was imported before."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import cloudpickle
import pytest

import dtrain_lab as dt

FOLDERS = sorted(p.name for p in Path(dt.__file__).parent.iterdir() if (p / "__init__.py").exists())


def test_no_folder_hides_a_public_name() -> None:
    """`dtrain_lab.jobs` is a folder, too; importing it sets an attribute of the package."""
    assert "jobs" in FOLDERS
    for name in set(FOLDERS) & set(dt.__all__):
        import_module(f"dtrain_lab.{name}")
        assert callable(getattr(dt, name))
        assert not isinstance(getattr(dt, name), ModuleType)


@pytest.mark.parametrize("code", ["import dtrain_lab.jobs.state", "from dtrain_lab.jobs import state"])
def test_jobs_is_a_function_in_a_fresh_process_too(code: str) -> None:
    asks = (
        f"{code}\nimport dtrain_lab as dt\nprint(callable(dt.jobs), state.job if 'from' in {code!r} else '')"
    )
    done = subprocess.run([sys.executable, "-c", asks], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("True")


def test_the_package_travels_by_name_as_a_variable_of_a_rank() -> None:
    """`import dtrain_lab as dt` in a cell makes it one, and `restart --from` copies variables."""
    assert cloudpickle.loads(cloudpickle.dumps({"dt": dt}))["dt"] is dt


@pytest.mark.parametrize("name", dt.__all__)
def test_each_name_is_there(name: str) -> None:
    assert getattr(dt, name) is not None
