"""Steps that only measure change nothing: what they assign anew, draw and count is put back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel

from dtrain_lab.rank.diagnosis import replay
from dtrain_lab.training.batch_size import saved_state


class Centred(nn.Module):
    """Assigns its buffers anew in each forward pass."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.register_buffer("mean", torch.zeros(3))
        self.register_buffer("first", None)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.mean = 0.9 * self.mean + 0.1 * x.mean(0).detach()
        self.first = x.detach()
        return self.linear(x - self.mean)  # type: ignore[no-any-return]


class Counting(torch.optim.SGD):
    """Counts its steps in its groups, as schedule-free optimizers do."""

    def step(self, closure: Any = None) -> Any:
        for group in self.param_groups:
            group["k"] = group.get("k", 0) + 1
            group["sum"].add_(1)
        return super().step(closure)


@pytest.mark.parametrize("kind", ["largest batch", "diagnosis"])
def test_what_a_step_changes_is_put_back(kind: str) -> None:
    model, other = Centred(), nn.Parameter(torch.ones(2))
    optimizer = Counting([*model.parameters(), other], lr=0.1, momentum=0.9)
    optimizer.param_groups[0]["sum"] = torch.zeros(1)
    averaged = AveragedModel(model.linear)
    other.grad = torch.ones(2)
    own = model.mean

    def step() -> None:
        optimizer.zero_grad()
        noise = torch.as_tensor(np.random.random((4, 3)), dtype=torch.float32)
        model(noise).sum().backward()
        optimizer.step()
        if kind == "largest batch":
            averaged.update_parameters(model.linear)

    before = {name: value.clone() for name, value in model.state_dict().items()}
    mean = {name: value.clone() for name, value in averaged.state_dict().items()}
    drawn = np.random.get_state()[2]
    with saved_state.restored() if kind == "largest batch" else replay.restored(model, [optimizer]):
        step()
        step()
        assert model.first is not None
    assert model.mean is own
    assert model.first is None
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name]), name
    for name, value in averaged.state_dict().items():
        assert torch.equal(value, mean[name]), name
    assert np.random.get_state()[2] == drawn
    group = optimizer.param_groups[0]
    assert (group.get("k"), float(group["sum"])) == (None, 0.0)
    assert other.grad is not None
    assert torch.equal(other, torch.ones(2))
