"""What stands before a notebook's cells in a script: the names that every rank has, and the process group."""

from __future__ import annotations

import re
from collections.abc import Sequence

_HEAD = '''\
"""{title} as a script, made by dtrain-lab. By hand: torchrun --nproc-per-node=2 main.py"""
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
    "shell": '''\
def _shell(command, names, captures=False):
    """In place of a notebook's !command: once on each node, unless its output is wanted."""
    import re
    import subprocess
    import sys

    def value(match):
        try:
            return str(eval(match[1] or match[2], names))
        except Exception:  # it is the shell's own
            return match[0]

    command = re.sub(r"\\{([^{}]+)\\}|\\$([A-Za-z_]\\w*)", value, command)
    if captures:
        return subprocess.run(command, shell=True, text=True, stdout=subprocess.PIPE).stdout.splitlines()
    if local_rank == 0:
        sys.stdout.flush()
        subprocess.run(command, shell=True, stdin=subprocess.DEVNULL)
''',
    "write_file": '''\
def _write_file(path, text, append=False):
    """In place of a notebook's %%writefile: once on each node."""
    if local_rank == 0:
        with open(os.path.expanduser(path), "a" if append else "w") as file:
            file.write(text)
''',
}
FRAMEWORKS = r"\b(torch|device|transformers|lightning|accelerate|deepspeed|torchvision)\b"
OWN_INIT = r"\binit_process_group\s*\("


def text(title: str, sources: Sequence[str], helpers: frozenset[str]) -> str:
    """The preamble.

    Args:
        title: the notebook's file name.
        sources: of its cells, converted.
        helpers: names in `_HELPERS` that they use.
    """
    code = "\n".join(sources)
    parts = [_HEAD.format(title=title.replace("\\", "").replace('"', "'"))]
    if re.search(FRAMEWORKS, code):
        parts.append(_DEVICE)
        # a notebook that makes its own group does so here, too
        if not re.search(OWN_INIT, code):
            parts.append(_GROUP)
    if re.search(r"\bdisplay\s*\(", code):
        parts.append(_DISPLAY)
    parts += [_HELPERS[name] for name in ("run", "shell", "write_file") if name in helpers]
    return "\n".join(parts)


def end(sources: Sequence[str]) -> str:
    """What stands after the cells; empty where there is no process group."""
    return _END if re.search(FRAMEWORKS, "\n".join(sources)) else ""
