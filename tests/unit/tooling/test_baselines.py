"""Pictures and their baselines: letters may be smoothed otherwise, but nothing may move."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont

from tests.ui import pixels
from tests.ui.states.stage import FONTS


def picture(text: str, top: int = 20, colour: str = "black") -> bytes:
    drawn = Image.new("RGB", (300, 120), "white")
    font = ImageFont.truetype(str(FONTS / "DejaVuSans.ttf"), 13)
    ImageDraw.Draw(drawn).text((10, top), text, colour, font)
    held = io.BytesIO()
    drawn.save(held, "PNG")
    return held.getvalue()


@pytest.fixture
def before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(pixels, "BASELINES", tmp_path / "baselines")
    pixels.keep("card", picture("Training. All 8 ranks keep pace."))
    return tmp_path


def test_the_same_is_the_same(before: Path) -> None:
    assert pixels.difference("card", picture("Training. All 8 ranks keep pace."), before) == ""
    assert list(before.glob("differs-*")) == []


@pytest.mark.parametrize(
    "now",
    [
        picture("Training. All 8 ranks keep pace.", top=23),
        picture("Training. All 7 ranks kept pace."),
        picture("Training. All 8 ranks keep pace.", colour="#cc0000"),
    ],
    ids=["moved", "another text", "another colour"],
)
def test_what_differs_is_told_and_drawn(before: Path, now: bytes) -> None:
    assert "of its pixels differ" in pixels.difference("card", now, before)
    assert (before / "differs-card.png").exists()


def test_a_picture_without_a_baseline_is_told(before: Path) -> None:
    assert "make baselines" in pixels.difference("new", picture("x"), before)
