"""`dt.guard()`: ranks compare each collective before it runs."""

from __future__ import annotations

from dtrain_lab.training.rank_hooks import hooks


class Divergence(RuntimeError):
    """Ranks were about to call different collectives; no collective has begun, and the group is unchanged."""


def guard(on: bool = True) -> None:
    """Compare each later collective with the other ranks' before it runs; call this on all ranks.

    Where they differ, every rank raises `Divergence` with the difference, instead of waiting forever. The
    guard costs one small gloo exchange for each collective called from Python; averaging inside a DDP
    backward is compared once, at its forward pass. Without a monitor (`--no-monitor`, plain torchrun) it does
    nothing.

    Args:
        on: whether to turn the guard on or off.
    """
    hooks.guard(bool(on))
