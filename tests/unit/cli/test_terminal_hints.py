"""A terminal names its own commands where a notebook names its magics."""

from __future__ import annotations

import pytest

from dtrain_lab.cli.base.show import in_terminal


@pytest.mark.parametrize(
    ("said", "there"),
    [
        ("Start one: %distributed start", "Start one: dtrain-lab cluster start"),
        ("Restart it: %distributed restart 1.", "Restart it: dtrain-lab cluster restart a --ranks 1."),
        ("%distributed restart 0,2-3, or wait.", "dtrain-lab cluster restart a --ranks 0,2-3, or wait."),
        ("%distributed stop ends it.", "dtrain-lab cluster stop a ends it."),
        ("Or: %distributed attach other", "Or: dtrain-lab cluster show other"),
        ("Compare: %distributed resize N", "Compare: dtrain-lab cluster start --ranks N"),
        ("Ask: %distributed diagnose", "Ask: dtrain-lab cluster diagnose a"),
    ],
)
def test_commands_are_the_terminals_own(said: str, there: str) -> None:
    assert in_terminal(said, "a") == there
