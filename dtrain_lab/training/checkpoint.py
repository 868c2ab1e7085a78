"""`dt.checkpoint(step)`: a folder per step, and a marker once all ranks have written their checkpoint."""

from __future__ import annotations

import dis
import os
import re
import sys
from pathlib import Path
from types import FrameType, TracebackType
from typing import Literal

from dtrain_lab.jobs.environment_variables import CHECKPOINTS
from dtrain_lab.machine import atomic_files
from dtrain_lab.training import group

MARKER = "complete"


def checkpoint_dir() -> Path:
    """Folder of this job's checkpoints, shared by all ranks; created if it doesn't exist.

    A resumed job uses its parent's folder. Outside a job it is `checkpoints` in the working directory.
    """
    folder = Path(os.environ.get(CHECKPOINTS) or "checkpoints").absolute()
    folder.mkdir(parents=True, exist_ok=True)
    return folder


class Checkpoint(os.PathLike[str]):
    """The checkpoint of a step; `path` is its folder.

    Args:
        step: training step.
    """

    def __init__(self, step: int) -> None:
        self.step = step
        self.path = checkpoint_dir() / f"step-{step}"
        self.path.mkdir(exist_ok=True)

    def __fspath__(self) -> str:
        return str(self.path)

    def __enter__(self) -> Path:
        self.path.mkdir(parents=True, exist_ok=True)  # it may have been removed since, as an old checkpoint
        (self.path / MARKER).unlink(missing_ok=True)
        atomic_files.sync_folder(self.path)
        _together()
        return self.path

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None
    ) -> None:
        if kind is None:
            self.mark()

    def mark(self, *, if_written: bool = False) -> None:
        """Mark the checkpoint as complete, once all ranks have written it and it is on disk; a collective.

        Args:
            if_written: Leave it unmarked if nothing is in its folder.
        """
        _together()
        if int(os.environ.get("LOCAL_RANK", "0")) == 0:  # for all ranks of this node
            atomic_files.sync_tree(self.path)
        _together()
        # rank 0 decides, as the folder looks the same on all ranks once they have met
        if int(os.environ.get("RANK", "0")) == 0 and not (if_written and not any(self.path.iterdir())):
            atomic_files.sync_folder(self.path.parent)
            atomic_files.replace(self.path / MARKER, f"{self.step}\n".encode())
        _together()


def checkpoint(step: int) -> Checkpoint:
    """Mark the checkpoint of a step as complete on all ranks; a collective.

    Call it after saving, or use it as a context manager around saving, which gives the step's folder::

        with dt.checkpoint(step) as folder:
            torch.save(model.state_dict(), folder / f"model-{rank}.pt")

    A checkpoint that is kept and entered later is complete at the end of that block.

    Args:
        step: training step, 0 or more.

    Returns:
        The checkpoint; usable as a path.

    Raises:
        ValueError: `step` is not an integer of 0 or more.
    """
    if not isinstance(step, int) or step < 0:
        raise ValueError(f"dt.checkpoint: the step is {step!r}; it must be a whole number of 0 or more")
    made = Checkpoint(step)
    use = _use(sys._getframe(1))
    if use != "block":
        made.mark(if_written=use == "kept")
    return made


def latest_checkpoint() -> Checkpoint | None:
    """The newest complete checkpoint of this job; None without a complete one."""
    step = latest_step(checkpoint_dir())
    return None if step is None else Checkpoint(step)


def latest_step(folder: Path) -> int | None:
    """Step of the newest complete checkpoint in a folder; None without a complete one."""
    steps = [
        int(match[1])
        for path in folder.glob(f"step-*/{MARKER}")
        if (match := re.fullmatch(r"step-(\d+)", path.parent.name))
    ]
    return max(steps, default=None)


def _use(caller: FrameType) -> Literal["block", "alone", "kept"]:
    """How the caller uses the result of its current call, derived from its bytecode.

    The called function can't distinguish these uses otherwise. `block`: a `with` block follows, so nothing is
    written yet. `alone`: the result is unused, so everything is already saved. `kept`: it is assigned or
    passed on, and may be entered later. Then an empty folder is not complete: a kill before the block would
    leave an empty checkpoint to resume from.
    """
    after = [step for step in dis.get_instructions(caller.f_code) if step.offset > caller.f_lasti]
    names = [step.opname for step in after if step.opname not in ("CACHE", "EXTENDED_ARG")][:2]
    if names[:1] == ["BEFORE_WITH"] or names == ["COPY", "LOAD_SPECIAL"]:  # until Python 3.13; since 3.14
        return "block"
    # the value of a cell's last line is shown, by a function of its own or one that is built in; in a job the
    # line is compiled by itself, and its value returned
    alone = [["POP_TOP"], ["PRINT_EXPR"], ["CALL_INTRINSIC_1"]]
    if caller.f_code.co_name == "<module>":
        alone.append(["RETURN_VALUE"])
    return "alone" if names[:1] in alone else "kept"


def _together() -> None:
    """Wait for all ranks: rank 0 must not mark a checkpoint as complete while others are still writing."""
    if group.join():
        import torch.distributed as dist

        dist.barrier()
