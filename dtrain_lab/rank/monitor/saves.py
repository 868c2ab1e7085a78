"""The hook on `torch.save`."""

from __future__ import annotations

import functools
from typing import Any

import torch

from dtrain_lab.rank.monitor.recorder import Recorder


def watch_saves(recorder: Recorder) -> None:
    """Keep the time of saving checkpoints out of training steps."""
    save = torch.save

    @functools.wraps(save)
    def saving(*args: Any, **kwargs: Any) -> Any:
        recorder.aside()
        return save(*args, **kwargs)

    torch.save = saving
