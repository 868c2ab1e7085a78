"""Advice is worded alike in the terminal and on the page: both are compared with one file of examples.

`python -m tests.unit.metrics.test_advice_wording` writes it; `src/advice/wording.spec.ts` reads it, too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from dtrain_lab.metrics.advice import advise, text, wording
from dtrain_lab.metrics.advice.measured import Measured
from dtrain_lab.wire.metrics.diagnosis import Tried
from dtrain_lab.wire.metrics.thresholds import FEW_BATCHES
from dtrain_lab.wire.metrics.verdicts import Advice, Verdict
from tests.ui.states.worlds import cluster_of, ranks_of

GOLDEN = Path(__file__).parents[1] / "golden" / "advice_wording.json"
BOUND = Measured(
    ranks=2, step_s=0.1, data_s=0.0, share=0.4, transfer_s=0.04, error=0.02, plain_ddp=True, hooked=False,
    gradient_bytes=24_000_000, gradient_item=4, global_batch=256, averaging_s=0.05, gpu=True, workers=0,
    cores=16,
)  # fmt: skip
SLOW = Verdict(
    "slow-1", "slow", "slow", {"over_s": 0.07, "data_s": 0.06, "cause": ": data"}, "", ranks=(1,), peers=(0,)
)
LOOPS = {
    "communication": BOUND,
    "accumulating already": replace(BOUND, batches=2, global_batch=1024),
    "unknown batch": replace(BOUND, global_batch=None),
    "float64": replace(BOUND, gradient_item=8),
    "data": replace(BOUND, share=0.02, transfer_s=0.002, data_s=0.06),
    "data, one worker": replace(BOUND, share=0.02, transfer_s=0.002, data_s=0.03, workers=1),
    "slow loader": replace(BOUND, share=0.02, transfer_s=0.002, data_s=0.06, slow=SLOW),
    "slow loader of many": replace(
        BOUND, share=0.02, transfer_s=0.002, data_s=0.02, slow=replace(SLOW, peers=(0, 2))
    ),
    "own code": replace(BOUND, own=0.6, share=0.02, transfer_s=0.002),
}
"""Loops about which something is advised."""
GAINS = (
    (1.0, 0.1), (1.09, 0.01), (1.43, 0.03), (1.45, 0.25), (1.58, 0.4), (1.57, 0.47), (1.58, 0.6),
    (4.32, 1.06), (4.46, 1.9), (4.46, 2.32), (4.46, 3.5),
)  # fmt: skip
"""Gains, each with its error."""
TRIALS = (
    (1.48, 0.05),
    (1.45, 0.25),
    (1.4, 0.3),
    (4.32, 1.06),
    (4.46, 1.9),
    (1.4, 0.6),
    (1.02, 0.06),
    (0.92, 0.03),
)
"""What trials have measured."""


def examples() -> Iterator[Advice]:
    """Each kind of advice, then gains and trials of all kinds."""
    seen = set()
    for of in LOOPS.values():
        for advice in advise(of):
            if (advice.change, advice.cost) not in seen:
                seen.add((advice.change, advice.cost))
                yield advice
    base = advise(BOUND)[0]
    for gain, error in GAINS:
        yield replace(base, gain=gain, gain_error=error)
    for number, (gain, error) in enumerate(TRIALS):
        steps, way = (24, FEW_BATCHES - 1, 1)[number % 3], ("optimize", "loop", "")[number % 3]
        trial = Tried(base.id, gain, error, base.gain, base.gain_error, steps, "", way)
        yield replace(base, tried=trial)
    for ranks in (1, 2):
        yield replace(base, tried=replace(trial, other_ranks=ranks))


def said(advice: Advice) -> dict[str, Any]:
    """An example as the page gets it, and what is said of it."""
    known = advice.gain, advice.gain_error, advice.tried
    return {
        "advice": msgspec.to_builtins(advice),
        "title": wording.headline(advice.change, *known),
        "note": wording.note(*known),
        "cost": advice.cost,
    }


def test_the_examples_are_those_that_the_page_is_compared_with() -> None:
    assert [said(advice) for advice in examples()] == json.loads(GOLDEN.read_text()), (
        "run: python -m tests.unit.metrics.test_advice_wording"
    )
    kinds = {advice.id for advice in examples()}
    assert kinds == {"accumulate", "bf16", "float32", "workers", "more_ranks", "own_code", "slow_loader"}


@pytest.mark.parametrize(
    ("gain", "error", "words"),
    [
        (1.43, 0.03, "about 43 % faster"),
        (1.45, 0.25, "20 to 70 % faster"),
        (1.57, 0.47, "probably faster"),  # as found: "57 % ± 47"
        (1.58, 0.6, "may be faster"),
        (4.32, 1.06, "about 4.3 times as fast"),
        (4.46, 1.9, "2.6 to 6.4 times as fast"),
        (4.46, 2.32, "probably faster"),
        (1.0, 0.1, ""),
    ],
)
def test_a_range_that_says_too_little_is_told_in_words(gain: float, error: float, words: str) -> None:
    assert wording.faster(gain, error) == words
    assert bool(wording.note(gain, error)) == (words in ("probably faster", "may be faster"))


def test_the_terminal_says_it_so_with_the_command_that_measures_it() -> None:
    advice = replace(advise(BOUND)[0], gain=1.57, gain_error=0.47, diff="-a\n+b")
    lines = text.lines([msgspec.to_builtins(advice)], cluster_of("name", ranks_of(2)))
    assert lines[:2] == [
        "Accumulate 4 batches: probably faster. Steps are too unsteady now to tell by how much. "
        "The effective batch becomes 1,024: multiply the learning rate by 4 (linear scaling) or by 2 "
        "(square-root scaling).",
        "    %distributed advise --try accumulate  # measures it",
    ]


if __name__ == "__main__":
    GOLDEN.write_text(
        json.dumps([said(advice) for advice in examples()], indent=1, ensure_ascii=False) + "\n"
    )
