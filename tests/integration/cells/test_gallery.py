"""Training code as it is widely written, unchanged in a cell: the gallery's commonest pieces."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import dtrain_lab as dt
from gallery.__main__ import fit, judge, pieces, run_in
from tests.waiting import wait_until

pytestmark = [pytest.mark.processes, pytest.mark.timeout(180)]
UNCOUNTED = ("averaged",)
"""Nothing tells us the samples of its batches."""
CLOSE = 0.25
"""Part of the loop's own count, on a busy machine; `make gallery` allows less. Errors have been factors."""
COMMONEST = (
    "accelerate_loop", "arguments", "averaged", "by_hand", "ddp", "fsdp2", "gpt", "ignite_parallel",
    "lightning_fabric", "lightning_trainer", "minigpt_ddp", "mp_spawn", "notebook_launch", "processes",
    "snapshots",
)  # fmt: skip


@pytest.mark.parametrize("name", COMMONEST)
def test_training_code_runs_unchanged_and_its_figures_are_right(pair: dt.Cluster, name: str) -> None:
    (piece,) = [file for file in pieces() if file.stem == name]
    result = run_in(pair, piece.read_text())
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


DEFAULTS = """
from accelerate.state import PartialState
from ignite.distributed.comp_models.native import _NativeDistModel
from lightning.fabric.accelerators.cpu import CPUAccelerator
print(PartialState().num_processes, CPUAccelerator.auto_device_count(),
      _NativeDistModel.create_from_backend("gloo").get_world_size())
"""


def test_frameworks_with_their_defaults_find_the_ranks(pair: dt.Cluster) -> None:
    assert pair.run(DEFAULTS, timeout=90).stdout == dict.fromkeys((0, 1), "2 2 2\n")


FIT = """
import lightning as L, pathlib, time, torch
class Module(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net, self.seen = torch.nn.Linear(4, 1), 0
    def training_step(self, batch, i):
        self.seen += 1
        pathlib.Path(TRAINS, str(self.global_rank)).touch()
        time.sleep(0.05)
        return self.net(batch).sum()
    def configure_optimizers(self): return torch.optim.SGD(self.parameters(), lr=0.01)
trainer = L.Trainer(strategy="ddp", accelerator="cpu", devices=2, max_epochs=9, enable_progress_bar=False,
                    logger=False, enable_checkpointing=False, enable_model_summary=False)
module = Module()
trainer.fit(module, torch.utils.data.DataLoader(torch.randn(800, 4), batch_size=1))
"""


def test_an_interrupt_of_lightning_is_an_interrupt(pair: dt.Cluster, tmp_path: Path) -> None:
    """Its trainer takes the interrupt and ends by `SystemExit: 1`."""
    pair.run(f"TRAINS = {str(tmp_path)!r}")
    with ThreadPoolExecutor() as threads:
        cell = threads.submit(pair.run, FIT, check=False, timeout=90)
        wait_until(lambda: len([*tmp_path.iterdir()]) == 2, 90, "both ranks to train")
        pair.interrupt()
    # whichever collective of Lightning a rank was in
    assert re.fullmatch(
        r"Ranks 0–1 were interrupted( in [\w ]+| \(.*\))?; variables are kept\.", cell.result().sentence or ""
    )
    assert pair.run("print(module.seen > 0)").stdout == dict.fromkeys((0, 1), "True\n")
    assert fit(pair)
