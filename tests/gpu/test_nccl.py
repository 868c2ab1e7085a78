"""NCCL between two ranks: interrupts, deaths, rebuilt groups, and what the user reads."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import dtrain_lab as dt
from dtrain_lab.api.result import Result
from dtrain_lab.errors import CellFailed
from dtrain_lab.rank.torch import names
from tests.gpu.cells import NCCL_SETUP, SHARDED, replace
from tests.waiting import wait_until

SUM = "t = torch.ones(1, device=device)\ndist.all_reduce(t{of})\nprint(t.item())"
TWO = {"2.0\n"}


def same_everywhere(cluster: dt.Cluster) -> None:
    """Train on with the same objects; parameters agree, and so do the sums of all groups."""
    result = cluster.run("equal(); [train() for _ in range(3)]\nprint(round(total(), 9))", timeout=60)
    assert len(set(result.stdout.values())) == 1, result.stdout
    for of in ("", ", group=pair_group"):
        assert set(cluster.run(SUM.format(of=of), timeout=60).stdout.values()) == TWO
    result = cluster.run("t = torch.ones(1)\ndist.all_reduce(t)\nprint(t.item())", timeout=60)
    assert set(result.stdout.values()) == TWO


@pytest.fixture(scope="module")
def trained(pair: dt.Cluster) -> dt.Cluster:
    pair.run(NCCL_SETUP, timeout=60)
    return pair


@pytest.fixture
def interrupted(pair: dt.Cluster, tmp_path: Path) -> Callable[[str], Result]:
    """Runs a cell, and interrupts it once each rank has called `here()` in it."""

    def run(code: str) -> Result:
        results: list[Result] = []
        begin = f"import pathlib\ndef here(): pathlib.Path({str(tmp_path)!r}, str(rank)).touch()\n"
        thread = threading.Thread(target=lambda: results.append(pair.run(begin + code, check=False)))
        thread.start()
        try:
            wait_until(lambda: len(list(tmp_path.iterdir())) == 2, 30, "both ranks to be where they wait")
        finally:
            pair.interrupt()
            thread.join(20)
        assert results, "the interrupt did not end the cell"
        assert "variables are kept" in results[0].sentence
        return results[0]

    return run


def test_the_group_is_of_nccl_and_torch_warns_of_nothing(pair: dt.Cluster) -> None:
    code = "import torch.distributed as dist\nprint(dist.get_backend_config())\ndist.barrier()\n"
    result = pair.run(code + SUM.format(of=""), timeout=60)
    assert set(result.stdout.values()) == {"cpu:gloo,cuda:nccl\n2.0\n"}
    assert not any(result.stderr.values()), result.stderr


def test_a_first_collective_can_be_interrupted(
    trained: dt.Cluster, interrupted: Callable[[str], Result]
) -> None:
    """The GPU waits, and so does the main thread, for a rank that never comes."""
    interrupted(f"here()\nif rank: stand_still()\n{SUM.format(of='')}")
    same_everywhere(trained)


def test_a_rank_that_does_not_wait_for_its_gpu_is_freed(
    trained: dt.Cluster, interrupted: Callable[[str], Result]
) -> None:
    """Only the GPU waits: the main thread has gone on, and is interrupted before anything is aborted."""
    interrupted("if rank == 0: dist.all_reduce(torch.ones(1, device=device))\nhere(); stand_still()")
    same_everywhere(trained)


@pytest.mark.parametrize("turn", range(4))
def test_an_interrupt_in_backward_keeps_model_and_subgroups(
    trained: dt.Cluster, interrupted: Callable[[str], Result], turn: int
) -> None:
    interrupted(f"train(stall={turn % 2}, here=here)\nhere()\ntotal()")
    same_everywhere(trained)


def test_a_rank_that_raises_frees_the_other(trained: dt.Cluster) -> None:
    code = f"if rank: raise ValueError('no data')\n{SUM.format(of='')}"
    assert "no data" in trained.run(code, check=False, timeout=60).sentence
    same_everywhere(trained)


def test_a_rank_that_is_killed_takes_nobody_along(trained: dt.Cluster) -> None:
    trained.run("kept = rank + 1")
    code = f"import os\nif rank: os.kill(os.getpid(), {int(signal.SIGKILL)})\n{SUM.format(of='')}"
    with pytest.raises(CellFailed, match="Rank 1 was lost"):
        trained.run(code, timeout=60)
    replace(trained)
    assert trained.run("print(kept)", ranks=[0]).stdout[0] == "1\n"
    result = trained.run("for _ in range(3): train()\nprint(round(total(), 9))", timeout=60)
    assert len(set(result.stdout.values())) == 1, result.stdout


def test_a_gpu_that_has_failed_is_told_and_its_rank_is_replaced(trained: dt.Cluster) -> None:
    """After a failed assertion on a GPU each later call of CUDA fails in that process."""
    trained.run("kept = rank + 1")
    broken = "x = torch.arange(3, device=device)\n    x[torch.tensor([7], device=device)].cpu()"
    result = trained.run(f"if rank:\n    {broken}\n{SUM.format(of='')}", check=False, timeout=60)
    assert "CUDA fails on rank 1 until you replace it: %distributed restart 1." in result.sentence
    replace(trained)
    assert trained.run("print(kept)", ranks=[0]).stdout[0] == "1\n"
    result = trained.run("for _ in range(3): train()\nprint(round(total(), 9))", timeout=60)
    assert len(set(result.stdout.values())) == 1, result.stdout


def test_a_collective_that_one_rank_leaves_out_is_told(trained: dt.Cluster) -> None:
    code = f"if rank: time.sleep(600)\n{SUM.format(of='')}"
    thread = threading.Thread(target=lambda: trained.run(code, check=False))
    thread.start()
    try:
        told = wait_until(lambda: trained.info()["metrics"]["verdicts"], 40, "a verdict")
    finally:
        trained.interrupt()
        thread.join(20)
    assert told[0]["text"] == "Rank 1 is stuck. 1 rank waits for it."
    assert (told[0]["operation"], told[0]["peers"]) == ("all_reduce", [0])


def test_a_rank_with_a_batch_more_is_told(trained: dt.Cluster) -> None:
    """No collective of DDP is seen from Python, and on a GPU none stops the thread."""
    thread = threading.Thread(
        target=lambda: trained.run("for _ in range(4 - rank): train()\ntotal()", check=False)
    )
    thread.start()
    try:
        told = wait_until(lambda: trained.info()["metrics"]["verdicts"], 40, "a verdict")
    finally:
        trained.interrupt()
        thread.join(20)
    assert told[0]["text"] == "Rank 0 waits in backward; rank 1 has finished the cell."
    same_everywhere(trained)


def test_a_sharded_model_trains_on_after_interrupts(
    pair: dt.Cluster, interrupted: Callable[[str], Result], tmp_path: Path
) -> None:
    pair.run(NCCL_SETUP + SHARDED, timeout=60)
    for turn in range(2):
        for file in tmp_path.iterdir():
            file.unlink()
        interrupted(f"train_sharded(stall={turn}, here=here)")
        again = "" if names.has(names.SHARDED) else SHARDED  # such a torch can't carry the model over
        result = pair.run(f"{again}\nprint(train_sharded())", timeout=60)
        assert len(set(result.stdout.values())) == 1, result.stdout


def test_init_and_destroy_of_tutorials(pair: dt.Cluster) -> None:
    code = f"import torch.distributed as dist\ndist.init_process_group('nccl')\n{SUM.format(of='')}\n"
    for _ in range(2):
        result = pair.run(code + "dist.destroy_process_group()", timeout=60)
        assert [text[-4:] for text in result.stdout.values()] == ["2.0\n"] * 2, result.stdout


def test_a_collective_past_its_time_out_ends_no_rank(pair: dt.Cluster) -> None:
    """As beside a rank that is paused in the debugger: torch's watchdog would end the process."""
    pair.run("import datetime, time, torch.distributed as dist")
    group = "g = dist.new_group([0, 1], timeout=datetime.timedelta(seconds=2))\nif rank: time.sleep(6)\n"
    code = group + SUM.format(of=", group=g")
    assert set(pair.run(code, timeout=60).stdout.values()) == TWO


def test_a_size_is_changed(pair: dt.Cluster) -> None:
    pair.resize(1)
    alone = "t = torch.ones(1, device='cuda')\ndist.all_reduce(t)\nprint(t.item(), world_size)"
    assert pair.run(alone, timeout=60).stdout == {0: "1.0 1\n"}
    pair.resize(2)
    pair.run(
        "import torch, torch.distributed as dist\ndevice = torch.device('cuda', torch.cuda.current_device())"
    )
    assert set(pair.run(SUM.format(of=""), timeout=60).stdout.values()) == TWO
