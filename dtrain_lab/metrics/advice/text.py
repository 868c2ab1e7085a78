"""Advice in sentences, for the notebook and the terminal. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dtrain_lab.wire.cluster import Cluster

INDENT = "    "


def lines(advice: Sequence[Mapping[str, Any]], cluster: Cluster) -> list[str]:
    """Return advice as lines of text.

    Args:
        advice: As `Cluster.advise` returns it.
        cluster: The cluster; where there is no advice, its figures say why.

    Returns:
        For each piece of advice the change, what it gains and costs, and its diff; else one sentence.
    """
    if not advice:
        return [why_none(cluster)]
    told = []
    for one in advice:
        more, error = round(100 * (one["gain"] - 1)), max(1, round(100 * one["gain_error"]))
        told.append(f"{one['change']}: about {more} % faster (±{error}). {one['cost']}".rstrip())
        told += [f"{INDENT}{line}" for line in one["diff"].splitlines()]
    return told


def why_none(cluster: Cluster) -> str:
    """Return one sentence that says why there is no advice."""
    metrics = cluster.metrics
    if cluster.world.size == 1:
        return f"{cluster.name} has one rank, which exchanges nothing: there is no advice on communication."
    stuck = next((v for v in metrics.verdicts if v.kind in ("stuck", "mismatch")), None)
    if stuck is not None:
        return f"{stuck.text} There is no advice until training goes on."
    if metrics.step_s is None and metrics.last is None:
        return "No training steps were measured yet. Train a few steps, and ask again."
    return "No change that is known here would surely make this training faster."
