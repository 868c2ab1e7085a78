"""The metrics ring: how a rank's monitor and its node agent share memory.

A header of 64-bit integers, then a ring of step records. One writer (the rank), one reader (the agent),
no lock: the writer fills a record before it counts it, and the reader drops records that the writer may
have overtaken while it read. Times are nanoseconds of CLOCK_MONOTONIC, which all processes of a node share.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

HEADER: Final = 16
RECORDS: Final = 1024
FIELDS: Final = 10
BYTES: Final = 8 * (HEADER + RECORDS * FIELDS)

# header
STEPS: Final = 0
"""Records written so far."""
DOING: Final = 1
"""Index into `DOINGS`."""
OPERATION: Final = 2
"""Index into `OPERATIONS` of the collective that the training thread is in; 0 for none."""
SEQUENCE: Final = 3
"""Collectives that the training thread has entered."""
ENTERED: Final = 4
"""When it entered the present one."""
BEAT: Final = 5
"""When the monitor last wrote anything."""
DOING_SINCE: Final = 7
UNSURE: Final = 6
"""1 where the step boundary is a guess."""

DOINGS: Final = ("", "forward", "backward", "optimizer", "data")
OPERATIONS: Final = (
    "",
    "all_reduce",
    "broadcast",
    "all_gather",
    "reduce",
    "barrier",
    "send",
    "recv",
    "all_to_all",
    "all_to_all_single",
    "scatter",
    "gather",
    "reduce_scatter",
    "all_gather_into_tensor",
    "reduce_scatter_tensor",
    "all_gather_object",
    "broadcast_object_list",
    "gather_object",
    "scatter_object_list",
    "monitored_barrier",
    "all_gather_coalesced",
    "all_reduce_coalesced",
    "wait",
    "broadcast_buffers",
    "backward_sync",
)
OPERATION_INDEX: Final = {name: index for index, name in enumerate(OPERATIONS)}

# record
ENDED, WALL, DATA, EXPOSED, TAIL, SAMPLES, CALLS = range(7)


class StepRecord(Struct, frozen=True):
    """One training step on one rank; nanoseconds."""

    ended: int
    wall: int
    data: int
    exposed: int
    """The training thread stood in collectives that Python can see."""
    tail: int
    """DDP's own part: communication of backward that computation did not hide."""
    samples: int
    calls: int


class Writer:
    """The rank's side. `memory` is `BYTES` long, shared and zeroed."""

    def __init__(self, memory: memoryview) -> None:
        self.cells = memory.cast("q")

    def append(self, record: StepRecord) -> None:
        """Write a step."""
        cells = self.cells
        steps = cells[STEPS]
        at = HEADER + (steps % RECORDS) * FIELDS
        cells[at + ENDED] = record.ended
        cells[at + WALL] = record.wall
        cells[at + DATA] = record.data
        cells[at + EXPOSED] = record.exposed
        cells[at + TAIL] = record.tail
        cells[at + SAMPLES] = record.samples
        cells[at + CALLS] = record.calls
        cells[BEAT] = record.ended
        cells[STEPS] = steps + 1

    def add_tail(self, nanoseconds: int) -> None:
        """Add DDP's part to the step before: its logger knows it one forward later."""
        steps = self.cells[STEPS]
        if steps:
            self.cells[HEADER + ((steps - 1) % RECORDS) * FIELDS + TAIL] += nanoseconds


class Reader:
    """The node agent's side."""

    def __init__(self, memory: memoryview) -> None:
        self.cells = memory.cast("q")

    @property
    def steps(self) -> int:
        """Steps so far."""
        return self.cells[STEPS]

    def header(self, field: int) -> int:
        """One field of the header."""
        return self.cells[field]

    def last(self, most: int) -> list[StepRecord]:
        """The last records, oldest first, at most `most`."""
        cells = self.cells
        steps = cells[STEPS]
        first = max(0, steps - min(most, RECORDS - 8))
        records = []
        for index in range(first, steps):
            at = HEADER + (index % RECORDS) * FIELDS
            records.append(StepRecord(*cells[at : at + 7]))
        overtaken = max(0, cells[STEPS] - RECORDS - first)
        return records[overtaken:]
