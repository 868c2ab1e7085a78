"""Interrupts inside collectives, deaths, and models that go on working after them."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import ipyparallel as ipp
import psutil
import pytest

import dtrain_lab as dt
from dtrain_lab.errors import CellFailed, Conflict, Unreachable
from dtrain_lab.rank.torch import names
from tests.faults import note
from tests.integration.ranks import in_background, stands_in
from tests.waiting import wait_until

pytestmark = pytest.mark.processes

SETUP = """
import time, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
model = DDP(net, bucket_cap_mb=0.001)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
pair_group = dist.new_group([0, 1])
def train(stall=-1):
    optimizer.zero_grad()
    out = model(torch.randn(4, 8))
    if rank == stall:
        out.register_hook(lambda g: time.sleep(600))
    out.square().mean().backward()
    optimizer.step()
def total():
    return sum(p.double().abs().sum().item() for p in model.parameters())
train(); train()
"""


def same_everywhere(cluster: dt.Cluster) -> None:
    """Train on with the same objects; parameters agree on all ranks, and so do the subgroup's sums."""
    result = cluster.run("for _ in range(3): train()\nprint(round(total(), 9))", timeout=60)
    assert len(set(result.stdout.values())) == 1, result.stdout
    result = cluster.run(
        "t = torch.ones(1)\ndist.all_reduce(t, group=pair_group)\nprint(t.item())", timeout=60
    )
    assert set(result.stdout.values()) == {"2.0\n"}


@pytest.fixture(scope="module")
def trained(pair: dt.Cluster) -> dt.Cluster:
    pair.run(SETUP)
    return pair


@pytest.mark.parametrize("turn", range(5))
def test_an_interrupt_in_backward_keeps_model_and_subgroups(trained: dt.Cluster, turn: int) -> None:
    thread, results = in_background(lambda: trained.run(f"train(stall={turn % 2})", check=False))
    stands_in(trained, 0, ("busy", "in collective"))
    trained.interrupt()
    thread.join(20)
    assert "interrupted" in results[0].sentence
    assert "variables are kept" in results[0].sentence
    same_everywhere(trained)


def test_a_rank_that_fails_to_connect_takes_nobody_along() -> None:
    """The other one waits for it in gloo's connection, on its main thread: the next group needs it."""
    breaks = """
import time, torch, torch.distributed as dist
from dtrain_lab.rank.group import lifecycle
def fail(*_):
    raise RuntimeError("CUDA error: an illegal memory access was encountered")
kept = rank + 1
if rank: lifecycle.Group._repoint = fail
"""
    with dt.start(ranks=2) as cluster:
        cluster.run(breaks)
        stuck = "if rank: time.sleep(600)\ndist.all_reduce(torch.ones(1))"
        cluster.run(stuck, timeout=1, check=False)
        wait_until(lambda: cluster.state == "degraded", 20, "the failure")
        cluster.restart([1])
        wait_until(lambda: cluster.state == "ready", 20, "the group")
        assert cluster.run("print(kept)", ranks=[0]).stdout == {0: "1\n"}
        cluster.run("import torch, torch.distributed as dist\ndist.all_reduce(torch.ones(1))", timeout=30)


def test_ranks_that_an_interrupt_leaves_a_step_apart_are_told(trained: dt.Cluster) -> None:
    small = "optimizer.param_groups[0]['lr'] = 1e-4; optimizer.zero_grad()"
    half = f"{small}\nmodel(torch.ones(4, 8)).mean().backward()\nif rank: time.sleep(600)"
    stop = f"{half}\noptimizer.step(); dist.all_reduce(torch.ones(1))"
    thread, _ = in_background(lambda: trained.run(stop, check=False))
    stands_in(trained, 0, ("in collective", "stuck"))
    trained.interrupt()
    thread.join(20)
    told = "".join(trained.run("train()", timeout=60).stderr.values())
    assert "The parameters of rank 1 differ from those of rank 0 (" in told
    assert "%distributed restart 1 --from 0" in told
    assert not any(trained.run("train()", timeout=60).stderr.values()), "told once"
    trained.run("optimizer.param_groups[0]['lr'] = 0.01")
    trained.restart([1], source=0)
    assert not any(trained.run("train()", timeout=60).stderr.values())
    same_everywhere(trained)


SHARDED = """
import time, torch, torch.distributed as dist
from torch.distributed.fsdp import fully_shard
torch.manual_seed(0)
sharded = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2))
for layer in (sharded[0], sharded[2]):
    fully_shard(layer)
fully_shard(sharded)
sharded_optimizer = torch.optim.SGD(sharded.parameters(), lr=0.01)
def train_sharded(stall=-1):
    sharded_optimizer.zero_grad()
    out = sharded(torch.randn(4, 8))
    if rank == stall:
        out.register_hook(lambda g: time.sleep(600))
    out.square().mean().backward()
    sharded_optimizer.step()
    return round(sum(p.full_tensor().double().abs().sum().item() for p in sharded.parameters()), 9)
train_sharded()
"""


@pytest.mark.skipif(names.has(names.SHARDED), reason="this torch carries models of FSDP2 over")
def test_a_torch_that_carries_no_sharded_model_over_says_so(pair: dt.Cluster) -> None:
    pair.run(SHARDED)
    thread, _ = in_background(lambda: pair.run("train_sharded(stall=1)", check=False))
    stands_in(pair, 0, ("busy", "in collective"))
    pair.interrupt()
    thread.join(20)
    told = wait_until(lambda: pair.info()["metrics"]["verdicts"], 20, "what was left behind")[0]
    assert told["text"] == "FSDPSequential, sharded by FSDP2 has no connection to the new group on ranks 0–1."
    assert told["hint"] == "Create them again: run their cells."
    assert len(set(pair.run(f"{SHARDED}\nprint(train_sharded())", timeout=60).stdout.values())) == 1


@pytest.mark.skipif(not names.has(names.SHARDED), reason="this torch carries no model of FSDP2 over")
def test_a_sharded_model_trains_on_after_five_interrupts_in_backward(pair: dt.Cluster) -> None:
    pair.run(SHARDED)
    for turn in range(5):
        thread, results = in_background(
            lambda rank=turn % 2: pair.run(f"train_sharded(stall={rank})", check=False)
        )
        stands_in(pair, 0, ("busy", "in collective"))
        pair.interrupt()
        thread.join(20)
        assert "interrupted" in results[0].sentence
        result = pair.run("for _ in range(2): total_now = train_sharded()\nprint(total_now)", timeout=60)
        assert len(set(result.stdout.values())) == 1, result.stdout


@pytest.mark.parametrize(
    ("left", "is_as_before", "told"),
    [
        ("torch.set_grad_enabled(False)", "torch.is_grad_enabled()", "gradients disabled"),
        (
            "torch.autocast('cpu').__enter__()",
            "(torch.is_autocast_enabled('cpu'), torch.autocast_increment_nesting()) == (False, 1)"
            " and not torch.autocast_decrement_nesting()",
            "a torch.autocast context open",
        ),
    ],
)
def test_an_interrupt_amid_the_end_of_a_torch_context_leaves_no_mode_behind(
    pair: dt.Cluster, left: str, is_as_before: str, told: str
) -> None:
    """As if it had arrived in `no_grad.__exit__`, before its own code."""
    ended = pair.run(f"import torch\n{left}\nraise KeyboardInterrupt", check=False)
    assert "were interrupted" in (ended.sentence or "")
    assert all(told in text for text in ended.stderr.values())
    assert set(pair.run(f"print({is_as_before})").stdout.values()) == {"True\n"}
    kept = pair.run("with torch.no_grad():\n    x = 1\nraise KeyboardInterrupt", check=False)
    assert not any(kept.stderr.values()), "nothing was changed"


def test_a_mode_that_an_earlier_cell_has_set_outlasts_an_interrupt(pair: dt.Cluster) -> None:
    pair.run("import torch\ntorch.set_grad_enabled(False)")
    try:
        ended = pair.run("raise KeyboardInterrupt", check=False)
        assert not any(ended.stderr.values())
        assert set(pair.run("print(torch.is_grad_enabled())").stdout.values()) == {"False\n"}
    finally:
        pair.run("torch.set_grad_enabled(True)")


def test_an_interrupt_in_a_collective_names_it(trained: dt.Cluster) -> None:
    code = "time.sleep(600) if rank else dist.barrier()"
    thread, results = in_background(lambda: trained.run(code, check=False))
    stands_in(trained, 0, ("in collective",))
    trained.interrupt()
    thread.join(20)
    assert results[0].sentence == "Ranks 0–1 were interrupted (rank 0 in barrier); variables are kept."
    same_everywhere(trained)


def test_an_exception_on_one_rank_frees_the_others(trained: dt.Cluster) -> None:
    began = time.monotonic()
    with pytest.raises(
        CellFailed, match=r"Rank 1 failed: ValueError: bad batch\. Rank 0 was interrupted in barrier"
    ) as failed:
        trained.run("if rank == 1:\n    raise ValueError('bad batch')\ndist.barrier()")
    note(
        "an exception on one rank while others wait for it",
        "the cluster: the rank reports its error",
        failed.value.message,
        "everything",
        "cell ended",
        time.monotonic() - began,
    )
    same_everywhere(trained)


def test_a_killed_rank_is_named_and_replaced_and_the_survivors_models_go_on(trained: dt.Cluster) -> None:
    code = """
import os, signal
kept = 17
if rank == 1:
    os.kill(os.getpid(), signal.SIGKILL)
dist.barrier()
"""
    began = time.monotonic()
    with pytest.raises(CellFailed, match=r"Rank 1 was lost: killed by signal 9 \(SIGKILL\).") as failed:
        trained.run(code)
    note(
        "a rank is killed in a collective",
        "the cluster, as soon as the process ends",
        failed.value.message,
        "variables, models and groups of all others",
        "cell ended",
        time.monotonic() - began,
    )
    info = trained.info()
    assert (info["state"], info["ranks"][1]["state"]) == ("degraded", "lost")
    assert info["summary"]["text"] == "Rank 1 was lost. The cell has failed."
    assert "%distributed restart 1" in info["reason"]["hint"]
    with pytest.raises(Conflict, match="Rank 1 was lost"):
        trained.run("print(1)")
    assert trained.run("print(kept)", ranks=[0]).stdout == {0: "17\n"}
    trained.restart([1])
    assert trained.state == "ready"
    # a newcomer builds its model without the collectives that the survivors would have to join
    newcomer = SETUP.replace("DDP(net, ", "DDP(net, init_sync=False, ").replace("train(); train()", "")
    trained.run(newcomer.replace("pair_group = dist.new_group([0, 1])", ""), ranks=[1])
    trained.run("for p in model.parameters(): dist.broadcast(p.data, 0)")
    result = trained.run("for _ in range(3): train()\nprint(round(total(), 9))", timeout=60)
    assert len(set(result.stdout.values())) == 1


def test_the_controller_is_killed_and_views_and_new_ranks_find_the_next(
    pair: dt.Cluster, tmp_path: Path
) -> None:
    pids = {r["pid"] for r in pair.info()["ranks"]}
    server = psutil.Process(min(pids)).parent()
    assert server is not None
    pair.run("kept = rank + 7")
    assert views(pair) == [7, 8]
    controller = next(p for p in server.children() if p.pid not in pids)
    view = pair.view()
    runs = tmp_path / "runs"
    thread, lost = in_background(lambda: refused(lambda: view.apply_sync(begins, str(runs))))
    wait_until(runs.exists, 20, "the view's call to run")
    began = time.monotonic()
    controller.kill()
    assert pair.run("print(kept)", timeout=20).stdout == {0: "7\n", 1: "8\n"}, "cells need it not"
    thread.join(20)
    assert "call again" in lost[0]
    wait_until(lambda: views(pair) == [7, 8], 60, "views to work again")
    note(
        "ipyparallel's controller is killed",
        "the cluster, which starts another at the same address",
        "–",
        "everything; cells don't need the controller, views wait for it",
        "views work again",
        time.monotonic() - began,
    )
    pair.restart([1])
    assert pair.run("import torch.distributed as dist\ndist.barrier()", timeout=30).ok
    pair.run("kept = rank + 7", ranks=[1])
    assert views(pair) == [7, 8], "and a new rank is known to it"


def begins(path: str) -> None:
    """On ranks, from a view."""
    import pathlib
    import time

    pathlib.Path(path).touch()
    time.sleep(5)


def refused(work: Any) -> str:
    with pytest.raises(Unreachable) as error:
        work()
    return error.value.hint


def views(cluster: dt.Cluster) -> list[int]:
    try:
        found: list[int] = cluster.view().pull("kept", block=True)
    except (TimeoutError, ipp.error.IPythonError):
        return []
    return found


def test_a_rank_that_leaves_by_itself_is_told_with_its_code(pair: dt.Cluster) -> None:
    with pytest.raises(CellFailed, match="Rank 0 was lost: exited with code 3"):
        pair.run("import os\nif rank == 0:\n    os._exit(3)\nimport time; time.sleep(600)")
    pair.restart()
    assert pair.run("print(rank)").stdout == {0: "0\n", 1: "1\n"}


def test_a_fresh_world_survives_a_restart_and_views_still_find_their_ranks() -> None:
    with dt.start(ranks=2) as cluster:
        cluster.restart([1])
        assert cluster.run("import torch.distributed as dist\ndist.barrier()", timeout=30).ok
        ranks = cluster.view().apply_sync(lambda: int(__import__("os").environ["RANK"]))
        assert ranks == [0, 1]


def test_a_rank_that_does_not_answer_an_interrupt_is_named_and_can_be_restarted(pair: dt.Cluster) -> None:
    code = """
import signal, time
if rank == 1:
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    time.sleep(600)
"""
    thread, results = in_background(lambda: pair.run(code, check=False))
    stands_in(pair, 1, ("busy",))
    stands_in(pair, 0, ("idle",))
    pair.interrupt()
    said = "Rank 1 does not answer the interrupt."
    wait_until(lambda: pair.info()["summary"]["text"] == said, 20, "the sentence")
    thread.join(20)
    assert results[0].sentence == "Rank 1 does not answer the interrupt: wait, or %distributed restart 1."
    with pytest.raises(Conflict, match="Rank 1 does not answer"):
        pair.run("print(rank)")
    assert pair.run("print(rank)", ranks=[0]).stdout == {0: "0\n"}
    pair.restart([1])
    assert pair.run("import torch.distributed as dist\ndist.barrier()", timeout=30).ok


def test_a_time_out_ends_a_cell_also_when_a_rank_is_stopped_and_it_may_come_back(pair: dt.Cluster) -> None:
    pair.run("kept = rank + 40")
    pid = pair.info()["ranks"][1]["pid"]
    os.kill(pid, signal.SIGSTOP)
    try:
        began = time.monotonic()
        result = pair.run("import torch.distributed as dist\ndist.barrier()", timeout=2, check=False)
        took = time.monotonic() - began
    finally:
        os.kill(pid, signal.SIGCONT)
    assert result.sentence == (
        "The cell took longer than 2 s. Rank 1 does not answer the interrupt: wait, or "
        "%distributed restart 1. Rank 0 was interrupted in barrier; variables are kept."
    )
    note(
        "the cell is interrupted while a rank is stopped (SIGSTOP) or in uninterruptible C code",
        "the cluster, 5 s after the rank should have answered",
        result.sentence,
        "everything; also the rank's variables, if it resumes",
        "cell ended, including its time-out of 2 s",
        took,
    )
    wait_until(lambda: pair.info()["summary"]["text"].startswith("Ready"), 30, "its coming back")
    code = "import torch, torch.distributed as dist\nt = torch.ones(1)\ndist.all_reduce(t)\n"
    code += "print(t.item(), kept)"
    assert pair.run(code, timeout=30).stdout == {0: "2.0 40\n", 1: "2.0 41\n"}


def test_a_destroyed_group_comes_back_with_the_next_cell(pair: dt.Cluster) -> None:
    pair.run("import torch, torch.distributed as dist\ndist.destroy_process_group()")
    result = pair.run("t = torch.ones(1)\ndist.all_reduce(t)\nprint(t.item())", timeout=60)
    assert set(result.stdout.values()) == {"2.0\n"}


def test_a_stuck_world_says_who_is_missing_and_where(pair: dt.Cluster) -> None:
    code = "import time, torch.distributed as dist\nif rank == 1:\n    time.sleep(600)\ndist.barrier()"
    thread, _ = in_background(lambda: pair.run(code, check=False))
    verdicts = wait_until(lambda: pair.info()["metrics"]["verdicts"], 30, "a verdict")
    wait_until(lambda: (pair.info()["metrics"]["verdicts"] or [{}])[0].get("where"), 10, "the place")
    info = pair.info()
    assert info["summary"]["text"] == "Rank 1 is stuck. 1 rank waits for it."
    assert (verdicts[0]["ranks"], verdicts[0]["peers"], verdicts[0]["operation"]) == ([1], [0], "barrier")
    assert info["metrics"]["verdicts"][0]["where"]["line"] == 3
    assert info["ranks"][1]["state"] == "stuck"
    pair.interrupt()
    thread.join(20)
    assert pair.run("print(1)", timeout=30).ok
