"""`dt.checkpoint(step)`: a folder per step, and a marker once all ranks have written their checkpoint."""

from __future__ import annotations

import os
import re
from pathlib import Path
from types import TracebackType

from dtrain_lab.errors import BadValue
from dtrain_lab.jobs.environment_variables import CHECKPOINTS
from dtrain_lab.machine import atomic_files
from dtrain_lab.training import group
from dtrain_lab.training.result_use import result_use

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
        BadValue: `step` is not an integer of 0 or more.
    """
    if not isinstance(step, int) or step < 0:
        raise BadValue(
            f"dt.checkpoint: step is {step!r}, but must be a whole number of 0 or more.",
            "Write for example: with dt.checkpoint(step) as folder:",
        )
    made = Checkpoint(step)
    use = result_use()
    if use != "block":  # nothing is written yet before a block
        # one that is kept may be entered later: a kill before that must not leave an empty one to resume from
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


def _together() -> None:
    """Wait for all ranks: rank 0 must not mark a checkpoint as complete while others are still writing."""
    if group.join():
        import torch.distributed as dist

        dist.barrier()
