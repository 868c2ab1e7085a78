"""Pictures compared with baselines: pixel by pixel, but for antialiasing."""

from __future__ import annotations

import io
from pathlib import Path

from PIL import Image
from pixelmatch.contrib.PIL import pixelmatch

BASELINES = Path(__file__).parent / "baselines"
THRESHOLD = 0.05
"""How far two colours may be apart, 0 to 1: a label's grey and the white below it are further."""
MOST = 20
"""Pixels that may differ. The chip of a rank that is missing is twice as much."""


def keep(name: str, picture: bytes) -> None:
    """Make this picture the baseline."""
    BASELINES.mkdir(exist_ok=True)
    # all colours: a palette would leave out those of the smallest glyphs, which tell the states apart
    _opened(picture).save(BASELINES / f"{name}.png", optimize=True)


def difference(name: str, picture: bytes, shots: Path) -> str:
    """How a picture differs from its baseline, in words; empty where it does not.

    Args:
        name: of the baseline.
        picture: PNG.
        shots: folder that gets a picture of what differs: before, after, and the difference in red.
    """
    path = BASELINES / f"{name}.png"
    if not path.exists():
        return f"{name} has no baseline: make baselines"
    now, before = _opened(picture), Image.open(path).convert("RGB")
    if now.size != before.size:
        _beside(before, now, None).save(shots / f"differs-{name}.png")
        return f"{name} is {now.size[0]} x {now.size[1]}, was {before.size[0]} x {before.size[1]}"
    if now.tobytes() == before.tobytes():
        return ""
    marked = Image.new("RGBA", now.size)
    count = pixelmatch(before.convert("RGBA"), now.convert("RGBA"), marked, threshold=THRESHOLD)
    if count <= MOST:
        return ""
    _beside(before, now, marked).save(shots / f"differs-{name}.png")
    return f"{name}: {count:,} of its pixels differ; see docs/_shots/differs-{name}.png"


def _opened(picture: bytes) -> Image.Image:
    return Image.open(io.BytesIO(picture)).convert("RGB")


def _beside(*pictures: Image.Image | None) -> Image.Image:
    known = [p for p in pictures if p is not None]
    sheet = Image.new("RGB", (sum(p.width + 8 for p in known), max(p.height for p in known)), "#888")
    left = 0
    for picture in known:
        sheet.paste(picture, (left, 0))
        left += picture.width + 8
    return sheet
