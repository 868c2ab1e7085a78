"""Which error `%debug` stops at on a rank."""

from __future__ import annotations

import pytest

from dtrain_lab.rank.debugger.last_failure import LastFailure


def test_the_error_of_the_last_cell_is_kept_over_looks_at_it() -> None:
    failure, error = LastFailure(), ValueError("x")

    def run(cell: str, *, ends: BaseException | None = None, line: str | None = None) -> object:
        failure.cell_began(cell)
        found = failure.look(line) if line is not None else None
        failure.cell_ended(ends)
        return found

    with pytest.raises(RuntimeError, match="has not failed on this rank"):
        failure.look("")
    run("a.1", ends=error)
    assert run("d.1", line="") is error
    assert run("d.2", line="--cell a.1", ends=KeyboardInterrupt()) is error
    assert run("d.3", line="--cell a.0") is None, "a later cell has run since"
    assert run("d.4", line="--cell a.1") is error, "a look that finds nothing forgets nothing"
    run("a.2")
    assert run("d.5", line="--cell a.1") is None
