"""The metrics ring: how a rank's monitor and its node agent share memory.

A header of 64-bit integers, a ring of step records, and a ring of the last collectives. One writer (the
rank), one reader (the agent), no lock: the writer fills a record before it counts it, and the reader drops
records that the writer may have overtaken while it read. Times are nanoseconds of CLOCK_MONOTONIC, which all
processes of a node share.
"""

from __future__ import annotations

from array import array
from typing import Final

from msgspec import Struct
from msgspec.structs import astuple

HEADER: Final = 32
RECORDS: Final = 1024
READ: Final = RECORDS - 8
"""At most; the writer is at the others."""
FIELDS: Final = 16
CALLS_KEPT: Final = 32
CALL_FIELDS: Final = 12
DIMENSIONS: Final = 5
"""Of a shape, at most."""
CALLS_AT: Final = HEADER + RECORDS * FIELDS
BYTES: Final = 8 * (CALLS_AT + CALLS_KEPT * CALL_FIELDS)

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
"""1 where the step boundary is a guess, 2 where the count of samples is, 3 where both are."""
CALLS_NOTED: Final = 8
"""Collectives whose signature was written so far."""
EPOCH_DONE: Final = 9
"""Batches that the loader has given in this epoch."""
EPOCH_LENGTH: Final = 10
"""Of all that it will give; 0 where it has no length."""
EPOCHS: Final = 11
"""Epochs begun."""
STEP: Final = 14
"""Training steps so far; not `STEPS` where the first ones were counted too often."""
IDLE: Final = 15
"""1 while no cell runs."""
ERRORS: Final = 12
"""Exceptions in our own hooks: caught, and told once."""
BOUND: Final = 13
"""Index into `BOUNDS`: what the share of communication is, where it can't be known."""

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

BOUNDS: Final = ("", "lower")
"""`lower`: some collectives can't be seen from here, as those inside compiled code."""
DTYPES: Final = (
    "",
    "float32",
    "float16",
    "bfloat16",
    "float64",
    "int64",
    "int32",
    "int16",
    "int8",
    "uint8",
    "bool",
    "complex64",
    "complex128",
)
DTYPE_INDEX: Final = {name: index for index, name in enumerate(DTYPES)}

# record
ENDED, WALL, DATA, EXPOSED, TAIL, SAMPLES, CALLS = range(7)
SYNCED, PROBED = 1, 2
"""Flags of a record. `SYNCED`: a model's gradients were averaged. `PROBED`: without overlap, to measure."""


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
    forward: int = 0
    backward: int = 0
    optimizer: int = 0
    """Forward, backward and optimizer without the collectives that stood in them."""
    tokens: int = 0
    flags: int = 0
    probe: int = 0
    """Of a probed step: how long the averaging took that otherwise overlaps with backward."""
    processor: int = 0
    """The training thread ran; 0 where a GPU computes."""


class Call(Struct, frozen=True, omit_defaults=True):
    """What a rank called of a collective: the same on all ranks of the group, or they don't meet.

    `group`: checksum of its name. `number`: counts within the group. `root`: who sends or receives; −1 where
    nobody does alone.
    """

    group: int
    number: int
    operation: str
    dtype: str = ""
    root: int = -1
    shape: tuple[int, ...] = ()


class Writer:
    """The rank's side. `memory` is `BYTES` long, shared and zeroed."""

    def __init__(self, memory: memoryview) -> None:
        self.cells = memory.cast("q")

    def append(self, record: StepRecord) -> None:
        """Write a step."""
        self.write(astuple(record))

    def write(self, values: tuple[int, ...]) -> None:
        """Write a step, given as the values of a `StepRecord`; making one for each step would take longer."""
        cells = self.cells
        steps = cells[STEPS]
        at = HEADER + (steps % RECORDS) * FIELDS
        cells[at : at + len(values)] = array("q", values)
        cells[BEAT] = values[0]
        cells[STEPS] = steps + 1

    def note_call(
        self, group: int, number: int, operation: int, dtype: int, root: int, shape: tuple[int, ...]
    ) -> None:
        """Keep the signature of a collective that begins now; `operation` and `dtype` are indexes."""
        cells = self.cells
        noted = cells[CALLS_NOTED]
        at = CALLS_AT + (noted % CALLS_KEPT) * CALL_FIELDS
        cells[at] = group
        cells[at + 1] = number
        cells[at + 2] = operation
        cells[at + 3] = dtype
        cells[at + 4] = root
        cells[at + 5] = len(shape)
        for index, size in enumerate(shape[:DIMENSIONS]):
            cells[at + 6 + index] = size
        cells[CALLS_NOTED] = noted + 1

    def add_tail(self, nanoseconds: int) -> None:
        """Add DDP's part to the step before: its logger knows it one forward later."""
        steps = self.cells[STEPS]
        if steps:
            self.cells[HEADER + ((steps - 1) % RECORDS) * FIELDS + TAIL] += nanoseconds


class Reader:
    """The node agent's side."""

    def __init__(self, memory: memoryview) -> None:
        self.cells = memory.cast("q")
        self._read: list[StepRecord] = []
        """Of the last call: a reader that comes each second makes the new ones only."""
        self._upto = 0
        """Records that had been written by then."""

    @property
    def steps(self) -> int:
        """Training steps so far."""
        return self.cells[STEP]

    def header(self, field: int) -> int:
        """One field of the header."""
        return self.cells[field]

    def last(self, most: int) -> list[StepRecord]:
        """The last records, oldest first, at most `most`."""
        cells = self.cells
        steps = cells[STEPS]
        if self._read:
            self._read.pop()  # its tail came later
            self._upto -= 1
        first = max(self._upto, steps - READ)
        if first > self._upto:  # the writer was a ring ahead
            self._read.clear()
        new = []
        for index in range(first, steps):
            at = HEADER + (index % RECORDS) * FIELDS
            new.append(StepRecord(*cells[at : at + 14]))
        overtaken = max(0, cells[STEPS] - RECORDS - first)
        if overtaken:
            self._read.clear()
        self._read = [*self._read, *new[overtaken:]][-READ:]
        self._upto = steps
        return self._read[-most:]

    def calls(self, most: int = CALLS_KEPT) -> list[Call]:
        """Signatures of the last collectives, oldest first, at most `most`."""
        cells = self.cells
        noted = cells[CALLS_NOTED]
        found = []
        for index in range(max(0, noted - min(most, CALLS_KEPT - 1)), noted):
            at = CALLS_AT + (index % CALLS_KEPT) * CALL_FIELDS
            group, number, operation, dtype, root, dimensions = cells[at : at + 6]
            shape = tuple(cells[at + 6 : at + 6 + min(dimensions, DIMENSIONS)])
            found.append(Call(group, number, OPERATIONS[operation], DTYPES[dtype], root, shape))
        return found
