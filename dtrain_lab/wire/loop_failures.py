"""Supervision of background work: restart with back-off, and a count of failures to show. Pure."""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

FIRST_S: Final = 0.2
MOST_S: Final = 30.0
HEALTHY_S: Final = 60.0
"""Work that ran this long counts as recovered: its next failure starts the back-off again."""

LOOPS: Final = {
    "server.keep": "keeping clusters",
    "server.jobs": "watching jobs",
    "server.feeds": "following the heads of jobs",
    "server.panel": "sending to the panel",
    "head.watch": "watching ranks",
    "head.limit": "asking for the time limit",
    "head.agents": "watching node agents",
    "head.controller": "waiting for ipyparallel's controller",
    "node.samples": "measuring",
    "node.unsaid": "reading the output of silent ranks",
    "node.link": "watching the connection to the head",
    "node.look": "looking for peers that failed",
    "node.head": "looking for the job's head",
    "node.debugger": "forwarding debugger messages",
    "node.output": "writing a rank's output",
    "admission.end": "watching the job's script",
    "client.watch": "following a cluster",
    "client.reach": "looking for a cluster's head",
    "client.link": "watching the connection to a cluster",
    "debug.hold": "holding the debugger",
    "debug.look": "polling the debugged ranks",
    "debug.again": "attaching the debugger to restarted ranks",
    "ssh.cut": "watching an SSH connection",
}
"""Loops that run as long as their process: name → activity, as shown to users."""

ONCE: Final = {
    "server.action": "a requested action",
    "head.answer": "answering a request",
    "head.end": "ending the cluster",
    "head.message": "handling a message",
    "head.action": "changing the cluster",
    "node.order": "carrying out an order",
    "node.task": "carrying out an order",
    "client.message": "handling a message",
    "client.task": "background work",
    "debug.meet": "waiting for paused ranks",
    "debug.step": "stepping a late rank",
    "debug.postmortem": "opening a failed cell",
    "debug.request": "answering an editor",
    "callback": "a callback",
}
"""One-off tasks: name → activity. A failure is reported to the caller that waits, and counted."""


class LoopState(Struct, frozen=True):
    """State of a supervised loop. Times are in seconds of a monotonic clock."""

    began_at: float | None = None
    """None while the loop does not run."""
    in_a_row: int = 0
    restarts: int = 0
    """Number of restarts in total."""


class Began(Struct, frozen=True):
    """The loop has started."""

    at: float


class Failed(Struct, frozen=True):
    """An exception escaped from the loop."""

    at: float


Event = Began | Failed


def step(state: LoopState, event: Event) -> tuple[LoopState, float | None]:
    """Apply an event to a loop. A loop that keeps failing is retried every `MOST_S`, never abandoned.

    Args:
        state: State of the loop.
        event: What happened to it; times in it are monotonic seconds.

    Returns:
        The new state, and the seconds until the restart; None if none is due.
    """
    match event:
        case Began(at):
            return replace(state, began_at=at), None
        case Failed(at):
            ran_s = at - state.began_at if state.began_at is not None else 0.0
            in_a_row = 1 if ran_s >= HEALTHY_S else state.in_a_row + 1
            after_s = min(MOST_S, FIRST_S * 2.0 ** min(in_a_row - 1, 16))
            return LoopState(None, in_a_row, state.restarts + 1), after_s


class Trouble(Struct, frozen=True):
    """Background work that failed through a bug of ours, not the user's.

    `at`: time of the last failure, in seconds since 1970.
    """

    name: str
    doing: str
    kind: Literal["restarted", "failed"]
    times: int
    message: str
    at: float

    @property
    def text(self) -> str:
        """The trouble as text: "Background task "watching ranks" restarted once (OSError: …)"."""
        often = {1: "once", 2: "twice"}.get(self.times, f"{self.times} times")
        return f'Background task "{self.doing}" {self.kind} {often} ({self.message})'


def noted(before: Trouble | None, name: str, message: str, at: float) -> Trouble:
    """Count one more failure of background work.

    Args:
        before: its trouble so far; None for the first failure.
        name: name of the work.
        message: the error.
        at: time of the failure, in seconds since 1970.

    Raises:
        KeyError: `name` is in neither `LOOPS` nor `ONCE`.
    """
    kind: Literal["restarted", "failed"] = "restarted" if name in LOOPS else "failed"
    doing = LOOPS[name] if name in LOOPS else ONCE[name]
    return Trouble(name, doing, kind, (before.times if before else 0) + 1, message, at)


def merged(*groups: tuple[Trouble, ...]) -> tuple[Trouble, ...]:
    """Combine the troubles of several processes: one entry per name, the latest first."""
    found: dict[str, Trouble] = {}
    for trouble in (t for group in groups for t in group):
        known = found.get(trouble.name)
        if known is not None:
            latest = max(known, trouble, key=lambda t: t.at)
            trouble = replace(latest, times=known.times + trouble.times)
        found[trouble.name] = trouble
    return tuple(sorted(found.values(), key=lambda t: -t.at))
