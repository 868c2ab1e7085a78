"""Nine ways to hang on four real ranks: each verdict names the right ranks and the cause, soon."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

import dtrain_lab as dt
from dtrain_lab.errors import CellFailed
from tests.waiting import wait_until

pytestmark = [pytest.mark.processes, pytest.mark.timeout(120)]

THRESHOLD_S = 2.0
BEFORE = """
import ctypes, os, signal, time, torch, torch.distributed as dist
x = torch.ones(1000)
for _ in range(20):
    dist.all_reduce(x)
"""
AFTER = "\ndist.all_reduce(x)\n"


@dataclass
class Hang:
    """A way to hang: what a rank does, and what the verdict has to say of it."""

    code: str
    kind: str
    ranks: list[int]
    says: str
    line: int | None = None


HANGS = {
    "sleep": Hang("if rank == 3: time.sleep(600)", "stuck", [3], "Rank 3 is stuck. 3 ranks wait for it.", 6),
    "busy": Hang("while rank == 3: pass", "stuck", [3], "Rank 3 is stuck. 3 ranks wait for it.", 6),
    "gil": Hang(
        "if rank == 3: ctypes.PyDLL(None).sleep(600)",
        "stuck",
        [3],
        "Rank 3 is stuck. 3 ranks wait for it.",
        6,
    ),
    "stop": Hang(
        "if rank == 3: os.kill(os.getpid(), signal.SIGSTOP)",
        "stuck",
        [3],
        "Rank 3 is stopped by a signal. 3 ranks wait for it.",
    ),
    # messages between two ranks are nobody else's business
    "messages": Hang(
        "if rank < 2: dist.send(x, 1) if rank == 0 else dist.recv(x, 0)\nif rank == 3: time.sleep(600)",
        "stuck",
        [3],
        "Rank 3 is stuck. 3 ranks wait for it.",
        7,
    ),
    "operation": Hang(
        "if rank == 1: dist.broadcast(x, 0)",
        "mismatch",
        [1],
        "Rank 1 called broadcast where 3 ranks called all_reduce.",
    ),
    "extra": Hang(
        "if rank == 1: dist.all_reduce(x)",
        "mismatch",
        [1],
        "Rank 1 called all_reduce once more than ranks 0 and 2-3, which have ended the cell.",
    ),
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dt.Cluster]:
    folder = tmp_path_factory.mktemp("config") / "dtrain-lab" / "profiles"
    folder.mkdir(parents=True)
    watch = f"[watch]\nstuck_after_s = {THRESHOLD_S}\n"
    (folder / "watched.toml").write_text(f"ranks_per_node = 4\n{watch}")
    (folder / "acting.toml").write_text(f'ranks_per_node = 2\n{watch}on_hang = "interrupt"\n')
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_CONFIG_DIR", str(folder.parents[1]))
        patch.setenv("XDG_CONFIG_HOME", str(folder.parents[1]))
        with dt.start("watched", name="hangs") as cluster:
            yield cluster


def begun(world: dt.Cluster, code: str) -> tuple[threading.Thread, list[Any]]:
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(world.run(code, check=False)))
    thread.start()
    return thread, results


def again(world: dt.Cluster) -> None:
    """The world works: all of it, with new processes for those that died."""
    lost = [str(r["rank"]) for r in world.info()["ranks"] if r["state"] == "lost"]
    if lost:
        world.restart(",".join(lost))
    wait_until(lambda: world.state == "ready", 30, "the world to be ready again")
    assert world.run("import torch.distributed as dist\ndist.barrier()", timeout=30).ok


@pytest.mark.parametrize("name", HANGS)
def test_a_hang_is_told_with_the_right_ranks_and_the_cause(world: dt.Cluster, name: str) -> None:
    hang = HANGS[name]
    thread, results = begun(world, BEFORE + hang.code + AFTER)

    def found() -> Any:
        if results:
            pytest.fail(f"it did not hang: {results[0].sentence}")
        verdicts = world.info()["metrics"]["verdicts"]
        return verdicts[0] if verdicts else None

    verdict = wait_until(found, 20, "a verdict")
    try:
        assert (verdict["kind"], verdict["ranks"]) == (hang.kind, hang.ranks)
        assert verdict["text"] == hang.says
        assert verdict["since_s"] < THRESHOLD_S + 1.0
        assert world.info()["summary"]["text"] == hang.says
        if hang.line is not None:
            place = wait_until(lambda: (found() or {}).get("where"), 10, "its line")
            assert place["line"] == hang.line
        if name == "gil":
            assert "line 6" in world.stacks()[3]
    finally:
        if name == "stop":
            os.kill(world.info()["ranks"][3]["pid"], signal.SIGCONT)
        world.interrupt()
        thread.join(5)
        if thread.is_alive():  # the GIL is held: no interrupt gets through
            world.restart("3")
            thread.join(30)
        again(world)


@pytest.mark.parametrize(
    ("change", "called"),
    [("torch.ones(2000)", "float32[2000]"), ("x.double()", "float64[1000]")],
    ids=["shape", "dtype"],
)
def test_sizes_that_differ_are_named_also_where_gloo_ends_a_rank_of_them(
    world: dt.Cluster, change: str, called: str
) -> None:
    """gloo's own check aborts a process; which one is luck, and it may also just wait."""
    thread, results = begun(world, BEFORE + f"if rank == 1: x = {change}" + AFTER)
    says = f"Rank 1 called all_reduce {called} where 3 ranks called all_reduce float32[1000]."

    def told() -> str:
        verdicts = world.info()["metrics"]["verdicts"]
        return str(results[0].sentence if results else verdicts[0]["text"] if verdicts else "")

    assert wait_until(told, 20, "a sentence").startswith(says)
    world.interrupt()
    thread.join(30)
    again(world)


def test_a_killed_rank_ends_the_cell_at_once(world: dt.Cluster) -> None:
    with pytest.raises(CellFailed, match="Rank 3 was lost"):
        world.run(BEFORE + "if rank == 3: os.kill(os.getpid(), signal.SIGKILL)" + AFTER, timeout=30)
    again(world)


def test_where_the_profile_says_so_a_hang_ends_by_itself(world: dt.Cluster) -> None:
    """`world` is here for the folder of profiles that it has made."""
    with dt.start("acting") as cluster:
        with pytest.raises(CellFailed, match=r"Rank 1 is stuck. 1 rank waits for it."):
            cluster.run(
                "import time\nif rank == 1: time.sleep(60)\nimport torch.distributed as dist\ndist.barrier()"
            )
        assert cluster.run("import torch.distributed as dist\ndist.barrier()", timeout=30).ok
