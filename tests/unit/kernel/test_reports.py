"""What `%distributed status` says of the ranks."""

from __future__ import annotations

from msgspec.structs import replace

from dtrain_lab.kernel.command_output import rank_lines
from dtrain_lab.wire.cluster import Rank
from tests.ui.states.worlds import training

RANK = Rank(0, "a", 0, "cpu", 1, "busy", step=7, step_s=0.1, comm_overhead=0.04)


def test_a_rank_that_waits_for_something_else_is_said_to_do_so() -> None:
    asleep = replace(RANK, rank=1, asleep_s=0.067)
    lines = rank_lines(training("c", (RANK, asleep)))
    assert lines == [
        "  rank 0   busy   cpu   step 7   communication 4 %",
        "  rank 1   busy   cpu   step 7   communication 4 %   other waits 67 %",
    ]
    assert "other waits" not in "".join(rank_lines(training("c", (RANK,))))


def test_a_share_that_may_be_anything_has_no_number() -> None:
    """Other views said "too unsteady to tell", `%distributed status` "communication 21 %"."""
    vague = replace(RANK, comm_overhead=0.21, comm_overhead_error=0.6)
    [line] = rank_lines(training("c", (vague,)))
    assert line.endswith("communication too unsteady to tell")
