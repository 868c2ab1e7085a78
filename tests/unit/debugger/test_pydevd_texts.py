"""Texts of pydevd and msgspec that we tell apart, and what becomes of those that we don't know."""

from __future__ import annotations

from pathlib import Path

import debugpy
import pytest

from dtrain_lab.debugger import pydevd_texts
from dtrain_lab.debugger.editor import arguments, msgspec_texts

PYDEVD = Path(debugpy.__file__).parent / "_vendored" / "pydevd" / "_pydevd_bundle"


@pytest.mark.parametrize(
    "text", ["Unable to change: ", *pydevd_texts.GONE.pattern.split("|"), pydevd_texts.EXCLUDED]
)
def test_pydevd_still_says_so(text: str) -> None:
    said = "".join(file.read_text() for file in PYDEVD.rglob("*.py"))
    assert text in said, f"pydevd does not say {text!r} any more"


def test_refusals_of_pydevd_are_said_in_words_and_others_stay() -> None:
    request = {"command": "scopes", "arguments": {"frameId": 7}}
    refused = {"success": False, "message": "Wrong ID sent from the client: 7"}
    assert arguments.in_words(request, refused)["message"].startswith("The rank has no frame or variable 7")
    request = {"command": "setVariable", "arguments": {"variablesReference": 7, "value": "1 +"}}
    refused = {"success": False, "message": "Unable to change: lr."}
    assert arguments.in_words(request, refused)["message"].startswith('lr could not be set: "1 +"')
    for other in ({"success": False, "message": "else"}, {"success": True, "message": "Wrong ID sent"}):
        assert arguments.in_words(request, other) == other


def test_an_error_that_pydevd_answers_with_is_said_as_python_does() -> None:
    assert (
        pydevd_texts.error_of("NameError(\"name 'x' is not defined\")")
        == "NameError: name 'x' is not defined"
    )
    assert pydevd_texts.error_of("Traceback:\n  File\nKeyError: 1\n") == "KeyError: 1"
    assert pydevd_texts.last_line("") == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "Object missing required field `line` - at `$.breakpoints[...]`",
            "breakpoints[...] must have line.",
        ),
        ("Expected `array | null`, got `str` - at `$.breakpoints`", "breakpoints must be a list."),
        ("Expected `int`, got `str`", "its arguments must be a number."),
        ("Expected `_Source`, got `str` - at `$.source`", "source can't be read."),
        ("Invalid something of _Points", "its arguments can't be read."),
    ],
)
def test_msgspec_is_said_in_words_and_never_shown_raw(text: str, said: str) -> None:
    assert msgspec_texts.in_words(text) == said


@pytest.mark.parametrize(
    ("text", "description", "said"),
    [
        ("ValueError", "bad value 10", "ValueError: bad value 10"),
        ("ValueError", "two\nlines", "ValueError: two"),
        ("StopIteration", "", "StopIteration"),
        ("KeyboardInterrupt", "", ""),
        (None, None, ""),
        ("E", "x" * 500, f"E: {'x' * (pydevd_texts.LONGEST - 4)}…"),
    ],
)
def test_a_stop_at_an_error_names_it_in_one_line(text: str, description: str, said: str) -> None:
    assert pydevd_texts.stop_error({"text": text, "description": description}) == said
