"""LARS and LAMB of the extra `large-batch` follow the update rules of their papers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

library = pytest.importorskip("pytorch_optimizer", reason="pip install 'dtrain-lab[large-batch]'")
STEPS, RATE, DECAY = 5, 0.05, 0.01


def trained(make: Callable[[Any], torch.optim.Optimizer], gradients: list[torch.Tensor]) -> torch.Tensor:
    parameter = torch.nn.Parameter(start())
    optimizer = make([parameter])
    for gradient in gradients:
        parameter.grad = gradient.clone()
        optimizer.step()
    return parameter.detach()


def start() -> torch.Tensor:
    return torch.linspace(-1, 1, 12, dtype=torch.float64).reshape(4, 3)


def gradients() -> list[torch.Tensor]:
    torch.manual_seed(0)
    return [torch.randn(4, 3, dtype=torch.float64) for _ in range(STEPS)]


def test_lars_follows_you_et_al_2017() -> None:
    """Algorithm 1: v = m·v + γ·λ·(g + β·w), λ = η·|w| / (|g| + β·|w|); w = w − v."""
    momentum, trust = 0.9, 0.001
    w, v = start(), torch.zeros(4, 3, dtype=torch.float64)
    for g in gradients():
        local = trust * w.norm() / (g.norm() + DECAY * w.norm())
        v = momentum * v + RATE * local * (g + DECAY * w)
        w = w - v
    found = trained(
        lambda p: library.LARS(p, lr=RATE, momentum=momentum, weight_decay=DECAY, trust_coefficient=trust),
        gradients(),
    )
    torch.testing.assert_close(found, w)


def test_lamb_follows_you_et_al_2020_without_bias_correction() -> None:
    """Algorithm 2, as in version 3 of the paper: the decay is inside of the trust ratio."""
    first, second, eps = 0.9, 0.999, 1e-6
    x, m, v = start(), torch.zeros(4, 3, dtype=torch.float64), torch.zeros(4, 3, dtype=torch.float64)
    for g in gradients():
        m = first * m + (1 - first) * g
        v = second * v + (1 - second) * g * g
        update = m / (v.sqrt() + eps) + DECAY * x
        x = x - RATE * x.norm() / update.norm() * update
    found = trained(
        lambda p: library.Lamb(
            p, lr=RATE, weight_decay=DECAY, weight_decouple=False, adam_debias=True, eps=eps
        ),
        gradients(),
    )
    torch.testing.assert_close(found, x, rtol=1e-5, atol=1e-6)


def test_radam_is_torchs_and_follows_liu_et_al_2020() -> None:
    first, second, eps = 0.9, 0.999, 1e-8
    longest = 2 / (1 - second) - 1
    x, m, v = start(), torch.zeros(4, 3, dtype=torch.float64), torch.zeros(4, 3, dtype=torch.float64)
    for t, g in enumerate(gradients() * 3, 1):
        m, v = first * m + (1 - first) * g, second * v + (1 - second) * g * g
        mean = m / (1 - first**t)
        length = longest - 2 * t * second**t / (1 - second**t)
        if length > 5:
            ratio = (length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)
            x = x - RATE * ratio**0.5 * mean * (1 - second**t) ** 0.5 / (v.sqrt() + eps)
        else:
            x = x - RATE * mean
    found = trained(lambda p: torch.optim.RAdam(p, lr=RATE), gradients() * 3)
    torch.testing.assert_close(found, x)
