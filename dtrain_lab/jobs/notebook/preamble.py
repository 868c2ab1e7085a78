"""Preamble of a job's script: variables of the rank, the process group, helpers for converted magics."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dtrain_lab.jobs.notebook import magic_helpers
from dtrain_lab.jobs.notebook.torch_use import FRAMEWORKS
from dtrain_lab.wire.kinds import Accelerator, Framework

_HEAD = '''\
"""{title} as a script, made by dtrain-lab. By hand: {by_hand}"""
{futures}import os

rank = int(os.environ.get("RANK", 0))
local_rank = int(os.environ.get("LOCAL_RANK", 0))
world_size = int(os.environ.get("WORLD_SIZE", 1))
'''
_DEVICE = """\
import torch

device = torch.device("cpu")
if torch.cuda.is_available():
    device = torch.device("cuda", local_rank % torch.cuda.device_count())
    torch.cuda.set_device(device)
"""
_NPU = """\
import torch
import torch_npu

device = torch.device("cpu")
if torch.npu.is_available():
    device = torch.device("npu", local_rank % torch.npu.device_count())
    torch.npu.set_device(device)
"""
_NPU_GROUP = """\
if "RANK" in os.environ and not torch.distributed.is_initialized():
    torch.distributed.init_process_group("cpu:gloo,npu:hccl" if device.type == "npu" else "gloo")
"""
_BY_HAND = {
    "torch": "torchrun --nproc-per-node=2 dtrain_main.py",
    "tensorflow": "python dtrain_main.py, with TF_CONFIG set for each process",
    "mindspore": "msrun --worker_num=2 --local_worker_num=2 --join=True dtrain_main.py",
}
_GROUP = """\
if "RANK" in os.environ and not torch.distributed.is_initialized():
    torch.distributed.init_process_group("cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo")
"""
END = """\
if torch.distributed.is_initialized():  # a rank that leaves its group behind takes the others down
    torch.distributed.destroy_process_group()
"""
_DISPLAY = """\
if "display" not in globals():  # a notebook's own
    display = print
"""
_LAUNCHERS = '''\
def _run_launchers_here():
    """Processes that mp.spawn and its kin would make are there: their functions run in them."""
    import multiprocessing.process
    import sys

    import torch.distributed as dist
    import torch.distributed.launcher.api as torchrun
    import torch.multiprocessing as mp

    if "RANK" not in os.environ or "dtrain_lab.rank.launchers" in sys.modules:
        return
    own = dist.init_process_group
    address = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    agents = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    run = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    groups = []

    def init(backend=None, *_, timeout=None, **__):
        if dist.is_initialized():
            return
        if not groups:
            groups.append(dist.TCPStore(*address, is_master=rank == 0 and not agents, multi_tenant=True))
        groups.append(dist.PrefixStore(f"launched/{run}/{len(groups)}", groups[0]))
        own(backend, store=groups[-1], rank=rank, world_size=world_size, timeout=timeout)

    def here(function, args=(), nprocs=1, *_, **__):
        if nprocs not in (world_size, int(os.environ.get("LOCAL_WORLD_SIZE", world_size))):
            raise RuntimeError(f"{nprocs} processes are asked for, and the launcher made {world_size} ranks.")
        function(rank if nprocs == world_size else local_rank, *args)

    class ElasticLaunch:
        def __init__(self, config, entrypoint):
            self.count, self.function = config.nproc_per_node * config.max_nodes, entrypoint

        def __call__(self, *args):
            here(lambda _, *args: self.function(*args), args, self.count)
            return {}

    def makes_group(function, deep=0):
        names = getattr(getattr(function, "__code__", None), "co_names", ())
        if "init_process_group" in names or deep == 4:
            return "init_process_group" in names
        return any(makes_group(function.__globals__.get(name), deep + 1) for name in names)

    start = multiprocessing.process.BaseProcess.start

    def start_here(process):
        if not makes_group(process._target):
            return start(process)
        process.join = lambda timeout=None: None
        if rank in [value for value in process._args if type(value) is int][:1]:
            process._target(*process._args, **process._kwargs)

    multiprocessing.process.BaseProcess.start = start_here
    dist.init_process_group = dist.distributed_c10d.init_process_group = init
    mp.spawn = mp.start_processes = here
    torchrun.elastic_launch = ElasticLaunch

_run_launchers_here()
'''
LAUNCHERS = r"\b(spawn|start_processes|notebook_launcher|debug_launcher|idist\.Parallel|Process)\s*\("
_ACCELERATE = """\
if device.type == "cpu" and world_size > 1:  # on CPUs Accelerate sees other ranks only if told
    os.environ.setdefault("ACCELERATE_USE_CPU", "1")
"""
ACCELERATE = r"\b(accelerate|transformers)\b"
_LIGHTNING = '''\
def _train_here():
    """Lightning's ddp_notebook and its kin would make processes; under torchrun they are there."""
    import importlib

    def launch(self, function, *args, trainer=None, **kwargs):
        return function(*args, **kwargs)

    for package in ("lightning.pytorch", "lightning.fabric", "pytorch_lightning", "lightning_fabric"):
        try:
            module = importlib.import_module(package + ".strategies.launchers.multiprocessing")
        except ImportError:
            continue
        module._MultiProcessingLauncher.launch = launch

if "RANK" in os.environ:
    _train_here()
'''
LIGHTNING = r"\bddp_(notebook|spawn|fork)\b"


def text(
    title: str,
    sources: Sequence[str],
    helpers: frozenset[str],
    framework: Framework = "torch",
    accelerator: Accelerator = "gpu",
    local_torch_text: str | None = None,
    *,
    with_torch: bool,
    makes_group: bool = False,
    futures: Sequence[str] = (),
) -> str:
    """Return the preamble with the parts that the cells need.

    Args:
        title: the notebook's file name.
        sources: converted sources of its cells.
        helpers: names of `magic_helpers` that the cells use.
        framework: what the cells train with; others than torch make their own groups.
        accelerator: kind of the nodes' devices.
        local_torch_text: text of files that the cells import, where these stand for torch.
        with_torch: whether the script has torch's process group and device.
        makes_group: whether the notebook makes the process group itself.
        futures: names that cells import from `__future__`.
    """
    code = "\n".join(sources)
    named = title.replace("\\", "").replace('"', "'")
    first = f"from __future__ import {', '.join(futures)}\n" if futures else ""
    parts = [_HEAD.format(title=named, by_hand=_BY_HAND[framework], futures=first)]
    if with_torch:
        if not re.search(FRAMEWORKS, code):  # what the cells call is in their files
            code = f"{code}\n{local_torch_text}"
        npu = accelerator == "npu"
        parts.append(_NPU if npu else _DEVICE)
        if re.search(LAUNCHERS, code):
            parts.append(_LAUNCHERS)
        if re.search(ACCELERATE, code):
            parts.append(_ACCELERATE)
        if re.search(LIGHTNING, code):
            parts.append(_LIGHTNING)
        if not makes_group:
            parts.append(_NPU_GROUP if npu else _GROUP)
    if re.search(r"\bdisplay\s*\(", code):
        parts.append(_DISPLAY)
    parts += magic_helpers.code(helpers)
    return "\n".join(parts)
