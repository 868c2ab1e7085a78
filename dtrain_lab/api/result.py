"""What a cell gave back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from dtrain_lab.core.cells import render_failure
from dtrain_lab.core.cluster import CellResult, Failure
from dtrain_lab.core.wire.links import CellOutput
from dtrain_lab.errors import CellFailed


class Result:
    """How a cell ended, and what its ranks printed and displayed.

    Attributes:
        cell: name of the cell.
        ranks: that ran it.
        elapsed_s: from its start on the ranks to the last reply.
        failures: of the ranks that did not end well, in rank order.
        sentence: what became of a cell that failed; empty otherwise.
    """

    def __init__(self, end: CellResult, outputs: Sequence[CellOutput]) -> None:
        self.cell = end.cell
        self.ranks = end.ranks
        self.elapsed_s = end.elapsed_s
        self.failures: tuple[Failure, ...] = end.failures
        self.sentence = end.sentence
        self.timed_out = end.timed_out
        self._outputs = tuple(outputs)

    @property
    def ok(self) -> bool:
        """No rank failed."""
        return not self.failures

    @property
    def stdout(self) -> dict[int, str]:
        """What each rank printed."""
        return self._text("stdout")

    @property
    def stderr(self) -> dict[int, str]:
        """What each rank wrote to stderr."""
        return self._text("stderr")

    @property
    def data(self) -> dict[int, list[dict[str, Any]]]:
        """What each rank displayed: mime bundles, oldest first."""
        bundles: dict[int, list[dict[str, Any]]] = {rank: [] for rank in self.ranks}
        for output in self._outputs:
            if output.data:
                bundles[output.rank].append(msgspec.json.decode(output.data).get("data", {}))
        return bundles

    def raise_failure(self) -> None:
        """Raise what went wrong, if anything did.

        Raises:
            CellFailed: names the ranks and shows the source line.
        """
        if self.failures:
            raise failure(self.failures, self.ranks, self.sentence)

    def _text(self, kind: str) -> dict[int, str]:
        parts: dict[int, list[str]] = {rank: [] for rank in self.ranks}
        for output in self._outputs:
            if output.kind == kind:
                parts[output.rank].append(output.text)
        return {rank: "".join(texts) for rank, texts in parts.items()}

    def __repr__(self) -> str:
        state = "ok" if self.ok else self.sentence
        return f"<Result of {len(self.ranks)} ranks in {self.elapsed_s:.2f} s: {state}>"


class RanksFailed(CellFailed):
    """A cell that failed, shown as its sentence and each different traceback once."""

    def __init__(self, failures: tuple[Failure, ...], ranks: tuple[int, ...], sentence: str) -> None:
        super().__init__(
            sentence,
            details={"ranks": [f.rank for f in failures], "kinds": {str(f.rank): f.kind for f in failures}},
        )
        self.failures = failures
        self.ranks = ranks

    def _render_traceback_(self) -> list[str]:
        return render_failure(self.failures, self.message)


def failure(failures: tuple[Failure, ...], ranks: tuple[int, ...], sentence: str) -> CellFailed:
    """The error of a cell that failed."""
    return RanksFailed(failures, ranks, sentence)
