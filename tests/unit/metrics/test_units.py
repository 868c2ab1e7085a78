"""Numbers with their units, as people write them."""

from __future__ import annotations

import pytest

from dtrain_lab.text.job_waits import never_succeeded, waits_for
from dtrain_lab.text.units import counted, least_share, share_text, size_text


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (999_960, "1.0 MB"),
        (3_100_000, "3.1 MB"),
        (2_500_000_000, "2.50 GB"),
    ],
)
def test_sizes(size: int, text: str) -> None:
    assert size_text(size) == text


def test_what_is_counted_has_its_number() -> None:
    assert [counted(n, "batch", "batches") for n in (0, 1, 2)] == ["0 batches", "1 batch", "2 batches"]
    assert [counted(n, "job") for n in (1, 1200)] == ["1 job", "1,200 jobs"]


def test_a_share_in_a_table_is_the_bound_that_sentences_say() -> None:
    assert share_text(0.0, 0.13) == "at most 13 %"
    assert least_share(0.0, "", 0.13) == "≤ 13 %"
    assert least_share(0.9, "", 0.2) == "≥ 70 %"
    assert least_share(0.44, "", 0.06) == "44 %"
    assert least_share(0.0, "", 0.0) == "0 %"
    assert least_share(0.04, "lower", 0.1) == "≥ 4 %"
    assert least_share(0.1, "", 0.4) == "too unsteady to tell"


def test_names_of_jobs_are_quoted_in_reasons() -> None:
    never = never_succeeded("fails").message
    assert never == 'The job "fails" had to succeed first, but it has ended without success.'
    assert waits_for("first").message == 'Waits for the job "first".'
