"""Checkpoints: a folder for each step, and a marker that says when all ranks have written theirs."""

from __future__ import annotations

import os
import re
from pathlib import Path
from types import TracebackType

VARIABLE = "DTRAIN_CHECKPOINT_DIR"
MARKER = "complete"


def checkpoint_dir() -> Path:
    """Folder of this job's checkpoints, shared by all ranks; a resumed job has its parent's.

    Outside a job: `checkpoints` in the working directory.
    """
    folder = Path(os.environ.get(VARIABLE) or "checkpoints").absolute()
    folder.mkdir(parents=True, exist_ok=True)
    return folder


class Checkpoint(os.PathLike[str]):
    """A checkpoint of a step; `path` is its folder.

    Args:
        step: of training.
    """

    def __init__(self, step: int) -> None:
        self.step = step
        self.path = checkpoint_dir() / f"step-{step}"
        self.path.mkdir(exist_ok=True)

    def __fspath__(self) -> str:
        return str(self.path)

    def __enter__(self) -> Path:
        (self.path / MARKER).unlink(missing_ok=True)
        _together()
        return self.path

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None
    ) -> None:
        if kind is None:
            self.mark()

    def mark(self) -> None:
        """All ranks have written: say so. A collective."""
        _together()
        if int(os.environ.get("RANK", "0")) == 0:
            part = self.path / f".{MARKER}"
            part.write_text(f"{self.step}\n")
            part.rename(self.path / MARKER)
        _together()


def checkpoint(step: int) -> Checkpoint:
    """Say that the checkpoint of a step is complete on all ranks; a collective.

    Called after saving, or as a context manager around it, which gives the step's own folder::

        with dt.checkpoint(step) as folder:
            torch.save(model.state_dict(), folder / f"model-{rank}.pt")

    Args:
        step: of training, 0 or more.

    Raises:
        ValueError: the step is no whole number of 0 or more.
    """
    if not isinstance(step, int) or step < 0:
        raise ValueError(f"dt.checkpoint: the step is {step!r}; it has to be a whole number of 0 or more")
    made = Checkpoint(step)
    made.mark()
    return made


def latest_checkpoint() -> Checkpoint | None:
    """The newest complete checkpoint; None where there is none."""
    step = latest_step(checkpoint_dir())
    return None if step is None else Checkpoint(step)


def latest_step(folder: Path) -> int | None:
    """Step of the newest complete checkpoint of a folder."""
    steps = [
        int(match[1])
        for path in folder.glob(f"step-*/{MARKER}")
        if (match := re.fullmatch(r"step-(\d+)", path.parent.name))
    ]
    return max(steps, default=None)


def _together() -> None:
    import torch.distributed as dist

    if dist.is_initialized():
        dist.barrier()
