"""Advice in sentences, for the notebook and the terminal. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from dtrain_lab.metrics.advice import wording
from dtrain_lab.metrics.advice.forecast import weak_scaling
from dtrain_lab.metrics.advice.reasons import TOO_SHORT, asks_diagnosis
from dtrain_lab.metrics.advice.tried import NUMBERS as TRYABLE
from dtrain_lab.text import rank_names
from dtrain_lab.text.units import size_text
from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.wire.metrics.diagnosis import Tried
from dtrain_lab.wire.metrics.world import Last, Metrics

INDENT = "    "
NOTHING = "No known change is certain to make this training faster."


def lines(advice: Sequence[Mapping[str, Any]], cluster: Cluster, *, terminal: bool = False) -> list[str]:
    """Return advice as lines of text.

    Args:
        advice: As `Cluster.advise` returns it.
        cluster: The cluster, whose metrics say why there is no advice.
        terminal: Name commands of the terminal, not of the notebook.

    Returns:
        For each piece of advice the change, what it gains and costs, and its code; without advice, why there
        is none. Then what is not known, and the size of the gradients.
    """
    ask = f"dtrain-lab cluster {{}} {cluster.name}{{}}" if terminal else "%distributed {}{}"
    texts = []
    for item in advice:
        tried = msgspec.convert(item["tried"], Tried) if item.get("tried") else None
        gain = item["gain"], item["gain_error"], tried
        texts.append(" ".join(filter(None, (wording.sentences(item["change"], *gain), item["cost"]))))
        if item["id"] in TRYABLE and tried is None and wording.is_vague(item["gain"], item["gain_error"]):
            texts.append(f"{INDENT}{ask.format('advise', ' --try ' + item['id'])}  # measures it")
        code = item["diff"] or item["values"].get("code", "")
        texts += [f"{INDENT}{line}" for line in code.splitlines()]
    why = "" if texts else why_none(cluster)
    if why == TOO_SHORT:  # other metrics are those of the loop before
        return [why, f"{INDENT}{ask.format('diagnose', '')}"]
    if why:
        texts.append(why)
    if asks_diagnosis(why):
        texts.append(f"{INDENT}{ask.format('diagnose', '')}")
    # with one rank, and in a hang, the reason is said already
    judged = bool(advice) or why in (NOTHING, cluster.metrics.no_advice)
    doubts = [doubt for doubt in cluster.metrics.unknown if judged and doubt != why]
    return [*texts, *doubts, *(line for line in (sent(cluster), batches(cluster.metrics, cluster)) if line)]


def sent(cluster: Cluster) -> str:
    """Return one sentence on the bytes of gradients; empty if unknown."""
    metrics = cluster.metrics
    loop = metrics if metrics.gradient_bytes else metrics.last
    if loop is None or not loop.gradient_bytes or cluster.world.size == 1:
        return ""
    share = loop.link_share
    of = "" if share is None else f", {100 * share:.0f} % of what the network can carry"
    return f"Each rank averages {size_text(loop.gradient_bytes)} of gradients a step{of}."


def batch(metrics: Metrics, size: int) -> str:
    """Return both batches in a few words: "batch 32 × 2 ranks = 64"; empty if unknown.

    Where gradients are accumulated, the whole is the effective batch: "batch 32 × 2 ranks × 4 accumulated =
    256". The batch of another number of ranks than the cluster has now is marked: "Last: batch 32 × 3 ranks =
    96".

    Args:
        metrics: Metrics of the cluster.
        size: Number of its ranks.
    """
    loop = _loop(metrics)
    if loop is None or not loop.global_batch:
        return ""
    times = f" × {loop.accumulated} accumulated" if loop.accumulated > 1 else ""
    whole = f"{loop.global_batch * loop.accumulated:,}"
    if loop.rank_batch is None:
        each = f"{loop.global_batch:,} on {rank_names.count(size)}"
        return f"batch {each}{times} = {whole}" if times else f"batch {each}"
    ranks = loop.global_batch // loop.rank_batch  # that took it: before a change of size, others
    last = "" if metrics.current or ranks == size else "Last: "
    return f"{last}batch {loop.rank_batch:,} × {rank_names.count(ranks)}{times} = {whole}"


def batches(metrics: Metrics, cluster: Cluster) -> str:
    """Return sentences on both batches, and on weak scaling to twice the ranks; empty if unknown.

    Scaling is described only if each rank reads its own part of the data, and if the ranks that were measured
    are those of now.

    Args:
        metrics: Metrics of the loop.
        cluster: The cluster, for its number of ranks.
    """
    ranks = cluster.world.size
    sentence = batch(metrics, ranks)
    if not sentence:
        return ""
    sentence = f"{sentence[0].upper()}{sentence[1:]}."
    loop = _loop(metrics)
    epoch = loop.epoch if loop is not None else None
    if loop is None or epoch is None or not epoch.split or not loop.rank_batch:
        return sentence
    if loop.global_batch != ranks * loop.rank_batch:
        return sentence
    each = loop.rank_batch * loop.accumulated
    return f"{sentence} {weak_scaling(each, ranks, 2 * ranks, epoch.total, loop.accumulated)}"


def _loop(metrics: Metrics) -> Metrics | Last | None:
    """The metrics of the loop that trains, or of the one that trained last."""
    return metrics if metrics.current and metrics.global_batch else metrics.last


def why_none(cluster: Cluster) -> str:
    """Return one sentence that says why there is no advice."""
    metrics = cluster.metrics
    if cluster.world.size == 1:
        return f"{cluster.name} has one rank, which exchanges nothing: there is no advice on communication."
    stuck = next((v for v in metrics.verdicts if v.kind in ("stuck", "mismatch")), None)
    if stuck is not None:
        return f"{stuck.text} There is no advice until training continues."
    if cluster.state == "degraded":
        return f"{cluster.summary.text} There is no advice until training continues."
    if metrics.step_s is None and metrics.last is None:
        return "No training steps were measured yet. Train a few steps, and ask again."
    return metrics.no_advice or NOTHING
