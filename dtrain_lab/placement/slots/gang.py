"""Gang scheduling without a scheduler: a job gets all slots on all of its hosts, or none. Pure.

Each host assigns its slots independently, in the order of the jobs' arrival. Two jobs that arrive together
could each get one host and deadlock on the other. So slots are only *reserved* until all hosts of a job have
theirs, and a later job asks to release its reservation as soon as an earlier job waits on that host. The
job's first host decides: once it has started the job, no reservation is released.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from dtrain_lab.placement import network
from dtrain_lab.wire.cluster import Reason
from dtrain_lab.wire.jobs.gang import Queued, SlotsReport

SILENT_S = 60.0
"""Seconds without a message after which a host counts as unreachable."""
PORTS = 8
"""Number of ports that the first host tries to listen on, and that the other hosts try to reach it at."""


class Gang(Struct, frozen=True):
    """What the first host knows about all hosts of the job.

    `heard`: when each host last sent a message, in seconds; initially when the first host began to listen.
    `holds`: hosts that have reserved slots. `reasons`: why the others wait. `gone`: the job has started.
    """

    heard: tuple[float, ...]
    holds: frozenset[int] = frozenset()
    reasons: dict[int, Reason] = {}
    returned: dict[int, int] = {}
    """Host → last reservation it was told to release; its later messages may still name that one."""
    gone: bool = False


def begin(size: int, now: float) -> Gang:
    """Make a gang without any reservation.

    Args:
        size: Number of hosts.
        now: Monotonic time in seconds.
    """
    return Gang((now,) * size)


AnswerKind = Literal["go", "return", "heard"]


def receive(gang: Gang, report: SlotsReport, now: float) -> tuple[Gang, dict[int, AnswerKind]]:
    """Handle a host's message.

    Args:
        gang: current state.
        report: the message.
        now: time in seconds, as in `heard`.

    Returns:
        The new state, and host → answer.
    """
    heard = tuple(now if node == report.node else at for node, at in enumerate(gang.heard))
    gang = replace(gang, heard=heard)
    if gang.gone:  # the host has missed the start
        return gang, {report.node: "go"}
    if isinstance(report, Queued):
        held, reasons = gang.holds - {report.node}, {**gang.reasons, report.node: report.reason}
        return replace(gang, holds=held, reasons=reasons), {report.node: "heard"}
    if report.returns or report.hold <= gang.returned.get(report.node, 0):
        returned = {**gang.returned, report.node: report.hold}
        return replace(gang, holds=gang.holds - {report.node}, returned=returned), {report.node: "return"}
    reasons = {node: reason for node, reason in gang.reasons.items() if node != report.node}
    gang = replace(gang, holds=gang.holds | {report.node}, reasons=reasons)
    if len(gang.holds) < len(gang.heard):
        return gang, {report.node: "heard"}
    return replace(gang, gone=True), dict.fromkeys(range(len(gang.heard)), "go")


def why(gang: Gang, names: Sequence[str], now: float, port: int) -> Reason:
    """Describe what the job waits for.

    Args:
        gang: current state.
        names: names of the hosts.
        now: time in seconds, as in `heard`.
        port: port on which the first host listens.

    Returns:
        The reason; final if a host has been silent for more than `SILENT_S`.
    """
    silent = [node for node, at in enumerate(gang.heard) if now - at > SILENT_S]
    if silent:
        who = ", ".join(names[node] for node in silent)
        return Reason(
            "silent",
            f"{who} did not reach {names[0]} at port {port} in {SILENT_S:.0f} s.",
            f"Is it up? Open TCP port {port} of {names[0]} to it, or set [network] ports in the profile.",
            final=True,
        )
    if not gang.reasons:
        return Reason("slots", "Its hosts are looking for free slots.")
    node, reason = min(gang.reasons.items())
    where = "" if len(gang.heard) == 1 else f"{names[node]}: "
    more = len(gang.reasons) - 1
    others = f" {more} more host{'s wait' if more > 1 else ' waits'}, too." if more else ""
    return replace(reason, message=f"{where}{reason.message}{others}")


def ports(identity: str, allowed: range | None) -> list[int]:
    """Derive a job's ports, the same on all hosts.

    Args:
        identity: id of the job, in hexadecimal.
        allowed: the profile's port range; None for the default.

    Returns:
        Ports on which the first host may listen, then ports for the ranks' rendezvous.
    """
    span = allowed if allowed is not None else network.PORTS
    start = int(identity[:6], 16)
    return [span[(start + step) % len(span)] for step in range(3 * PORTS)]
