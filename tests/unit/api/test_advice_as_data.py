"""Advice as data says no more than it says in words."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from dtrain_lab.api.measurements import as_dict
from dtrain_lab.metrics.advice import wording
from dtrain_lab.wire.metrics.diagnosis import Tried
from dtrain_lab.wire.metrics.verdicts import Advice

ADVICE = Advice("accumulate", "Accumulate 2 batches", 1.29, 0.10, "The batch is larger.", "")


@pytest.mark.parametrize(
    ("error", "vague", "said"),
    [
        (0.10, False, "Accumulate 2 batches: about 29 % faster."),
        (0.28, True, f"Accumulate 2 batches: probably faster. {wording.UNSTEADY}"),
        (0.30, True, f"Accumulate 2 batches: may be faster. {wording.UNSTEADY}"),
    ],
)
def test_a_gain_is_vague_where_its_sentence_names_none(error: float, vague: bool, said: str) -> None:
    told = as_dict(replace(ADVICE, gain_error=error))
    assert (told["vague"], told["text"]) == (vague, said)
    assert told["gain"] == 1.29


def test_what_was_tried_replaces_the_prediction() -> None:
    told = as_dict(replace(ADVICE, gain_error=0.3, tried=Tried("accumulate", 1.5, 0.02, 1.29, 0.3, 40, "")))
    assert told["vague"] is False
    assert told["text"].startswith(
        "Accumulate 2 batches: 50 % ± 2 faster when tried. Measured over 40 batches."
    )
