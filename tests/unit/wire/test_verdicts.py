"""A verdict says whether it is an alarm and whether it is the headline; also one of an earlier head."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from dtrain_lab.wire.kinds import VerdictKind
from dtrain_lab.wire.metrics.verdicts import Verdict


@pytest.mark.parametrize(
    ("kind", "code", "alarm", "headline"),
    [
        ("stuck", "left", True, True),
        ("mismatch", "extra", True, True),
        ("slow", "behind", False, True),
        ("input_bound", "waits_for_data", False, True),
        ("unknown", "no_progress", False, True),
        ("unknown", "too_busy", False, False),
    ],
)
def test_alarm_and_headline_follow_from_kind_and_code(
    kind: VerdictKind, code: str, alarm: bool, headline: bool
) -> None:
    made = Verdict("id", kind, code, {}, "Text.")
    assert (made.alarm, made.headline) == (alarm, headline)
    sent = msgspec.to_builtins(made)
    del sent["alarm"], sent["headline"]  # as a head of an earlier version sends it
    assert msgspec.convert(sent, Verdict) == made
    assert replace(made, id="another").alarm == alarm
