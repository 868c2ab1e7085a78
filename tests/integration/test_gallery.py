"""Training code as it is widely written, unchanged in a cell: pieces of the gallery that need torch alone."""

from __future__ import annotations

from pathlib import Path

import pytest

import dtrain_lab as dt
from gallery.__main__ import HERE, fit, judge, run_in
from tests.waiting import wait_until

pytestmark = [pytest.mark.processes, pytest.mark.timeout(180)]
UNCOUNTED = ("averaged",)
"""Nothing tells us the samples of its batches."""
CLOSE = 0.25
"""Part of the loop's own count, on a busy machine; `make gallery` allows less. Errors have been factors."""
COMMONEST = (
    "arguments", "averaged", "by_hand", "ddp", "fsdp2", "gpt", "minigpt_ddp", "mp_spawn", "processes",
    "snapshots",
)  # fmt: skip


@pytest.mark.parametrize("name", COMMONEST)
def test_training_code_runs_unchanged_and_its_figures_are_right(pair: dt.Cluster, name: str) -> None:
    result = run_in(pair, (HERE / "code" / f"{name}.py").read_text())
    assert not result.failures, result.sentence
    ran = judge(list(result.stdout.values()), None)
    assert not ran.error
    own = ran.own or 0.0

    def shown() -> float:
        found = (pair.info()["metrics"] or {}).get("samples_per_s")
        return float(found or 0.0)

    if name not in UNCOUNTED:
        wait_until(lambda: abs(shown() / own - 1) <= CLOSE, 10, f"{own:.0f} samples/s to be shown")
    assert fit(pair)


FRAMEWORKS = {
    "accelerate/state.py": (
        "class PartialState:\n    def __init__(self, cpu=False, **kwargs): self.cpu = cpu\n"
    ),
    "lightning/fabric/accelerators/cpu.py": (
        "class CPUAccelerator:\n    @staticmethod\n    def auto_device_count(): return 1\n"
    ),
    "ignite/distributed/comp_models/native.py": """
class _NativeDistModel:
    @staticmethod
    def create_from_context(): return "the ranks' group"
    @staticmethod
    def create_from_backend(backend, **kwargs): raise RuntimeError("Can not create a second group")
""",
}
"""What Accelerate, Lightning and ignite ask to learn of the ranks, as they name it."""


def test_frameworks_with_their_defaults_find_the_ranks(pair: dt.Cluster, tmp_path: Path) -> None:
    for name, text in FRAMEWORKS.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
    code = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
from accelerate.state import PartialState
from ignite.distributed.comp_models.native import _NativeDistModel
from lightning.fabric.accelerators.cpu import CPUAccelerator
print(PartialState().cpu, CPUAccelerator.auto_device_count(), _NativeDistModel.create_from_backend("gloo"))
"""
    assert pair.run(code).stdout == dict.fromkeys((0, 1), "True 2 the ranks' group\n")
