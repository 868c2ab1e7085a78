"""The state of a job in one sentence. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dtrain_lab.metrics.verdicts.hang_verdicts import sentences_with_line
from dtrain_lab.metrics.verdicts.pace import headline
from dtrain_lab.text import places, rank_names
from dtrain_lab.text.units import counted, duration, size_text
from dtrain_lab.wire.cluster import Rank, Reason
from dtrain_lab.wire.jobs import rank_ends
from dtrain_lab.wire.jobs.folder import FolderState
from dtrain_lab.wire.jobs.job import JobError, JobRecord, StoppedBy
from dtrain_lab.wire.kinds import JobState
from dtrain_lab.wire.metrics.world import Metrics
from dtrain_lab.wire.summary import Summary
from dtrain_lab.world.exits import how_it_ended
from dtrain_lab.world.paused_ranks import paused_sentence

BY_SIGNAL = 128
"""What a shell adds to the number of the signal that has killed a process, in its exit code."""

CANCELLED: dict[StoppedBy | None, tuple[str, str]] = {
    None: ("job_cancelled", "Cancelled"),
    "prune": ("job_pruned", "Stopped early by its sweep"),
    "stop": ("job_stopped", "Stopped with its sweep"),
}
"""Why a job was cancelled → code and words of its summary."""


def summary_of(
    record: JobRecord,
    folder: FolderState,
    state: JobState,
    reason: Reason | None,
    error: JobError | None,
    ended_at: float | None,
    *,
    fresh: bool,
) -> Summary:
    """Summarize the job in one sentence.

    Args:
        record: The job.
        folder: What its folder says.
        state: Its state.
        reason: Why it waits, or why it ended; None if unknown.
        error: The error that ended it; None without one.
        ended_at: When it ended, in seconds since 1970; None while it runs.
        fresh: Its head has written metrics recently; older ones are left out.
    """
    size = record.plan.size
    took = duration(ended_at - folder.started_at) if ended_at and folder.started_at else ""
    after = f" after {took}" if took else ""
    values = {"name": record.name, "took": took, "total": size}
    if state == "failed":
        why = _why(folder, reason, error)
        text = f"Failed{after}: {why}" if folder.started_at else f"It did not start: {why}"
        return Summary("job_failed", {**values, "why": why}, text)
    if state == "succeeded":
        return Summary("job_succeeded", values, f"Done{after}.")
    if state == "cancelled":
        code, how = CANCELLED[record.cancelled_for]
        return Summary(code, values, f"{how}{after}.")
    if state == "lost":
        text = "Lost: the job's processes can't be found. Its folder has the output so far."
        return Summary("job_lost", values, text)
    if state == "queued":
        text = f"Waiting to start. {reason.message}" if reason else "Waiting to start."
        if reason is not None and reason.code == "after":
            text = reason.message
        return Summary("job_queued", {**values, "reason": reason.message if reason else ""}, text)
    if state == "starting" and folder.started_at is None and folder.staging:
        done, total = (size_text(sum(getattr(s, key) for s in folder.staging)) for key in ("done", "total"))
        nodes = counted(len(record.plan.nodes), "node")
        text = f"Copying data to {nodes}: {done} of {total}."
        return Summary("job_staging", {**values, "done": done, "bytes": total}, text)
    if state in ("planned", "starting"):
        return Summary(f"job_{state}", values, f"Starting {rank_names.count(size)}.")
    if state == "stopping":
        return Summary("job_stopping", values, "Stopping.")
    if reason is not None and reason.code in ("unwatched", "head_ended"):
        text = f"Running on {rank_names.count(size)}. {reason.message}"
        return Summary("job_running", {**values, "reason": reason.message}, text)
    if reason is not None and reason.code == "ending":
        return Summary("job_running", {**values, "reason": reason.message}, reason.message)
    live = folder.live if fresh else None
    return running(values, size, live.metrics if live else Metrics(), live.ranks if live else ())


def running(values: dict[str, Any], size: int, metrics: Metrics, ranks: Sequence[Rank] = ()) -> Summary:
    """Summarize a job whose ranks run: a debugger has paused some, there is a problem, or they keep pace.

    Args:
        values: Values that every summary of the job has.
        size: Number of ranks.
        metrics: Metrics of the job, with the verdicts on it.
        ranks: The ranks; empty if unknown.
    """
    paused = [rank.rank for rank in ranks if rank.state == "paused"]
    if paused:
        counted = {"ranks": rank_names.compact(paused), "count": len(paused)}
        lines = {places.place(rank.where) for rank in ranks if rank.state == "paused"}
        at = lines.pop() if len(lines) == 1 else ""
        text = paused_sentence(dict.fromkeys(paused, ""), {}, at)
        return Summary("paused", {**values, **counted}, text)
    verdict = next((v for v in metrics.verdicts if v.headline), None)
    if verdict is not None:
        return Summary(verdict.code, verdict.values, sentences_with_line(verdict))
    if metrics.step_s is not None:
        code, text = headline(size, even=metrics.even and not metrics.verdicts)
        return Summary(code, values, text)
    return Summary("job_running", values, f"Running on {rank_names.count(size)}.")


def _why(folder: FolderState, reason: Reason | None, error: JobError | None) -> str:
    if reason is not None and reason.code == "preempted":  # the ranks' errors are consequences
        return reason.message
    if error is not None:
        place = f" in cell {error.cell}, line {error.line}" if error.cell and error.line else ""
        message = error.message.strip().splitlines()[0] if error.message.strip() else ""
        text = f"{error.type}: {message}" if message else error.type
        if error.type in (rank_ends.KILLED, rank_ends.ENDED):
            return f"rank {error.rank} {message}."
        return f"rank {error.rank} failed{place}: {text.rstrip('.')}."
    if reason is not None:
        return reason.message
    if folder.waiting is not None and folder.waiting.final:
        return folder.waiting.message
    if folder.errors:  # without a first one: no rank failed by itself
        return "its ranks were ended from outside."
    if folder.exit is None:
        return "its processes are gone."
    code = folder.exit.code
    if code > BY_SIGNAL:  # no rank has written an error: what makes them was killed before they were
        return f"the process that runs its ranks was {how_it_ended(BY_SIGNAL - code)}."
    return f"it ended with code {code}."
