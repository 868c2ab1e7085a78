"""The page tells errors that follow from another rank's as the server does."""

from __future__ import annotations

import re
from pathlib import Path

from dtrain_lab.cells.errors import CONNECTION_ERRORS
from dtrain_lab.jobs.job_errors import FOLLOWING

PAGE = Path(__file__).parents[3] / "src" / "job" / "log" / "causedErrors.ts"


def test_the_page_knows_all_errors_that_follow_and_no_others() -> None:
    found = re.search(r"const FOLLOWS =\s*/(.*)\|\^\(\?:\\w\+\\\.\)\*\(\?:(.*)\)\\b/i;", PAGE.read_text())
    assert found is not None
    texts, types = found.groups()
    assert tuple(texts.split("|")) == CONNECTION_ERRORS
    assert tuple(types.split("|")) == FOLLOWING
