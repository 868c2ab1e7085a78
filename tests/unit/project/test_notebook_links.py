"""Each example notebook leads to the next one of the user guide."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_each_notebook_leads_to_the_next_of_the_guide() -> None:
    [listed] = re.findall(
        r"Each leads to the next: (.*?)\n\n", (ROOT / "docs" / "guide.md").read_text(), re.DOTALL
    )
    order = re.findall(r"\(\.\./notebooks/(\w+)\.ipynb\)", listed)
    assert set(order) == {path.stem for path in (ROOT / "notebooks").glob("*.ipynb")}
    for name, following in pairwise(order):
        last = json.loads((ROOT / "notebooks" / f"{name}.ipynb").read_text())["cells"][-1]
        [links] = re.findall(r"\*\*Next:\*\*(.*)", "".join(last["source"]))
        assert f"({following}.ipynb)" in links, f"{name} does not lead to {following}"
