"""What ranks of clusters and of jobs set up in the same way."""

from __future__ import annotations

import os
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from dtrain_lab.rank.cells import rank_variables
from dtrain_lab.rank.setup import set_threads

VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


@pytest.fixture
def set_to(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of threads that torch was told."""
    numbers: list[int] = []
    monkeypatch.setattr(torch, "set_num_threads", numbers.append)
    for name in VARIABLES:
        monkeypatch.setenv(name, "1")  # as in the fork server
    return numbers


def test_a_rank_and_its_children_compute_with_its_share_of_the_cores(set_to: list[int]) -> None:
    set_threads({}, 6)
    assert set_to == [6]
    assert [os.environ[name] for name in VARIABLES] == ["6", "6", "6"]


def test_the_number_of_threads_that_the_user_chose_takes_precedence(set_to: list[int]) -> None:
    """Also for children: their environment has the user's variables already."""
    set_threads({"OMP_NUM_THREADS": "3"}, 6)
    assert set_to == [3]
    assert [os.environ[name] for name in VARIABLES] == ["1", "1", "1"]


def test_a_job_without_the_variable_keeps_the_number_that_torch_chose(set_to: list[int]) -> None:
    set_threads({})
    assert set_to == []


@pytest.mark.parametrize(
    ("chosen", "threads"), [({}, ["3", "3", "3"]), ({"OMP_NUM_THREADS": "8"}, ["1"] * 3)]
)
def test_a_resize_changes_the_share_of_a_rank_and_its_children_unless_the_user_chose(
    chosen: dict[str, str], threads: list[str], set_to: list[int]
) -> None:
    names = {"world_size": 2}
    shell: Any = SimpleNamespace(user_ns=dict(names), user_ns_hidden=names)
    spec: Any = SimpleNamespace(variables=chosen)
    order: Any = SimpleNamespace(size=4, threads=3)
    rank_variables.resized(shell, spec, order)
    assert shell.user_ns["world_size"] == 4
    assert set_to == ([] if chosen else [3])
    assert [os.environ[name] for name in VARIABLES] == threads


def test_a_job_loads_nothing_of_a_clusters_groups() -> None:
    """They import FSDP, which takes a second; jobs have a group of their own class."""
    code = "import sys, dtrain_lab.rank.setup; print('dtrain_lab.rank.group.lifecycle' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
