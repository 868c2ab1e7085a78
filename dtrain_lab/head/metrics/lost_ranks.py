"""Ranks that a world has lost: when, and in which cell."""

from __future__ import annotations

import time
from collections.abc import Sequence

from msgspec.structs import replace

from dtrain_lab.debugger.faulthandler import main_frames
from dtrain_lab.wire.cells import CellRecord, CellResult
from dtrain_lab.wire.cluster import Lost
from dtrain_lab.world import State
from dtrain_lab.world.summary import describe_loss


class Losses:
    """Adds time and cell names to losses; the membership state machine knows neither."""

    def __init__(self) -> None:
        self._noted: dict[int, Lost] = {}

    def update(self, state: State, records: Sequence[CellRecord]) -> None:
        """Note new losses, and the cause once their cell has ended; drop those of ranks that are back.

        Args:
            state: State of the world.
            records: Known cells of the world.
        """
        lost = set(state.lost)
        self._noted = {rank: entry for rank, entry in self._noted.items() if rank in lost}
        for loss in state.losses:
            if loss.rank not in lost:
                continue
            ran = next((r for r in records if r.id == loss.cell), None)
            known = self._noted.get(loss.rank) or Lost(
                rank=loss.rank,
                why=describe_loss(loss),
                at=time.time(),
                cell=ran.cell if ran else None,
                notebook=ran.notebook if ran else None,
                cell_id=ran.cell_id if ran else None,
                last=loss.last.strip().rpartition("\n")[2],
                line=_line_in(loss.fault, ran.cell) if ran else None,
                cell_kind=ran.kind if ran else "cell",
            )
            self._noted[loss.rank] = _with_cause(known, ran.result if ran else None)

    @property
    def all(self) -> tuple[Lost, ...]:
        """Losses of the ranks that are lost now, by rank."""
        return tuple(loss for _, loss in sorted(self._noted.items()))


def _with_cause(lost: Lost, result: CellResult | None) -> Lost:
    """Add the collective in which the ranks differed, which is known once their cell has ended, to a loss."""
    parts = result.said if result is not None else ()
    cause = next((part.text for part in parts if part.code == "mismatch"), "")
    return lost if not cause or cause in lost.why else replace(lost, why=f"{lost.why} {cause}")


def _line_in(fault: str, cell: str) -> int | None:
    """The line of the cell at which it crashed, in the line itself or in what it calls; None if unknown."""
    lines = [frame.line for frame in main_frames(fault) if frame.cell == cell]
    return lines[-1] if lines else None
