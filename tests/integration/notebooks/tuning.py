"""What the tuning notebook prints, compared with what it has measured."""

from __future__ import annotations

import re

import msgspec

from dtrain_lab.metrics.diagnosis_text import too_unsteady
from dtrain_lab.wire.metrics.diagnosis import Diagnosis

MEASURED = """
import msgspec
for one in found.values():
    print("MEASURED", msgspec.json.encode(one).decode())
"""
"""A cell that follows those of the tuning notebook: the diagnoses of its four runs."""


def check_verdict(one: Diagnosis, said: str, bound: str) -> None:
    """It is printed as it was measured; it may be another one on a crowded machine, for a reason that it has.

    Args:
        one: the diagnosis of a run.
        said: what the notebook has printed.
        bound: how the verdict begins that is to be found.
    """
    assert one.text in said
    shares = {"Communication-bound": one.communication, "Input-bound": one.data}
    checks = {name: (check.share, check.error) for name, check in shares.items() if check is not None}
    largest = max(checks, key=lambda name: checks[name][0])
    if one.text.startswith("Rank "):
        assert one.text.startswith(f"Rank {one.slow_rank} is slow: ")
    elif one.text.startswith("Your loop's own code takes "):
        assert one.own > checks[largest][0]
    elif one.text.startswith("Too unsteady to tell how much of a step "):
        assert too_unsteady(*checks.values()) is not None, one
    else:
        (share, error), (expected, its_error) = checks[largest], checks[bound]
        assert one.text.startswith(f"{largest}: {100 * share:.0f} % "), one
        assert share - expected <= (0 if largest == bound else error + its_error), one


def check_tuning(said: str) -> None:
    """The two slow runs are told apart, and what is advised makes the first one faster."""
    printed = re.findall(r"^MEASURED (.*)$", said, re.MULTILINE)
    found = [msgspec.json.decode(line, type=Diagnosis) for line in printed]
    wide, _, slow, _ = found
    check_verdict(wide, said, "Communication-bound")
    check_verdict(slow, said, "Input-bound")
    told, gained = said.split("Gradients are averaged once in ", 1)
    assert "Each rank averages 6.1 MB of gradients a step." in told
    assert "has not stepped with" not in said, "the batches of the last group are not lost"
    [measured] = re.findall(r"Measured: ([\d.]+) times as fast", gained)
    if "Advised: " in gained:
        # as well as it is known
        gain = r"about \d+ % faster|\d+ to \d+ % faster|(may be |probably )faster|.* times as fast"
        assert re.search(rf"Accumulate [248] batches: ({gain})\.", told)
        assert "+model, optimizer = dt.optimize(model, optimizer, gradient_accumulation_steps=" in told
        [promised] = re.findall(r"Advised: Accumulate [248] batches: (.*?)\.(?: |$)", gained, re.MULTILINE)
        assert f": {promised}." in told, "as precisely as before"
        if not re.search("may be faster|probably faster", promised):
            assert float(measured) > 1.05, "less is sent, so it is faster"
    else:  # on a crowded machine the error may be as large as the gain
        assert re.search("no known change|too unsteady to promise|slower rank|is slow|be a guess", told)
    assert re.search(r"With two workers a step takes [\d.]+ ms in place of [\d.]+ ms", said)
    assert re.search(r"estimated in training +[\d.]+ ms +\d+ +\d+ % +\d+ %", said), "a table of the past"
    rows = re.findall(r"measured by diagnose +(.*)", said)
    assert len(rows) == len(found), "each estimate stands beside the measurement"
    for row, one in zip(rows, found, strict=True):
        for check in (one.data, one.communication):
            if check is not None and not check.vague:
                assert f"{100 * check.share:.0f} % ± {100 * check.error:.0f}" in row, one
