"""What a rank that others wait for is doing, by its stack: compiling, loading, saving, or a line of code.
Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dtrain_lab.text import rank_names
from dtrain_lab.wire.stacks import Frame

ACTIVITIES = (
    ("compile", ("torch/_dynamo/", "torch/_inductor/", "torch/_functorch/_aot_autograd/")),
    ("checkpoint", ("torch/serialization.py", "torch/distributed/checkpoint/", "safetensors/")),
    ("data", ("torch/utils/data/",)),
)
"""Activities that may take long, and the files in a rank's stack that indicate them."""
LONGEST_LINE = 80
"""Maximum displayed characters of a line of code."""
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


def in_line(ranks: Sequence[int], lines: Mapping[int, str]) -> str:
    """Sentence on the user's own line that ranks are in, such as a sleep or a read; empty if unknown.

    Args:
        ranks: ranks that others wait for.
        lines: source of the innermost frame of the user's own code, by rank.
    """
    located = [rank for rank in ranks if lines.get(rank, "").strip()]
    if not located:
        return ""
    text = lines[located[0]].strip()
    same = tuple(rank for rank in located if lines[rank].strip() == text)
    who = f"{rank_names.sentence_name(same)} {'is' if len(same) == 1 else 'are'}"
    return f"{who} in this line: {text if len(text) <= LONGEST_LINE else text[: LONGEST_LINE - 1] + '…'}"
