"""The metrics ring: memory shared by a rank's monitor, which writes it, and its node agent, which reads it.

It has a header of 64-bit integers, a ring of step records, and a ring of the last collectives. With one
writer and one reader, no lock is needed: the writer fills a record before it counts it, and the reader drops
records that the writer may have overwritten meanwhile. Times are nanoseconds of CLOCK_MONOTONIC, which all
processes of a node share.
"""

from __future__ import annotations

from struct import Struct as Layout
from typing import Final

from msgspec import Struct
from msgspec.structs import astuple

from dtrain_lab.wire.metrics.collective import CollectiveCall

HEADER: Final = 32
RECORDS: Final = 1024
READ: Final = RECORDS - 8
"""Maximum number of records read; the writer may be overwriting the others."""
FIELDS: Final = 16
RECORD: Final = Layout(f"@{FIELDS}q")
CALLS_KEPT: Final = 32
CALL_FIELDS: Final = 12
DIMENSIONS: Final = 5
"""Maximum number of dimensions of a shape that are kept."""
CALLS_AT: Final = HEADER + RECORDS * FIELDS
BYTES: Final = 8 * (CALLS_AT + CALLS_KEPT * CALL_FIELDS)

# header
STEPS: Final = 0
"""Records written so far."""
DOING: Final = 1
"""Index into `DOINGS`."""
OPERATION: Final = 2
"""Index into `OPERATIONS` of the collective that the training thread is in; 0 outside collectives."""
SEQUENCE: Final = 3
"""Collectives that the training thread has entered."""
ENTERED: Final = 4
"""When it entered the current collective, ns."""
BEAT: Final = 5
"""When the monitor last wrote anything, ns."""
DOING_SINCE: Final = 7
UNSURE: Final = 6
"""1 if the step boundary is a guess, 2 if the number of samples is one, 3 if both are guesses."""
CALLS_NOTED: Final = 8
"""Collectives whose signature was written so far."""
EPOCH_DONE: Final = 9
"""Batches that the loader has given in this epoch."""
EPOCH_LENGTH: Final = 10
"""Batches of the whole epoch; 0 if the loader has no length."""
EPOCHS: Final = 11
"""Epochs begun."""
STEP: Final = 14
"""Training steps so far; less than `STEPS` if the first steps were counted too often."""
IDLE: Final = 15
"""1 while no cell runs."""
CELL_STEPS: Final = 16
"""`STEPS` before the first record of the last cell that trained."""
ERRORS: Final = 12
"""Exceptions caught in our own hooks."""
BOUND: Final = 13
"""Index into `BOUNDS`: whether the share of communication is only a bound."""

GRADIENT_ITEM: Final = 17
"""Bytes of one element of the gradients that DDP averages; 0 if unknown."""
HOOKED: Final = 18
"""1 if the DDP model has no communication hook, 2 if it has one, 0 if unknown."""
WORKERS: Final = 19
"""Worker processes of the loader that was read last, plus 1; 0 if no loader was read."""

REPEATS: Final = 20
"""1 if an optimizer computes the gradients several times in one step, as LBFGS does."""

AVERAGED: Final = 21
"""Backward passes of this cell, begun or ended, in which gradients are averaged over all ranks."""

SPLIT: Final = 22
"""1 if the sampler of the loader that training read last gives each rank its own part of the data."""

HELD: Final = 23
"""How often the debugger has begun or ended to hold ranks of the world: odd while it holds any."""

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
    "DDP's all_reduce",
    "all_gather_single",
    "reduce_scatter_single",
)
OPERATION_INDEX: Final = {name: index for index, name in enumerate(OPERATIONS)}

BOUNDS: Final = ("", "lower", "unknown")
"""`lower`: some collectives can't be seen, such as those inside compiled code. `unknown`: none can."""
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

# record
ENDED, WALL, DATA, EXPOSED, TAIL, SAMPLES, CALLS = range(7)
SYNCED, PROBED, PARTIAL, PAUSED = 1, 2, 4, 8
"""Flags of a record. `SYNCED`: a model's gradients were averaged. `PROBED`: they were averaged only after
backward, to measure it without overlap. `PARTIAL`: the beginning of the step was not seen. `PAUSED`: the
debugger held a rank meanwhile, this one or one that this one may have waited for."""


class StepRecord(Struct, frozen=True):
    """One training step on one rank; times in ns."""

    ended: int
    wall: int
    data: int
    exposed: int
    """Time of the training thread in collectives called from Python."""
    tail: int
    """Time that DDP waited in backward for communication that computation did not hide."""
    samples: int
    calls: int
    forward: int = 0
    backward: int = 0
    optimizer: int = 0
    """Forward, backward and optimizer are without the collectives inside them."""
    tokens: int = 0
    flags: int = 0
    probe: int = 0
    """In a probed step, the time of the averaging, which otherwise overlaps with backward."""
    processor: int = 0
    """CPU time of the training thread; 0 if a GPU computes."""
    gradients: int = 0
    """Bytes of gradients that DDP averaged."""
    batches: int = 1
    """Backward passes for each averaging."""

    @property
    def beside(self) -> int:
        """Time beside model, optimizer and loader: the loop's own code, with collectives that it calls."""
        parts = self.data + self.forward + self.backward + self.optimizer + self.probe
        return max(0, self.wall - parts)


class Writer:
    """The rank's side of the ring.

    Args:
        memory: shared memory of `BYTES` bytes, zeroed.
    """

    def __init__(self, memory: memoryview) -> None:
        self._bytes = memory
        self.cells = memory.cast("q")

    def append(self, record: StepRecord) -> None:
        """Write a step."""
        self.write(*astuple(record))

    def write(self, *values: int) -> None:
        """Write a step given as the values of a `StepRecord`, which is faster than making one per step."""
        cells = self.cells
        steps = cells[STEPS]
        RECORD.pack_into(self._bytes, 8 * (HEADER + steps % RECORDS * FIELDS), *values)
        cells[BEAT] = values[0]
        cells[STEPS] = steps + 1

    def note_call(
        self, group: int, number: int, operation: int, dtype: int, root: int, shape: tuple[int, ...]
    ) -> None:
        """Store the signature of a collective that starts now.

        Args:
            group: checksum of the group's name.
            number: number of the collective in its group and cell.
            operation: index into `OPERATIONS`.
            dtype: index into `DTYPES`.
            root: source or destination rank; -1 for operations without one.
            shape: shape of the tensor; at most `DIMENSIONS` of it are kept.
        """
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
        """Add DDP's wait to the previous step, because its logger knows it one forward pass later."""
        steps = self.cells[STEPS]
        if steps:
            self.cells[HEADER + ((steps - 1) % RECORDS) * FIELDS + TAIL] += nanoseconds


class Reader:
    """The node agent's side of the ring.

    Args:
        memory: the memory shared with the rank.
    """

    def __init__(self, memory: memoryview) -> None:
        self.cells = memory.cast("q")
        self._read: list[StepRecord] = []
        """Records of the last call, so that each call only unpacks the new ones."""
        self._upto = 0
        """Number of records written at the last call."""

    @property
    def steps(self) -> int:
        """Training steps so far."""
        return self.cells[STEP]

    def header(self, field: int) -> int:
        """One field of the header."""
        return self.cells[field]

    def last(self, most: int) -> list[StepRecord]:
        """The last records, oldest first.

        Args:
            most: maximum number of records.
        """
        cells = self.cells
        steps = cells[STEPS]
        if self._read:
            self._read.pop()  # read it again: its tail may have been added since
            self._upto -= 1
        first = max(self._upto, steps - READ)
        if first > self._upto:  # the writer has overwritten records since the last call
            self._read.clear()
        new = []
        for index in range(first, steps):
            at = HEADER + (index % RECORDS) * FIELDS
            new.append(StepRecord(*cells[at : at + FIELDS]))
        overtaken = max(0, cells[STEPS] - RECORDS - first)
        if overtaken:
            self._read.clear()
        self._read = [*self._read, *new[overtaken:]][-READ:]
        self._upto = steps
        return self._read[-most:] if most else []

    @property
    def in_cell(self) -> int:
        """Number of records of the last cell that trained."""
        return self.cells[STEPS] - self.cells[CELL_STEPS]

    def calls(self, most: int = CALLS_KEPT) -> list[CollectiveCall]:
        """Signatures of the last collectives, oldest first, at most `most`."""
        cells = self.cells
        noted = cells[CALLS_NOTED]
        kept = []
        for index in range(max(0, noted - min(most, CALLS_KEPT - 1)), noted):
            at = CALLS_AT + (index % CALLS_KEPT) * CALL_FIELDS
            group, number, operation, dtype, root, dimensions = cells[at : at + 6]
            shape = tuple(cells[at + 6 : at + 6 + min(dimensions, DIMENSIONS)])
            kept.append(CollectiveCall(group, number, OPERATIONS[operation], DTYPES[dtype], root, shape))
        return kept
