"""Generated files are those that the types give."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from dtrain_lab.server import openapi
from dtrain_lab.server.routes import handlers
from dtrain_lab.wire.metrics import told

ROOT = Path(__file__).parents[2]


PINNED = re.search(r"^msgspec==(.+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)


@pytest.mark.skipif(
    PINNED is None or msgspec.__version__ != PINNED[1], reason="another msgspec writes another schema"
)
def test_the_openapi_file_is_not_stale() -> None:
    assert (ROOT / "docs" / "openapi.json").read_text() == openapi.text(), "run: make types"


def test_the_page_tells_figures_apart_as_python_does() -> None:
    assert (ROOT / "src" / "api" / "told.ts").read_text() == told.typescript(), "run: make types"


def test_every_route_is_described() -> None:
    described = {operation.path for operation in openapi.OPERATIONS}
    for pattern, _ in handlers():
        path = pattern.removeprefix("/dtrain-lab")
        choices = re.search(r"\(\?P<action>([^)]*)\)", path)
        for action in choices[1].split("|") if choices else [""]:
            plain = re.sub(r"\(\?P<action>[^)]*\)", action, path)
            plain = re.sub(r"\(\?P<(\w+)>[^)]*\)", r"{\1}", plain)
            assert plain in described, plain
