"""The screen of a rank's stream, by the cases that `src/output/lines/screen.spec.ts` reads, too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dtrain_lab.cells.screen import Screen, overwrites

CASES = json.loads((Path(__file__).parents[1] / "golden" / "screen.json").read_text("utf-8"))


@pytest.mark.parametrize("case", CASES["screens"], ids=lambda case: case["name"])
def test_lines_are_drawn_as_a_terminal_draws_them(case: dict[str, Any]) -> None:
    screen = Screen()
    for step in case["steps"]:
        done = screen.feed(step["text"]) if "text" in step else screen.settle()
        shown = {"done": done.split("\n")[:-1], "bars": screen.bars, "plain": screen.is_plain}
        if screen.is_plain:
            shown["rest"] = screen.rest()
        assert shown == {key: value for key, value in step.items() if key != "text"}


@pytest.mark.parametrize("case", CASES["overwrites"], ids=lambda case: repr(case["text"]))
def test_text_that_overwrites_is_known(case: dict[str, Any]) -> None:
    assert overwrites(case["text"]) is case["is"]
