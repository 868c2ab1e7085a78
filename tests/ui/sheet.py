"""One sheet with all states, to be looked at before changes are handed in: a page, and pictures of it."""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import matplotlib
from PIL import Image, ImageDraw, ImageFont

WIDE = 1960
"""Pixels of a sheet."""
MOST = 640
"""Pixels of a picture on it."""
HIGH = 1800
"""A sheet that is higher begins anew."""
FONT = Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"


class Shot(NamedTuple):
    """A picture of a state. `caption`: width and theme."""

    state: str
    caption: str
    path: Path


def write(shots: Sequence[Shot], folder: Path) -> list[Path]:
    """Write `sheet.html`, and `sheet-1.png` and so on; returns the pictures."""
    for old in folder.glob("sheet-*.png"):
        old.unlink()
    cells = "\n".join(
        f'<figure><a href="states/{shot.path.name}"><img src="states/{shot.path.name}" loading="lazy"></a>'
        f"<figcaption>{html.escape(shot.state)} · {html.escape(shot.caption)}</figcaption></figure>"
        for shot in shots
    )
    (folder / "sheet.html").write_text(
        f"""<!doctype html><meta charset="utf-8"><title>All states</title>
<style>body {{ font: 14px sans-serif; background: #ddd; display: grid; gap: 12px;
grid-template-columns: repeat(auto-fill, minmax(600px, 1fr)) }}
figure {{ margin: 0 }} img {{ width: 100%; border: 1px solid #888 }}</style>
{cells}
"""
    )
    pages: list[Path] = []
    page: list[Image.Image] = []
    for row in _rows([_small(shot) for shot in shots]):
        if page and sum(s.height for s in page) + row.height > HIGH:
            pages.append(_save(page, folder, len(pages) + 1))
            page = []
        page.append(row)
    if page:
        pages.append(_save(page, folder, len(pages) + 1))
    return pages


def _small(shot: Shot) -> Image.Image:
    """A picture of at most `MOST` pixels' width below its caption."""
    picture = Image.open(shot.path).convert("RGB")
    if picture.width > MOST:
        height = picture.height * MOST // picture.width
        picture = picture.resize((MOST, height), Image.Resampling.LANCZOS)
    framed = Image.new("RGB", (picture.width + 10, picture.height + 30), "#ddd")
    font = ImageFont.truetype(str(FONT), 14 if picture.width > 400 else 11)
    ImageDraw.Draw(framed).text((2, 6), f"{shot.state} · {shot.caption}", "black", font)
    framed.paste(picture, (0, 26))
    return framed


def _rows(pictures: Sequence[Image.Image]) -> list[Image.Image]:
    """As many beside each other as there is room for."""
    rows: list[list[Image.Image]] = [[]]
    for picture in pictures:
        if rows[-1] and sum(p.width for p in rows[-1]) + picture.width > WIDE:
            rows.append([])
        rows[-1].append(picture)
    return [_joined(row) for row in rows if row]


def _joined(row: Sequence[Image.Image]) -> Image.Image:
    strip = Image.new("RGB", (WIDE, max(p.height for p in row)), "#ddd")
    left = 0
    for picture in row:
        strip.paste(picture, (left, 0))
        left += picture.width
    return strip


def _save(strips: Sequence[Image.Image], folder: Path, number: int) -> Path:
    page = Image.new("RGB", (WIDE, sum(s.height for s in strips)), "#ddd")
    top = 0
    for strip in strips:
        page.paste(strip, (0, top))
        top += strip.height
    path = folder / f"sheet-{number}.png"
    page.save(path)
    return path
