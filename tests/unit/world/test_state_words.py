"""States in the terminal, worded as on the page."""

from __future__ import annotations

import re
from typing import get_args

import pytest

from dtrain_lab.text.state_words import JOB_WORDS, job_word, sweep_word, word
from dtrain_lab.wire.kinds import SWEEP_PARTLY_SUCCEEDED, JobState, RankPhase, WorldPhase
from dtrain_lab.wire.sweeps import SweepState, TrialState
from tests.faults import ROOT


@pytest.mark.parametrize(
    ("page", "name", "kinds"),
    [
        ("verdicts/sentence.ts", "stateWord", (WorldPhase, RankPhase)),
        ("job/model/states.ts", "jobState", (JobState,)),
        ("job/list/sweeps.ts", "sweepState", (SweepState,)),
        ("sweeps/model/texts.ts", "trialState", (TrialState,)),
    ],
)
def test_a_state_has_one_word_everywhere(page: str, name: str, kinds: tuple[object, ...]) -> None:
    text = (ROOT / "src" / page).read_text()
    table = text[text.index(f"export function {name}(") :]
    table = table[: table.index("\n}\n")]
    in_a_table = re.findall(r"^ *'?([a-z ]+?)'?: trans\.__\('(.+?)'\)", table, re.MULTILINE)
    in_a_switch = re.findall(r"case '([a-z ]+)':\n *return trans\.__\('(.+?)'\)", table)
    rows = in_a_table + in_a_switch
    shown = {state: said.lower() for state, said in rows}
    states = {state for kind in kinds for state in get_args(kind)}
    if name == "trialState":
        states.remove("resumed")  # says from which step, or that the trial started over
    assert shown == {state: word(state) for state in states}


def test_what_a_sweep_has_stopped_is_not_called_cancelled() -> None:
    text = (ROOT / "src/job/model/states.ts").read_text()
    assert [job_word("cancelled", code) for code in ("job_cancelled", "job_pruned", "job_stopped")] == [
        "cancelled", word("pruned"), word("stopped"),
    ]  # fmt: skip
    for (state, code), said in JOB_WORDS.items():
        if state == "cancelled":
            assert f"{code}: trans.__('{said.capitalize()}')" in text


def test_a_sweep_with_failed_trials_is_called_finished() -> None:
    text = (ROOT / "src/job/list/sweeps.ts").read_text()
    assert f"trans.__('{sweep_word('succeeded', SWEEP_PARTLY_SUCCEEDED).capitalize()}')" in text
