"""Values of ranks without torch: summarized, and compared by their elements."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import msgspec
import numpy as np

from dtrain_lab.debugger import compare_values
from dtrain_lab.rank.debugger.values import plain_summary
from dtrain_lab.wire.links.values import ValueSummary


class Tensor:
    """One of TensorFlow, as far as it is looked at."""

    def __init__(self, *numbers: float) -> None:
        self._numbers = np.array(numbers, dtype=np.float32)

    def numpy(self) -> Any:
        return self._numbers

    def __repr__(self) -> str:
        return "<tf.Tensor>"


class Broken:
    def __repr__(self) -> str:
        raise ValueError("x")


def row(*values: Any) -> compare_values.AcrossRow:
    seen = [json.loads(plain_summary.glance(value)) for value in values]
    answers = {rank: msgspec.convert(value, ValueSummary) for rank, value in enumerate(seen)}
    return compare_values.row("x", answers, {}, {})


def test_values_are_compared_by_their_elements_and_not_by_their_short_text() -> None:
    assert row(5, 5).text == "5 on all ranks"
    assert row(0.5, 0.75).text == "0.5 to 0.75"
    assert row(Tensor(1, 2), Tensor(1, 2)).text == "<tf.Tensor> on all ranks"
    assert not row(Tensor(1, 2), Tensor(1, 3)).same
    assert not row(np.arange(5000), np.arange(5000) + (np.arange(5000) == 2500)).same
    assert not row([0] * 99, [*[0] * 98, 1]).same
    assert row(Broken(), Broken()).text == "<Broken; its repr failed: ValueError> on all ranks"


def test_numbers_have_the_digits_that_people_read_and_are_kept_in_full() -> None:
    (group,) = row({"loss": 0.1 + 0.2}, {"loss": 0.1 + 0.2}).groups
    assert (group.text, group.exact) == ("{'loss': 0.3}", "{'loss': 0.30000000000000004}")
    (group,) = row([1.0, 0.1, 2, 1 / 3, (np.float32(0.1), 1j / 3)]).groups
    assert group.text == "[1.0, 0.1, 2, 0.333333, (0.1, (0+0.333333j))]"
    (group,) = row([1.0, "x"]).groups
    assert (group.text, group.exact) == ("[1.0, 'x']", ""), "nothing was left out"


def test_an_address_makes_no_values_differ() -> None:
    one = row(object(), object())
    assert (one.comparable, one.text) == (False, "<object object>, not compared")
    assert row("at 0x12", "at 0x13").comparable
    assert len(row("at 0x12", "at 0x13").groups) == 2, "a text is the user's"


def test_no_torch_is_imported() -> None:
    module = "dtrain_lab.rank.debugger.values.plain_summary"
    code = f"import sys; sys.modules['torch'] = None\nfrom {module} import glance\n"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}print(glance(5))"], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout)["text"] == "5"
