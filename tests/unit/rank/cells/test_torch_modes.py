"""What an interrupt amid the first or last lines of a torch context leaves is set back."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest
import torch

from dtrain_lab.rank.cells import torch_modes
from dtrain_lab.rank.cells.torch_modes import AUTOCAST, GRADIENTS


@pytest.fixture(autouse=True)
def untouched() -> Iterator[None]:
    before = torch_modes.current()
    yield
    torch_modes.restore(before)


def four_steps() -> list[float]:
    """Outputs of a layer under autocast whose weight decreases by one each step."""
    layer = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.constant_(layer.weight, 8.0)
    outputs = []
    for _ in range(4):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            outputs.append(layer(torch.ones(1, 1)).item())
        with torch.no_grad():
            layer.weight -= 1
    return outputs


def entered() -> None:
    torch.autocast("cpu", dtype=torch.float16, cache_enabled=False).__enter__()


def entered_as_disabled() -> None:
    torch.autocast("cpu", enabled=False).__enter__()


def left_half() -> None:
    torch.autocast("cpu").__enter__()
    torch.autocast_decrement_nesting()


@pytest.mark.parametrize("leave", [entered, entered_as_disabled, left_half])
def test_steps_after_an_interrupt_in_an_autocast_context_use_the_current_weights(
    leave: Callable[[], None],
) -> None:
    before = torch_modes.current()
    leave()
    assert torch_modes.restore(before) == [AUTOCAST]
    assert torch_modes.current() == before
    assert four_steps() == [8.0, 7.0, 6.0, 5.0]
    assert torch_modes.restore(before) == [], "nothing is left to set back"


def test_weights_that_a_closed_context_has_left_are_not_used() -> None:
    before = torch_modes.current()
    layer = torch.nn.Linear(1, 1, bias=False)
    torch.autocast("cpu", enabled=False).__enter__()
    with torch.autocast("cpu"):
        layer(torch.ones(1, 1))
    torch.autocast_decrement_nesting()  # the outer context's exit stops here
    assert torch_modes.restore(before) == []
    with torch.no_grad():
        layer.weight.fill_(3.0)
    with torch.autocast("cpu"):
        assert layer(torch.ones(1, 1)).item() == 3.0


def test_a_context_that_an_earlier_cell_has_opened_stays_open() -> None:
    torch.autocast("cpu", dtype=torch.bfloat16).__enter__()
    before = torch_modes.current()
    torch.autocast("cpu", enabled=False).__enter__()
    assert torch_modes.restore(before) == [AUTOCAST]
    assert torch_modes.current() == before
    torch.autocast_decrement_nesting()
    assert torch_modes.restore(before) == [AUTOCAST]
    assert torch_modes.current() == before
    torch.autocast_decrement_nesting()
    torch.set_autocast_enabled("cpu", False)


def test_the_modes_before_torch_was_imported_are_its_defaults() -> None:
    code = (
        "import sys\nfrom dtrain_lab.rank.cells import torch_modes\nbefore = torch_modes.current()\n"
        "import torch\nassert torch_modes.restore(before) == [], torch_modes.current()\n"
        "torch.set_grad_enabled(False)\ntorch.autocast('cpu').__enter__()\n"
        "assert torch_modes.restore(before) == [torch_modes.GRADIENTS, torch_modes.AUTOCAST]"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_gradients_are_enabled_again() -> None:
    before = torch_modes.current()
    torch.set_grad_enabled(False)
    assert torch_modes.restore(before) == [GRADIENTS]
    assert torch.is_grad_enabled()
