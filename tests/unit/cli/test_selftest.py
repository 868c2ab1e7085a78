"""The trial of `doctor --run`: a step with a wrong result is reported as such, also by `python -O`."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from dtrain_lab.cli import selftest


class Cluster:
    """Two ranks, of which one sums wrongly; a cell that should fail succeeds, and variables are lost."""

    def snapshot(self) -> Any:
        ranks = [SimpleNamespace(device="cpu")] * 2
        return SimpleNamespace(world=SimpleNamespace(size=2), ranks=ranks)

    def run(self, *_: Any, **__: Any) -> Any:
        return SimpleNamespace(ranks=(0, 1), stdout={0: "2", 1: "3"}, failures=(), sentence="It went on.")

    def restart(self, ranks: list[int]) -> None:
        assert ranks == [1]

    def stop(self) -> None:
        pass


def test_each_wrong_result_fails_its_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selftest, "start", lambda **_: Cluster())
    steps = {step["step"]: step for step in selftest.run(gpu=False, ranks=2)}
    assert [name for name, step in steps.items() if step["ok"]] == ["start ranks", "stop"]
    assert steps["all_reduce"]["message"] == "expected 2: {0: '2', 1: '3'}"
    assert steps["interrupt a cell that hangs"]["message"] == "It went on."
    assert steps["kill a rank"]["message"] == "the cell did not fail"
    assert steps["replace it"]["message"] == "rank 0 lost its variables"


def test_no_check_is_an_assertion_which_python_may_leave_out() -> None:
    code = (
        "from tests.unit.cli.test_selftest import Cluster, selftest\n"
        "selftest.start = lambda **_: Cluster()\n"
        "print([step['ok'] for step in selftest.run(False, 2)].count(False))"
    )
    done = subprocess.run([sys.executable, "-O", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "6\n"
