"""Runs a function on plain gloo ranks, without any part of dtrain-lab beneath."""

from __future__ import annotations

import faulthandler
import gc
import io
import multiprocessing
import os
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

TIMEOUT_S = 90
LOADED = ["torch", "torch.distributed", "torch.nn.parallel", "torch._dynamo"]
"""Loaded once for the ranks of all tests, in a process that only forks. By itself each rank would take 3 s of
processor for them, half of it for the compiler, which the first optimizer loads."""


def on_ranks(function: Callable[..., Any], *args: Any, size: int = 2) -> list[tuple[Any, str]]:
    """What each rank returned, and what it wrote to stderr.

    Args:
        function: at module level; called with `args` in each rank's own process.
        *args: can be pickled.
        size: number of ranks.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(LOADED)
    with tempfile.TemporaryDirectory() as folder:
        answers = context.SimpleQueue()
        given = (function, args, size, folder, answers, dict(os.environ))
        processes = [context.Process(target=_rank, args=(rank, *given)) for rank in range(size)]
        for process in processes:
            process.start()
        for process in processes:
            process.join(TIMEOUT_S)
        alive = [process for process in processes if process.is_alive()]
        for process in alive:
            process.kill()
        found = {}
        while not answers.empty():
            rank, result, said, failure = answers.get()
            found[rank] = (result, said)
            assert not failure, f"rank {rank}:\n{failure}\n{said}"
        assert not alive, f"{len(alive)} ranks hang"
    return [found[rank] for rank in range(size)]


def _rank(
    rank: int,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    size: int,
    folder: str,
    answers: Any,
    environment: dict[str, str],
) -> None:
    import torch.distributed as dist

    gc.freeze()  # what was loaded before the fork is not looked through, nor copied
    os.environ.clear()  # that of the first test, for which the process was started that forks
    os.environ.update(environment, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(size))
    os.chdir(folder)
    faulthandler.dump_traceback_later(TIMEOUT_S - 60, file=sys.__stderr__)  # where it hangs
    sys.stderr = io.StringIO()
    result, failure = None, ""
    if size > 1:
        store = f"file://{Path(folder, 'store')}"
        dist.init_process_group("gloo", init_method=store, rank=rank, world_size=size)
    try:
        result = function(*args)
    except BaseException:  # noqa: BLE001 # told to the test
        failure = traceback.format_exc()
    answers.put((rank, result, sys.stderr.getvalue(), failure))
    if dist.is_initialized() and not failure:
        dist.destroy_process_group()
    os._exit(0)
