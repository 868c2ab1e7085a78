from __future__ import annotations

import pytest

from dtrain_lab import errors
from dtrain_lab.cli.show import exit_code
from dtrain_lab.server.errors import status

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
