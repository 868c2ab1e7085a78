"""What a rank that others wait for does, by its stack: compiles, loads, saves. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from dtrain_lab.wire.stacks import Frame

ACTIVITIES = (
    ("compile", ("torch/_dynamo/", "torch/_inductor/", "torch/_functorch/_aot_autograd/")),
    ("checkpoint", ("torch/serialization.py", "torch/distributed/checkpoint/", "safetensors/")),
    ("data", ("torch/utils/data/",)),
)
"""Activities that may take long, and the files in a rank's stack that tell of them."""
BUSY_WORDS = {
    "compile": ("compiles", "torch.compile takes its time on the first step, and for each new shape."),
    "checkpoint": ("reads or writes a checkpoint", "Often one rank saves for all: the others wait for it."),
    "works": ("works on", "Often one rank evaluates, logs or saves for all, or its loop is longer."),
}


def activity(frames: Sequence[Frame]) -> str:
    """The long activity that a rank is in, by its stack: a key of `ACTIVITIES`, or an empty string."""
    for frame in reversed(frames):
        for name, files in ACTIVITIES:
            if any(part in frame.file for part in files):
                return name
    return ""
