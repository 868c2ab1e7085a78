"""More ranks than GPUs: they share them, over gloo."""

from __future__ import annotations

import dtrain_lab as dt
from tests.gpu.cells import PREDICT, SETUP, said


def test_ranks_that_share_a_gpu_train_and_survive(crowd: dt.Cluster) -> None:
    shared = crowd.run("import torch.distributed as dist\nprint(dist.get_backend_config())").stdout
    assert set(shared.values()) == {"cpu:gloo,cuda:gloo\n"}
    crowd.run(
        f"{SETUP}model = DDP(make())\noptimizer = torch.optim.SGD(model.parameters(), lr=0.01)", timeout=60
    )
    _same(crowd, 30)
    waits = "if rank: time.sleep(600)\ntrain(model, optimizer, 1)"
    assert "variables are kept" in crowd.run(waits, timeout=2, check=False).sentence
    _same(crowd, 3)
    dies = "import os\nif rank: os.kill(os.getpid(), 9)\ntrain(model, optimizer, 3)"
    assert "Rank 1 was lost" in crowd.run(dies, timeout=60, check=False).sentence
    crowd.restart([1], source=0)
    _same(crowd, 3)


def _same(cluster: dt.Cluster, steps: int) -> None:
    found = said(cluster, f"train(model, optimizer, {steps})\nprint(total(model))")
    assert len({text.splitlines()[-1] for text in found}) == 1, found


def test_a_model_predicts_in_order(crowd: dt.Cluster) -> None:
    crowd.run(SETUP, timeout=60)
    found = said(crowd, PREDICT, 90)
    assert all("1001 True" in text for text in found)
