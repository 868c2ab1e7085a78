"""`dt.guard()`: ranks compare their next collective before it runs."""

from __future__ import annotations

from collections.abc import Callable

_told: list[Callable[[bool], None]] = []


class Divergence(RuntimeError):
    """Ranks were about to call different collectives; none has begun, and the group is as it was."""


def guard(on: bool = True) -> None:
    """Compare each collective with the other ranks' before it runs, from now on; call it on all ranks.

    Where they differ, every rank raises `Divergence` with the difference, instead of waiting for ever. It
    costs one small gloo exchange for each collective that Python calls; averaging inside a DDP backward is
    compared once, at its forward pass. Without a monitor (`--no-monitor`, plain torchrun) it does nothing.

    Args:
        on: False ends it.
    """
    for tell in _told:
        tell(bool(on))


def to(tell: Callable[[bool], None]) -> None:
    """Have it switched there."""
    _told[:] = [tell]
