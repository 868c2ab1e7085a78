"""Models that compute on the processor, small enough that a step takes some tens of milliseconds."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import torch
from torch import nn

REAL = ("perceptron", "convolutions", "transformer")
"""Models that compute on the processor."""


def real_model(model: str) -> tuple[Any, Any]:
    """A model that computes on the processor, 20 to 60 ms a step, and its batch."""
    if model == "perceptron":
        layers = [part for _ in range(6) for part in (nn.Linear(512, 512), nn.ReLU())]
        return nn.Sequential(*layers), torch.randn(64, 512)
    if model == "convolutions":
        widths = (3, 32, 64, 64)
        blocks = [
            part
            for before, after in pairwise(widths)
            for part in (nn.Conv2d(before, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU())
        ]
        return nn.Sequential(*blocks, nn.Flatten(), nn.Linear(64 * 256, 64)), torch.randn(8, 3, 16, 16)
    layer = nn.TransformerEncoderLayer(128, 4, 512, dropout=0.0, batch_first=True)
    return nn.TransformerEncoder(layer, 3, enable_nested_tensor=False), torch.randn(8, 32, 128)
