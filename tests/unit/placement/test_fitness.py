"""Are nodes fit for one world? Pure."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from msgspec.structs import replace

from dtrain_lab.placement import compatibility
from dtrain_lab.wire.node_check import Check
from dtrain_lab.wire.plan import NodeFacts
from dtrain_lab.wire.summary import Summary

GOOD = Check(
    facts=NodeFacts("a", "", 8, 0, 1 << 33),
    python="/v/bin/python",
    versions={"python": "3.12.4", "torch": "2.13.0", "dtrain-lab": "1.0", "ipyparallel": "9.2"},
    shm_bytes=1 << 30,
    files=4096,
)


@dataclass
class Case:
    change: dict[str, object]
    code: str
    part: str


def version(package: str, text: str) -> dict[str, object]:
    return {"versions": {**GOOD.versions, package: text}}


@pytest.mark.parametrize(
    "case",
    [
        Case(version("torch", ""), "package_missing", "b has no torch"),
        Case(version("dtrain-lab", ""), "package_missing", "b has no dtrain-lab"),
        Case({"files": 256}, "few_files", "b lets a process open 256 files"),
        Case(version("torch", "2.12.0"), "versions_differ", "b has 2.12.0, the others 2.13.0"),
        Case(version("python", "3.11.9"), "versions_differ", "b has 3.11, the others 3.12"),
    ],
)
def test_the_node_and_the_difference_are_named(case: Case) -> None:
    error = compatibility.unfit({"a": GOOD, "b": replace(GOOD, **case.change), "c": GOOD})
    assert error is not None
    assert error.code == case.code
    assert case.part in error.message
    assert error.hint


def test_good_nodes_are_fit_and_patch_releases_of_python_too() -> None:
    assert compatibility.unfit({"a": GOOD, "b": replace(GOOD, **version("python", "3.12.9"))}) is None


def test_little_shared_memory_is_a_warning() -> None:
    found = compatibility.warnings({"a": GOOD, "b": replace(GOOD, shm_bytes=1 << 20)})
    said = "b has 1 MiB free in /dev/shm; DataLoader workers may need more."
    assert found == (Summary("little_shm", {"node": "b", "free_mib": 1}, said),), "as in room.spec.ts"


def test_npus_need_torch_npu() -> None:
    error = compatibility.unfit({"a": GOOD}, None, "npu")
    assert error is not None
    assert (error.message, error.code) == ("The environment on a has no torch_npu.", "package_missing")
    assert error.hint == "Install it there: /v/bin/python -m pip install torch_npu"
    good = replace(GOOD, **version("torch_npu", "2.13.0"))
    assert compatibility.unfit({"a": good}, None, "npu") is None
    mindspore = replace(GOOD, **version("mindspore", "2.10"))
    assert compatibility.unfit({"a": mindspore}, "mindspore", "npu") is None


def test_what_else_an_environment_is_for_is_told_unless_torch_is_named() -> None:
    other = replace(GOOD, versions={**GOOD.versions, "torch": "", "tensorflow": "2.21"})
    error = compatibility.unfit({"a": other})
    assert error is not None
    assert error.hint == (
        'It has tensorflow: set framework = "tensorflow" in the profile for jobs that train with it. '
        "For PyTorch, install torch there: /v/bin/python -m pip install torch"
    )
    error = compatibility.unfit({"a": other}, "torch")
    assert error is not None
    assert error.hint == "Install it there: /v/bin/python -m pip install torch"
