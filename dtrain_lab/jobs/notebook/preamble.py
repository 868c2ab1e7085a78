"""Preamble of a job's script: variables of the rank, the process group, helpers for converted magics."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dtrain_lab.jobs.notebook.torch_use import FRAMEWORKS, has_torch
from dtrain_lab.wire.kinds import Accelerator, Framework

_HEAD = '''\
"""{title} as a script, made by dtrain-lab. By hand: {by_hand}"""
import os

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
    "torch": "torchrun --nproc-per-node=2 main.py",
    "tensorflow": "python main.py, with TF_CONFIG set for each process",
    "mindspore": "msrun --worker_num=2 --local_worker_num=2 --join=True main.py",
}
_GROUP = """\
if "RANK" in os.environ and not torch.distributed.is_initialized():
    torch.distributed.init_process_group("cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo")
"""
_END = """\
if torch.distributed.is_initialized():  # a rank that leaves its group behind takes the others down
    torch.distributed.destroy_process_group()
"""
_DISPLAY = """\
if "display" not in globals():  # a notebook's own
    display = print
"""
_HELPERS = {
    "run": '''\
def _run(awaitable):
    """In place of a notebook's top-level await."""
    import asyncio

    global _loop
    if "_loop" not in globals():
        _loop = asyncio.new_event_loop()
        asyncio.set_event_loop(_loop)
    async def wait():
        return await awaitable
    return _loop.run_until_complete(wait())
''',
    "run_file": '''\
def _run_file(path, arguments, inside=False):
    """In place of a notebook's %run: a program with arguments, whose names the notebook gets."""
    import runpy
    import sys

    before, sys.argv = sys.argv, [path, *arguments]
    try:
        if inside:  # %run -i: among the notebook's names
            exec(compile(open(path).read(), path, "exec"), globals())
        else:
            made = runpy.run_path(path, run_name="__main__")
            globals().update({name: made[name] for name in made if not name.startswith("__")})
    except SystemExit as leaving:
        if leaving.code:
            raise
    finally:
        sys.argv = before
''',
    "once": '''\
def _once(work):
    """Have the first rank of a node that comes here do something; its others wait until that is done."""
    import re
    import sys
    import time

    elastic = os.environ.get("TORCHELASTIC_ERROR_FILE")  # torchrun's, in a folder of each rank
    folder = os.environ.get("DTRAIN_JOB") or (elastic and os.path.dirname(os.path.dirname(elastic)))
    if not folder:  # nothing that ranks of one run share, and no other run
        return work() if local_rank == 0 else None
    caller = sys._getframe(2)
    place = re.sub(r"\\W+", "_", f"{os.path.basename(caller.f_code.co_filename)}_{caller.f_lineno}")
    _once.times[place] = _once.times.get(place, 0) + 1
    attempt = os.environ.get("DTRAIN_ATTEMPT", "0")
    mark = f"{folder}/.once.{attempt}.{rank - local_rank}.{place}.{_once.times[place]}"
    until = time.monotonic() + (1.0 if local_rank else 0.0)  # if the first rank comes, it is its own
    while not os.path.exists(mark) and time.monotonic() < until:
        time.sleep(0.01)
    try:
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except FileExistsError:
        while not os.path.exists(mark + ".done"):
            time.sleep(0.05)
        return
    except OSError:  # a full disk
        return work() if local_rank == 0 else None
    try:
        work()
    finally:
        open(mark + ".done", "w").close()

_once.times = {}
''',
    "shell": '''\
def _shell(command, names, captures=False):
    """In place of a notebook's !command: once on each node, unless its output is wanted."""
    import re
    import subprocess
    import threading

    def value(match):
        try:
            return str(eval(match[1] or match[2], names))
        except Exception:  # it is the shell's own
            return match[0]

    command = re.sub(r"\\{([^{}]+)\\}|\\$([A-Za-z_]\\w*)", value, command)
    if captures:
        return subprocess.run(command, shell=True, text=True, stdout=subprocess.PIPE).stdout.splitlines()

    def run():
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        process = subprocess.Popen(command, shell=True, **streams)
        # as bytes: text would make a line of each turn of a progress bar
        copy = lambda: [print(line.decode(errors="replace"), end="") for line in process.stdout]
        reader = threading.Thread(target=copy, daemon=True)
        reader.start()
        process.wait()
        reader.join(0.5)  # what it leaves in the background keeps its output open

    _once(run)
''',
    "write_file": '''\
def _write_file(path, text, append=False):
    """In place of a notebook's %%writefile: once on each node."""

    def write():
        with open(os.path.expanduser(path), "a" if append else "w") as file:
            file.write(text)

    _once(write)
''',
}
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
    makes_group: bool = False,
) -> str:
    """Return the preamble with the parts that the cells need.

    Args:
        title: the notebook's file name.
        sources: converted sources of its cells.
        helpers: names in `_HELPERS` that the cells use.
        framework: what the cells train with; others than torch make their own groups.
        accelerator: kind of the nodes' devices.
        local_torch_text: text of files that the cells import, where these stand for torch, see `has_torch`.
        makes_group: whether the notebook makes the process group itself.
    """
    code = "\n".join(sources)
    parts = [_HEAD.format(title=title.replace("\\", "").replace('"', "'"), by_hand=_BY_HAND[framework])]
    if has_torch(sources, framework, local_torch_text):
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
    if helpers & {"shell", "write_file"}:
        helpers |= {"once"}
    parts += [code for name, code in _HELPERS.items() if name in helpers]
    return "\n".join(parts)


def end(sources: Sequence[str], framework: Framework = "torch", local_torch_text: str | None = None) -> str:
    """Return the code after the cells, which destroys the process group; empty if there can be no group."""
    return _END if has_torch(sources, framework, local_torch_text) else ""
