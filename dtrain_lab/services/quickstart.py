"""The quickstart notebook that the package ships, and those that it leads to."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

from dtrain_lab.errors import NotFound

PACKAGE = Path(__file__).parents[1]
PLACES = (PACKAGE / "notebooks", PACKAGE.parent / "notebooks")
"""Their folder in the wheel, and in a checkout."""
FIRST = "quickstart.ipynb"
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")


def quickstart() -> dict[str, dict[str, Any]]:
    """Return the quickstart notebook and those that it leads to, without outputs: file name → notebook.

    They stand by themselves: their pictures are in them, and a link to a page that is not beside them is
    text that says where the page is.

    Raises:
        NotFound: This installation does not contain it.
    """
    folder = next((place for place in PLACES if (place / FIRST).exists()), None)
    if folder is None:
        raise NotFound(
            "This installation has no quickstart notebook.", "Install the wheel of dtrain-lab again."
        )
    found: dict[str, dict[str, Any]] = {}
    wanted = [FIRST]
    while wanted:
        name = wanted.pop(0)
        if name not in found and (folder / name).exists():
            notebook, led = _alone(folder, json.loads((folder / name).read_text(encoding="utf-8")))
            found[name] = notebook
            wanted += led
    return found


def _alone(folder: Path, notebook: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """A notebook without outputs and by itself, and the notebooks that it leads to."""
    led: list[str] = []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None
            continue
        text, pictures, more = _prose(folder, "".join(cell["source"]))
        cell["source"] = text
        led += more
        if pictures:
            cell["attachments"] = {**cell.get("attachments", {}), **pictures}
    return notebook, led


def _prose(folder: Path, text: str) -> tuple[str, dict[str, Any], list[str]]:
    """A cell's text, its pictures as attachments, and names of the notebooks that it leads to."""
    pictures: dict[str, Any] = {}
    led: list[str] = []

    def changed(match: re.Match[str]) -> str:
        picture, label, target = match.groups()
        name = target.rpartition("/")[2]
        if "://" in target or target.startswith(("#", "attachment:")):
            return match[0]
        if picture:
            if not (folder / target).exists():
                return label
            pictures[name] = {"image/png": base64.b64encode((folder / target).read_bytes()).decode()}
            return f"![{label}](attachment:{name})"
        if target == name and (folder / target).exists():
            led.append(name)
            return match[0]
        return f"{label} (`{target.removeprefix('../').partition('#')[0]}` of the sources)"

    return _LINK.sub(changed, text), pictures, led
