"""Whether one attempt of a job is over, as its head sees the ranks."""

from __future__ import annotations

import pytest

from dtrain_lab.jobs.attempt import SILENT_S, RankReport, attempt_state, lost
from dtrain_lab.wire.links import AttemptState

DONE, RUNS = RankReport(1, 0, 99.0), RankReport(1, None, 1.0)
SILENT = RankReport(1, None, SILENT_S + 1)


@pytest.mark.parametrize(
    ("ranks", "waited_s", "failed", "expected"),
    [
        ([DONE, DONE], 0.0, False, "done"),
        ([DONE, RUNS], 900.0, False, "runs"),
        ([DONE, RankReport(1, 3, 1.0)], 0.0, False, "failed"),
        ([DONE, RankReport(1, -9, 1.0)], 0.0, False, "failed"),
        ([DONE, SILENT], 0.0, False, "failed"),
        ([DONE, RankReport(2, None, 0.0)], 1.0, True, "failed"),  # it has begun anew already
        ([DONE, RankReport(0, 1, 9.0)], 1.0, False, "runs"),  # of the attempt before
        ([DONE], 1.0, False, "runs"),
        ([DONE], SILENT_S, False, "unknown"),  # its agent has no way to the head
    ],
)
def test_an_attempt(ranks: list[RankReport], waited_s: float, failed: bool, expected: AttemptState) -> None:
    assert attempt_state(dict(enumerate(ranks)), 2, 1, waited_s, failed=failed) == expected


def test_ranks_whose_host_is_gone() -> None:
    assert lost(dict(enumerate([DONE, SILENT, RUNS, RankReport(0, None, 99.0)])), 1) == [1]
