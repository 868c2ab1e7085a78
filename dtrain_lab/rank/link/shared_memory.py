"""What a rank shares with its node agent."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Shared:
    """What a rank shares with its node agent.

    `ring` is the memory of the monitor's ring and `output` that of `cells.output_buffer`; `pipes` has, by
    stream, both ends of the pipe that takes output of C code.
    """

    ring: memoryview
    output: memoryview
    pipes: dict[str, tuple[int, int]]
