"""Wraps collectives that torch calls by private names: functional ones, and DDP's broadcast of buffers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch.distributed as dist

from dtrain_lab.rank.torch import names

Wrap = Callable[[Callable[..., Any]], Callable[..., Any]]


def watch(name: str, wrap: Wrap) -> None:
    """Wrap a functional collective, where this torch has it.

    Args:
        name: Name of the functional collective.
        wrap: Makes the wrapper of the original function.
    """
    if not names.has(names.FUNCTIONAL):
        return
    import torch.distributed._functional_collectives as functional

    original = getattr(functional, name, None)
    if original is not None:
        setattr(functional, name, wrap(original))


def watch_buffers(wrap: Wrap) -> None:
    """Wrap DDP's broadcast of buffers, where this torch has it."""
    if names.has(names.BUFFERS):
        dist._broadcast_coalesced = wrap(dist._broadcast_coalesced)
