"""The comparison of pictures finds the smallest things that can be missing from one, and no rounding."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from PIL import Image, ImageDraw

from tests.ui import pixels

GREEN, GREY, WHITE = "#388e3c", "#616161", "#ffffff"


def drawn(*, disc: str = GREEN, label: str = "#eeeeee", chip: str = "2", left: int = 60) -> bytes:
    """The bar of a cell and a line below it, large enough to drown what is missing."""
    picture = Image.new("RGB", (1060, 780), WHITE)
    draw = ImageDraw.Draw(picture)
    draw.ellipse((12, 12, 20, 20), disc)
    if chip:
        draw.rounded_rectangle((900, 6, 928, 26), 10, outline="#e0e0e0")
        draw.text((911, 11), chip, GREY)
    draw.rectangle((8, 40, 52, 56), label)
    draw.text((left, 42), "epoch 0 loss 2.101", "#212121")
    held = io.BytesIO()
    picture.save(held, "PNG")
    return held.getvalue()


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(pixels, "BASELINES", tmp_path / "baselines")
    pixels.keep("bar", drawn())
    return tmp_path


@pytest.mark.parametrize(
    "other",
    [
        drawn(disc=GREY),
        drawn(label=WHITE),
        drawn(chip=""),
        drawn(left=61),
    ],
    ids=["a colour that tells a state", "a label", "a chip", "a line that moved by a pixel"],
)
def test_what_differs_is_found(kept: Path, other: bytes) -> None:
    assert "pixels differ" in pixels.difference("bar", other, kept)
    assert (kept / "differs-bar.png").exists()


def test_what_is_the_same_but_for_rounding_is_not_told(kept: Path) -> None:
    assert pixels.difference("bar", drawn(), kept) == ""
    assert pixels.difference("bar", drawn(disc="#398f3d"), kept) == ""
