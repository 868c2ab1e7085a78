"""The quickstart notebook that the package ships, with the notebooks and pages that it links to."""

from __future__ import annotations

import base64
import json
import posixpath
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

from dtrain_lab.errors import NotFound

PACKAGE = Path(__file__).parents[1]
PLACES = (PACKAGE / "notebooks", PACKAGE.parent / "notebooks")
"""Their folder in the wheel, and in a checkout."""
FIRST = "quickstart.ipynb"
PAGES = "docs"
"""Folder beside the notebooks that the documentation's pages go to."""
_DOCS = "../docs/"
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")


Quickstart = dict[str, dict[str, Any] | str]
"""Path → notebook, or the words of a page."""


def quickstart() -> Quickstart:
    """Return the quickstart notebook and all it leads to: path → notebook without outputs, or a page's words.

    They are self-contained: pictures are embedded, pages of the documentation lie in a folder beside the
    notebooks, and other links become text that says where the target is.

    Raises:
        NotFound: This installation does not contain it.
    """
    folder = next((place for place in PLACES if (place / FIRST).exists()), None)
    if folder is None:
        raise NotFound(
            "This installation has no quickstart notebook.", "Install the wheel of dtrain-lab again."
        )
    notebooks: dict[str, dict[str, Any]] = {}
    pages: dict[str, None] = {}
    wanted = [FIRST]
    while wanted:
        name = wanted.pop(0)
        if name not in notebooks and (folder / name).exists():
            notebook, led = _alone(folder, json.loads((folder / name).read_text(encoding="utf-8")))
            notebooks[name] = notebook
            wanted += [file for file in led if file.endswith(".ipynb")]
            pages |= dict.fromkeys(file for file in led if file.endswith(".md"))
    docs = (folder / _DOCS).resolve()
    texts = {page: _page(docs, page, pages, notebooks) for page in pages}
    return {**notebooks, **{f"{PAGES}/{page}": text for page, text in texts.items()}}


def _page(docs: Path, name: str, pages: Collection[str], notebooks: Collection[str]) -> str:
    """Make a documentation page self-contained, in a folder of pages below the notebooks."""

    def changed(match: re.Match[str]) -> str:
        picture, label, target = match.groups()
        file = target.partition("#")[0]
        if picture:
            return str(label)
        if "://" in target or not file or file in pages:
            return match[0]
        if file.rpartition("/")[2] in notebooks:
            return f"[{label}](../{file.rpartition('/')[2]})"
        return f"{label} (`{posixpath.normpath(f'docs/{file}')}` of the sources)"

    return _LINK.sub(changed, (docs / name).read_text(encoding="utf-8"))


def _alone(folder: Path, notebook: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Make a notebook self-contained, without outputs; also returns the names that it links to."""
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
    """A cell's text, its pictures as attachments, and names of the notebooks and pages that it links to."""
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
        file, mark, heading = target.partition("#")
        if file == f"{_DOCS}{name.partition('#')[0]}" and file.endswith(".md") and (folder / file).is_file():
            led.append(file.removeprefix(_DOCS))
            return f"[{label}]({PAGES}/{file.removeprefix(_DOCS)}{mark}{heading})"
        return f"{label} (`{target.removeprefix('../').partition('#')[0]}` of the sources)"

    return _LINK.sub(changed, text), pictures, led
