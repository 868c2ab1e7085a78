"""The result of a cell: output and failures of its ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from dtrain_lab.cells.errors import own_stop, render_failure
from dtrain_lab.errors import CellFailed
from dtrain_lab.text import rank_names
from dtrain_lab.wire.cells import CellResult, Failure
from dtrain_lab.wire.links import CellOutput

DISPLAYS = ("display_data", "update_display_data", "execute_result")


class Result:
    """How a cell ended, and what its ranks printed and displayed.

    Attributes:
        cell: Id of the cell.
        ranks: Ranks that ran the cell.
        elapsed_s: Seconds from the start on the ranks to the last reply.
        failures: Failures by rank, in rank order.
        sentence: What happened to a failed cell; empty otherwise.
    """

    def __init__(self, end: CellResult, outputs: Sequence[CellOutput]) -> None:
        self.cell = end.cell
        self.ranks = end.ranks
        self.elapsed_s = end.elapsed_s
        self.failures: tuple[Failure, ...] = end.failures
        self.sentence = end.sentence
        self.timed_out = end.timed_out
        self._interrupted = end.interrupted
        self._said = end.said
        self._outputs = tuple(outputs)

    @property
    def ok(self) -> bool:
        """Whether no rank failed."""
        return not self.failures

    @property
    def stop(self) -> dict[str, Any] | None:
        """Values that say who has stopped the cluster, and when; None unless that alone ended the cell."""
        if not own_stop(self.failures):
            return None
        return next((part.values for part in self._said if part.code == "stopped"), {})

    @property
    def stdout(self) -> dict[int, str]:
        """Standard output by rank."""
        return self._text("stdout")

    @property
    def stderr(self) -> dict[int, str]:
        """Standard error by rank."""
        return self._text("stderr")

    @property
    def data(self) -> dict[int, list[dict[str, Any]]]:
        """Displayed MIME bundles by rank, oldest first."""
        bundles: dict[int, list[dict[str, Any]]] = {rank: [] for rank in self.ranks}
        for output in self._outputs:
            if output.kind in DISPLAYS:
                content = msgspec.json.decode(output.data)
                if not {"closed", "taken"} & content.get("transient", {}).keys():  # notices about widgets
                    bundles[output.rank].append(content.get("data", {}))
        return bundles

    def raise_failure(self, hint: str = "") -> None:
        """Raise an exception if a rank failed.

        Args:
            hint: What to do, below the traceback.

        Raises:
            CellFailed: Names the failed ranks, and shows the source line.
        """
        if self.failures:
            kind = RanksFailed
            if self._interrupted:
                kind = RanksInterrupted
            elif own_stop(self.failures):
                kind = RanksStopped
            raise kind(self.failures, self.ranks, self.sentence, hint)

    def _text(self, kind: str) -> dict[int, str]:
        parts: dict[int, list[str]] = {rank: [] for rank in self.ranks}
        for output in self._outputs:
            if output.kind == kind:
                parts[output.rank].append(output.text)
        return {rank: "".join(texts) for rank, texts in parts.items()}

    def __repr__(self) -> str:
        state = "ok" if self.ok else self.sentence
        return f"<Result of {rank_names.count(len(self.ranks))} in {self.elapsed_s:.2f} s: {state}>"


class RanksFailed(CellFailed):
    """A failed cell, shown as one sentence and each distinct traceback once."""

    def __init__(
        self, failures: tuple[Failure, ...], ranks: tuple[int, ...], sentence: str, hint: str = ""
    ) -> None:
        super().__init__(
            sentence,
            hint,
            details={"ranks": [f.rank for f in failures], "kinds": {str(f.rank): f.kind for f in failures}},
        )
        self.failures = failures
        self.ranks = ranks

    def _render_traceback_(self) -> list[str]:
        below = ["", f"Hint: {self.hint}"] if self.hint else []  # a page finds it by this word
        return [*render_failure(self.failures, self.message), *below]


class RanksInterrupted(RanksFailed):
    """A cell that a client has interrupted, and that has not failed in any other way.

    Saved notebooks distinguish the two exceptions by name.
    """


class RanksStopped(RanksFailed):
    """A cell that ended only because somebody stopped its cluster; distinguished in the same way."""
