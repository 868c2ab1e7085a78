"""Cells of plain Python spare IPython's search for magics, and become what they would without that."""

from __future__ import annotations

import pytest
from IPython.core.inputtransformer2 import TransformerManager

from dtrain_lab.rank.cells.transforms import quick_transforms

PLAIN = ["pass", "x = 1\nif x:\n    print(x)", "  indented\n  twice", "\n\nafter = blank", ">>> x = 1\n>>> y"]
MAGIC = [
    "%time x",
    "%%capture\nx",
    "files = !ls",
    "here = %pwd",
    "x = 1\nx?",
    "!ls",
    "if True:\n    !ls",
    ",print a b",
    ";print a b",
    "/print 1",
    "if x:\n    /print 1",
    "a = 7 % 2",
    "?x",
]


@pytest.mark.parametrize("code", PLAIN + MAGIC)
def test_a_cell_becomes_what_it_would(code: str) -> None:
    quick = TransformerManager()
    quick_transforms(quick)
    assert quick.transform_cell(code) == TransformerManager().transform_cell(code)


def test_a_transformer_of_somebody_else_sees_every_cell() -> None:
    manager = TransformerManager()
    quick_transforms(manager)
    seen: list[str] = []

    class Theirs:
        @classmethod
        def find(cls, tokens_by_line: list[list[object]]) -> None:
            seen.append("looked")

    manager.token_transformers.append(Theirs)
    manager.transform_cell("pass")
    assert seen == ["looked"]
