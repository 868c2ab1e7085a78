"""The position of a rank's main thread: its frames, and the collective that it waits in."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from dtrain_lab.rank.group.sequence_numbers import begun

C10D = "torch/distributed/distributed_c10d.py"
BACKWARD = "torch/autograd/graph.py"
WATCHED = "dtrain_lab/rank/monitor/collectives.py"
WRAPPERS = frozenset({"wrapper", "is_initialized", "_engine_run_backward"})


def frames_of(ident: int) -> list[FrameType]:
    """Frames of a thread, outermost first."""
    frame = sys._current_frames().get(ident)
    frames = []
    while frame is not None:
        frames.append(frame)
        frame = frame.f_back
    return frames[::-1]


def operation(frames: list[FrameType]) -> dict[str, Any] | None:
    """The collective that a thread waits in; reads variables of the frames, and calls no operation.

    Args:
        frames: frames of the thread, outermost first.

    Returns:
        Name and, if known, shape, dtype, number in its group and cell, ranks; None outside collectives.
    """
    number = None
    for frame in frames:
        code = frame.f_code
        if code.co_filename.endswith(WATCHED) and frame.f_locals.get("call") is not None:
            number = frame.f_locals["call"][1]  # the same number as in verdicts
        elif code.co_filename.endswith(C10D) and not code.co_name.startswith("_"):
            if code.co_name not in WRAPPERS:
                return {**_collective(frame), "sequence": number}
        elif code.co_filename.endswith(BACKWARD) and code.co_name == "_engine_run_backward":
            return {"name": "backward"}
    return None


def sequences() -> dict[str, int]:
    """Number of collectives that this process has begun in each group, by the group's name."""
    if "torch" not in sys.modules:  # another framework trains here
        return {}
    import torch.distributed as dist

    if not dist.is_available() or not dist.is_initialized():
        return {}
    from dtrain_lab.rank.torch.groups import group_names

    return {name: begun(group) for group, name in group_names().items()}


def _collective(frame: FrameType) -> dict[str, Any]:
    import torch
    import torch.distributed as dist

    names = frame.f_locals
    operation: dict[str, Any] = {"name": frame.f_code.co_name}
    for name in ("tensor", "input", "input_tensor", "output_tensor"):
        value = names.get(name)
        if isinstance(value, torch.Tensor):
            operation["shape"] = list(value.shape)
            operation["dtype"] = str(value.dtype).removeprefix("torch.")
            break
    group = names.get("group")
    if not isinstance(group, dist.ProcessGroup) and dist.is_initialized():
        group = dist.group.WORLD
    if isinstance(group, dist.ProcessGroup):
        operation["ranks"] = dist.get_process_group_ranks(group)
    return operation
