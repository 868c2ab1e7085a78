"""What `%distributed status` says of the ranks."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from dtrain_lab.kernel import command_output
from dtrain_lab.kernel.command_output import rank_lines
from dtrain_lab.wire.cluster import Cluster, Rank
from dtrain_lab.wire.metrics.world import Last
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


def test_what_is_too_wide_for_a_narrow_notebook_is_below_the_state() -> None:
    trains = replace(RANK, step=384, samples_per_s=340.0, memory_bytes=322_122_547)
    stuck = replace(trains, rank=1, state="in collective", comm_overhead=0.0, asleep_s=0.08)
    assert rank_lines(training("c", (trains, stuck))) == [
        "  rank 0   busy              cpu   step 384   0.3 GiB",
        "           340.0 samples/s   communication 4 %",
        "  rank 1   in a collective   cpu   step 384   0.3 GiB",
        "           340.0 samples/s   communication 0 %   other waits 80 %",
    ]
    none = dict.fromkeys(("step", "samples_per_s", "step_s", "comm_overhead", "asleep_s"))
    new = replace(stuck, rank=2, **none)
    assert rank_lines(training("c", (trains, stuck, new)))[4:] == [
        "  rank 2   in a collective   cpu              0.3 GiB"
    ]


def test_a_share_that_may_be_anything_has_no_number() -> None:
    """Other views said "too unsteady to tell", `%distributed status` "communication 21 %"."""
    vague = replace(RANK, comm_overhead=0.21, comm_overhead_error=0.6)
    [line] = rank_lines(training("c", (vague,)))
    assert line.endswith("communication too unsteady to tell")


class _Ended:
    """A cluster whose training has ended; ranks keep what they measured."""

    def snapshot(self) -> Cluster:
        info = training("c", (replace(RANK, state="idle", samples_per_s=460.1),))
        last = Last(samples_per_s=460.1, step_s=0.1, comm_overhead=0.04)
        return replace(info, metrics=replace(info.metrics, current=False, last=last))


def test_rates_of_the_last_training_are_not_given_as_present_ones(capsys: pytest.CaptureFixture[str]) -> None:
    command_output.status(_Ended())  # type: ignore[arg-type]
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2:] == [
        "Last: 460.1 samples/s, communication 4 %.",
        "  rank 0   idle   cpu   step 7",
    ]
