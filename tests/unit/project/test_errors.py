from __future__ import annotations

import pytest

from dtrain_lab import errors
from dtrain_lab.cells.errors import blame
from dtrain_lab.cli.base.show import exit_code
from dtrain_lab.jobs.job_errors import follows
from dtrain_lab.server.errors import status
from dtrain_lab.wire.cells import Failure
from dtrain_lab.wire.jobs.job import JobError

KINDS = sorted(set(errors.ERRORS_BY_CODE.values()), key=lambda k: k.__name__)


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_survives_the_wire(kind: type[errors.DtrainError]) -> None:
    sent = kind("Who and what.", "What to do.", code="special", details={"line": 3})
    got = errors.from_dict({**sent.as_dict(), "kind": kind.default_code})
    assert type(got) is kind
    assert got.as_dict() == sent.as_dict()


@pytest.mark.parametrize("kind", KINDS)
def test_every_error_has_a_status_and_an_exit_code(kind: type[errors.DtrainError]) -> None:
    assert 400 <= status(kind("x")) < 600
    assert status(kind("x")) != 500
    assert 1 <= exit_code(kind("x")) <= 5


def test_a_notebook_shows_the_sentence_and_the_hint_and_no_traceback() -> None:
    assert errors.NotFound("No.", "Do.")._render_traceback_() == ["No.", "Do."]


def test_what_ended_because_a_peer_failed_is_no_cause() -> None:
    told = "dt.predict ended on this rank, too, as rank 1 failed: ValueError: early"
    failures = [Failure(0, "raised", "PeerFailed", told), Failure(1, "raised", "ValueError", "early")]
    assert [f.kind for f in blame(failures)] == ["aborted", "raised"]
    assert follows(JobError(rank=0, cell="1", cell_id=None, line=1, type="PeerFailed", message=told))
