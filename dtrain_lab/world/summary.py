"""Summary of a world in one sentence, the same in panel, status bar, cell, notification and terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from dtrain_lab.cells import rank_sets
from dtrain_lab.metrics.verdicts.pace import headline
from dtrain_lab.text import cluster_endings, places, rank_names
from dtrain_lab.text.units import duration
from dtrain_lab.wire.cells import RunningCell
from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.wire.kinds import CellKind
from dtrain_lab.wire.metrics.verdicts import Verdict
from dtrain_lab.wire.metrics.world import Metrics
from dtrain_lab.wire.stacks import Where
from dtrain_lab.wire.summary import Summary
from dtrain_lab.world.exits import how_it_ended
from dtrain_lab.world.paused_ranks import paused_sentence, stop_error
from dtrain_lab.world.state import Loss, State

RUNNING = frozenset({"busy", "in collective", "paused", "stuck"})
"""States of a rank that runs a cell."""

SOON_S = 600.0
MEASURING: dict[CellKind, tuple[str, str]] = {
    "diagnosis": ("diagnosing", "Diagnosing…"),
    "advice_trial": ("trying", "Trying a change…"),
}
"""Code and text of the summary while one of our measurements runs, which is queued as a cell."""


def summarize(
    name: str,
    state: State,
    metrics: Metrics,
    running: Sequence[RunningCell],
    *,
    preloading: bool = False,
    paused: Mapping[int, str] | None = None,
    at: Where | None = None,
    waiting: Mapping[int, str] | None = None,
) -> Summary:
    """Summarize a world in one sentence.

    Args:
        name: name of the cluster.
        state: state of its membership.
        metrics: its metrics, including verdicts.
        running: cells that run now.
        preloading: whether the fork server is still importing torch.
        paused: rank that the debugger has paused → the error that it has stopped at, if any.
        at: the line that all paused ranks have stopped at; None without one.
        waiting: other ranks that wait in a collective → name of the collective.
    """
    size = state.size
    if paused and state.phase == "ready":
        return _paused(paused, waiting or {}, size, places.place(at))
    match state.phase:
        case "pending":
            return _say("pending", "Waiting to start.")
        case "starting":
            joined = sum(m.joined for m in state.members)
            if preloading:
                return _say("loading_torch", "Starting: loading PyTorch.", size=size)
            return _say(
                "starting", f"Starting: {joined:,} of {rank_names.count(size)}.", done=joined, total=size
            )
        case "connecting":
            return _say("connecting", f"Connecting {rank_names.count(size)}.", total=size)
        case "rebuilding":
            return _rebuilding(state)
        case "degraded":
            return _degraded(state)
        case "stopping":
            ended = sum(m.pid is None for m in state.members)
            verb = "has" if 1 in (ended, size) else "have"
            text = f"Stopping: {ended:,} of {rank_names.count(size)} {verb} ended."
            return _say("stopping", text, done=ended, total=size, **cluster_endings.values(state.ending))
        case "stopped":
            return _say("stopped", "Stopped.", **cluster_endings.values(state.ending))
        case "failed":
            return _failed(name, state)
        case _:
            return _ready(state, metrics, running)


def if_ignored(
    summary: Summary, state: State, metrics: Metrics, running: Sequence[RunningCell]
) -> Summary | None:
    """Return the summary for a user who ignores the verdict that it reports; None if it reports none.

    Args:
        summary: summary of the world.
        state: state of its membership.
        metrics: its metrics, including verdicts.
        running: cells that run now.
    """
    others = tuple(v for v in metrics.verdicts if v.code != summary.code)
    if len(others) == len(metrics.verdicts):
        return None
    if not running and not others:  # ranks run something other than a cell, such as a view's calls
        size = state.size
        return _say("at_work", f"{rank_names.count(size)} {'works' if size == 1 else 'work'}.", total=size)
    return _ready(state, replace(metrics, verdicts=others), running)


def soon(summary: Summary, limit_at: float | None, now: float) -> Summary:
    """Mention the end of the allocation in the sentence if it is less than `SOON_S` away.

    Args:
        summary: summary of the world.
        limit_at: when the scheduler ends the allocation, in seconds since 1970; None for never.
        now: current time, in seconds since 1970.
    """
    if limit_at is None or limit_at - now > SOON_S:
        return summary
    text = f"{summary.text} Its allocation ends in {duration(max(0.0, limit_at - now))}."
    return replace(summary, text=text)


def _ready(state: State, metrics: Metrics, running: Sequence[RunningCell]) -> Summary:
    size = state.size
    if state.reason is not None and state.reason[0] == "deaf":
        deaf = state.deaf
        return _say("deaf", state.reason[1], ranks=rank_names.compact(deaf), count=len(deaf))
    failing = _failing(state)
    if failing is not None:
        return failing
    interrupted_ranks = [m.rank for m in state.members if m.cell is not None and m.interrupted]
    if interrupted_ranks:
        text = f"Interrupting {rank_names.count(len(interrupted_ranks))}; variables are kept."
        return _say("interrupting", text, count=len(interrupted_ranks))
    verdicts: list[Verdict] = [v for v in metrics.verdicts if v.headline]
    bad = [v for v in verdicts if v.kind != "slow"]
    if bad:
        return Summary(bad[0].code, bad[0].values, bad[0].text)
    if not running:
        text = f"Ready. {rank_names.count(size)} {'waits' if size == 1 else 'wait'} for a cell."
        return _say("ready", text, total=size)
    if verdicts:
        slow = verdicts[0]
        return Summary(slow.code, slow.values, slow.text)
    if metrics.step_s is not None and metrics.current:
        count = len({rank for cell in running for rank in cell.ranks})
        code, text = headline(count, even=metrics.even and not metrics.verdicts)
        return _say(code, text, total=count)
    cell = running[0]
    if cell.kind in MEASURING:
        code, text = MEASURING[cell.kind]
        return _say(code, text, count=len(cell.ranks))
    if cell.kind == "post_mortem":
        text = f"Debugging {rank_names.name(cell.ranks)}."
        return _say("debugging", text, ranks=rank_names.compact(cell.ranks), count=len(cell.ranks))
    text = f"Running cell {cell.cell} on {rank_names.count(len(cell.ranks))}."
    return _say("running", text, cell=cell.cell, count=len(cell.ranks))


def _failing(state: State) -> Summary | None:
    """Say that a cell has failed on some ranks while others still compute; None if none does."""
    failed = {m.last for m in state.members if m.raised and m.cell is None}
    still = [m.rank for m in state.members if m.cell is not None and m.cell in failed]
    # peers that wait in a collective are ended within a second, which is not worth an alarm
    if not any(state.members[rank].interrupted or state.members[rank].aborted for rank in still):
        return None
    cells = {state.members[rank].cell for rank in still}
    raised = [m.rank for m in state.members if m.raised and m.last in cells]
    verb = "runs" if len(still) == 1 else "run"
    text = (
        f"{rank_names.sentence_name(raised)} failed. {rank_names.sentence_name(still)} still {verb} the cell."
    )
    values = {"ranks": rank_names.compact(raised), "still": rank_names.compact(still)}
    return _say("failing", text, **values)


def _paused(paused: Mapping[int, str], waiting: Mapping[int, str], size: int, at: str) -> Summary:
    error = stop_error(paused)
    summary = {"error": error.text, "raised": rank_names.compact(error.ranks)} if error else {}
    if at:
        summary["at"] = at
    if waiting:
        operations = ",".join(sorted(set(waiting.values())))
        summary |= {"waiting": rank_names.compact(waiting), "operations": operations}
    text, ranks = paused_sentence(paused, waiting, at), rank_names.compact(paused)
    return _say("paused", text, ranks=ranks, count=len(paused), total=size, **summary)


def _rebuilding(state: State) -> Summary:
    missing = [m.rank for m in state.members if not m.joined]
    text = f"Connecting {rank_names.count(state.size)} again"
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        return _say(
            "rebuilding_missing",
            f"{text}: {rank_names.name(missing)} {verb} missing.",
            total=state.size,
            ranks=rank_names.compact(missing),
        )
    return _say("rebuilding", f"{text}.", total=state.size)


def _degraded(state: State) -> Summary:
    # a rank with a new process is not lost any more
    losses = {loss.rank: loss for loss in state.losses if state.members[loss.rank].lost}
    if not losses:
        message = state.reason[1] if state.reason else "The ranks are not connected."
        return _say("not_connected", message)
    numbers = sorted(losses)
    verb = "was" if len(numbers) == 1 else "were"
    text = f"{rank_names.sentence_name(numbers)} {verb} lost"
    failed = any(loss.cell for loss in losses.values())
    how = describe_loss(losses[numbers[0]])
    values = {"ranks": rank_names.compact(numbers), "how": how, "failed": failed}
    return _say("lost", f"{text}. The cell has failed." if failed else f"{text}.", **values)


def _failed(name: str, state: State) -> Summary:
    code, message, _ = state.reason or ("failed", "It ended.", "")
    started = any(m.generation >= 0 for m in state.members)
    verb = "has failed" if started else "did not start"
    end = "" if message.endswith((".", "!", "?")) else "."
    return _say(code, f"{name} {verb}: {message}{end}", name=name, message=message)


def interrupted(before: Cluster, ranks: str) -> str:
    """Say what an interrupt of a rank set has done, by the cluster as it was before.

    Args:
        before: The cluster before the interrupt.
        ranks: The set of ranks, as the user gave it; empty for all.
    """
    chosen = rank_sets.asked(ranks or None, before.world.size)
    if any(r.state in RUNNING for r in before.ranks if chosen is None or r.rank in chosen):
        return f"{before.name}: interrupted; variables are kept."
    of = f" on {rank_names.name(chosen)}" if chosen is not None else ""
    return f"{before.name} runs no cell{of}: nothing was interrupted."


def describe_loss(loss: Loss) -> str:
    """Describe how a lost rank's process ended."""
    how = loss.how or how_it_ended(loss.code)
    return how[0].upper() + how[1:] + "."


def _say(code: str, text: str, **values: Any) -> Summary:
    return Summary(code, values, text)
