"""One cell of a cluster: its request, its ranks, and how it ended."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from dtrain_lab.cells.errors import blame, failure_parts, joined, own_interrupt, render_failure
from dtrain_lab.metrics.verdicts import mismatch
from dtrain_lab.text import rank_names
from dtrain_lab.wire import clients
from dtrain_lab.wire.cells import CellRecord, CellResult, Failure, WaitsFor
from dtrain_lab.wire.endings import Ending
from dtrain_lab.wire.kinds import CellState
from dtrain_lab.wire.metrics.collective import CollectiveCall
from dtrain_lab.wire.metrics.diagnosis import Change, StepTimings
from dtrain_lab.wire.summary import Summary

RESTARTED = "RankRestarted"
"""`Failure.type` of a rank that a restart has ended."""


@dataclass
class Running:
    """A cell that is queued, running or ended. `client`: the client that gets its output, if any."""

    order: clients.Run
    ranks: tuple[int, ...]
    source: bytes
    client: bytes | None
    left: set[int]
    asked_at: float
    first_seq: int
    began_at: float | None = None
    failures: list[Failure] = field(default_factory=list)
    timed_out: bool = False
    hopeless: str = ""
    """Why the head ended the cell by itself; empty if it did not."""
    calls: dict[int, tuple[CollectiveCall, ...]] = field(default_factory=dict)
    from_s: float = field(default_factory=time.monotonic)
    """When it was queued, then when it started; monotonic seconds."""
    silent: set[int] = field(default_factory=set)
    """Ranks that did not react to the cell's interrupt."""
    ending: Ending | None = None
    """Who has stopped the cluster in mid-run, if somebody has and it is known."""
    restarted: set[int] = field(default_factory=set)
    """Ranks that a restart replaced while the cell ran, in the cell or not: their variables are lost."""
    result: CellResult | None = None
    ended_at: float | None = None
    timings: dict[int, StepTimings] | None = None
    """Measurements of the ranks, if this is a diagnosis and not a cell."""
    change: Change | None = None
    """The advice that is tried, if this is a trial of advice."""
    on_end: list[Callable[[], None]] = field(default_factory=list)
    """Called once its result is known."""
    pieces: int = 0
    """Number of outputs so far, widget messages excluded."""

    @property
    def end(self) -> tuple[bytes, int] | None:
        """The frame that tells a client the cell's end, and the number of outputs before it; else None."""
        return (
            (clients.encode(clients.CellEnded(self.result)), self.pieces) if self.result is not None else None
        )

    @property
    def state(self) -> CellState:
        """Whether the cell waits, runs or has ended."""
        if self.result is not None:
            return "ended"
        return "waiting" if self.began_at is None else "running"

    def record(self, waits_for: tuple[WaitsFor, ...], forked: Mapping[int, float]) -> CellRecord:
        """The cell as clients see it.

        Args:
            waits_for: The cells that it waits for.
            forked: When each rank's process was started, seconds since 1970.
        """
        began = self.began_at
        return CellRecord(
            id=self.order.cell,
            cell=self.order.label,
            ranks=self.ranks,
            state=self.state,
            first_seq=self.first_seq,
            notebook=self.order.notebook,
            cell_id=self.order.cell_id,
            detached=self.order.detached,
            started_at=self.began_at,
            result=self.result,
            ended_at=self.ended_at,
            waits_for=waits_for,
            kernel=self.order.kernel,
            request=self.order.request,
            failures=() if self.result is not None else blame(self.failures),
            replaced=()
            if began is None
            else tuple(rank for rank in self.ranks if forked.get(rank, began) > began),
            kind=self.order.kind,
        )

    def finish(self) -> None:
        """Set the result, from the failures so far."""
        elapsed = time.monotonic() - self.from_s
        self.ended_at = None if self.began_at is None else self.began_at + elapsed
        failures = blame(self.failures, restarted=bool(self.restarted))
        parts = result_parts(self, failures)
        sentence = joined(parts)
        interrupted = own_interrupt(failures) and not self.timed_out and not self.hopeless
        self.result = CellResult(
            cell=self.order.cell,
            ranks=self.ranks,
            failures=failures,
            sentence=sentence,
            elapsed_s=elapsed,
            timed_out=self.timed_out,
            traceback=tuple(render_failure(failures, sentence)) if failures else (),
            interrupted=interrupted,
            plain=interrupted and [part.code for part in parts] == ["interrupted"],
            said=parts,
        )


def result_parts(cell: Running, failures: Sequence[Failure]) -> tuple[Summary, ...]:
    """Say how a cell failed, its cause first, then what became of its ranks.

    Args:
        cell: The cell, which has ended.
        failures: Failures of its ranks.

    Returns:
        The sentences of the result; empty if no rank failed.
    """
    if not failures:
        return ()
    if any(f.type == "NotRun" for f in failures):
        why = failures[0].message
        return (Summary("not_run", {"why": why}, f"This cell was not run. {why}"),)
    taken = [f for f in failures if f.type != RESTARTED]
    parts = list(failure_parts(taken, cell.ranks, cell.ending)) if taken else []
    if cell.restarted:
        parts.insert(0, _restarted(cell.restarted))
    differs = mismatch.find(cell.calls)
    if differs is not None:
        if differs.text not in cell.hopeless:  # otherwise part of the reason already
            parts.insert(0, Summary("mismatch", {}, differs.text))
    elif own_interrupt(taken) and any(f.operation for f in taken):
        ended = [rank for rank in cell.ranks if all(f.rank != rank for f in failures)]
        if ended:
            text = f"{rank_names.sentence_name(ended)} had finished the cell."
            parts.insert(0, Summary("had_ended", {"ranks": rank_names.compact(ended)}, text))
    if cell.hopeless:
        parts.insert(0, Summary("hopeless", {}, cell.hopeless))
    elif cell.timed_out:
        timeout = cell.order.timeout_s
        text = f"The cell took longer than {timeout:g} s."
        parts.insert(0, Summary("timed_out", {"seconds": timeout}, text))
    return tuple(parts)


def _restarted(ranks: Iterable[int]) -> Summary:
    numbers = sorted(ranks)
    verb, whose = ("was", "its") if len(numbers) == 1 else ("were", "their")
    text = f"{rank_names.sentence_name(numbers)} {verb} restarted: {whose} variables are lost."
    return Summary("restarted", {"ranks": rank_names.compact(numbers)}, text)
