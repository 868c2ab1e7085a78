"""All slots of a job, on all of its hosts, or none. Pure.

Each host gives its slots in the order in which jobs came, by itself. Two jobs that come at once could each
get a host, and wait for the other's for ever. So slots are only *held* until all hosts of a job have theirs;
and the job that came later asks to give back what it holds as soon as an earlier one waits there. The first
host answers: once it has let the job go, nothing is given back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from dtrain_lab.core import network
from dtrain_lab.core.cluster import Reason
from dtrain_lab.core.wire.gang import Stands, Waits

SILENT_S = 60.0
"""A host that is not heard of for so long does not take part."""
PORTS = 8
"""So many ports are tried by the first host, and by whoever looks for it."""


class Gang(Struct, frozen=True):
    """What the first host knows of all.

    `heard`: when each was heard of last, in seconds; at first, when the first host began to listen.
    """

    heard: tuple[float, ...]
    holds: frozenset[int] = frozenset()
    reasons: dict[int, Reason] = {}
    returned: dict[int, int] = {}
    """The last hold that a host was told to give back: it may still speak of it, not having heard."""
    gone: bool = False


def begin(size: int, now: float) -> Gang:
    """A gang of so many hosts, of which none has room yet."""
    return Gang((now,) * size)


Word = Literal["go", "return", "heard"]


def hear(gang: Gang, said: Stands, now: float) -> tuple[Gang, dict[int, Word]]:
    """A host has said where it stands.

    Returns:
        The gang; and what to answer to whom.
    """
    heard = tuple(now if node == said.node else at for node, at in enumerate(gang.heard))
    gang = replace(gang, heard=heard)
    if gang.gone:  # whoever asks now has not heard it yet
        return gang, {said.node: "go"}
    if isinstance(said, Waits):
        held, reasons = gang.holds - {said.node}, {**gang.reasons, said.node: said.reason}
        return replace(gang, holds=held, reasons=reasons), {said.node: "heard"}
    if said.returns or said.hold <= gang.returned.get(said.node, 0):
        returned = {**gang.returned, said.node: said.hold}
        return replace(gang, holds=gang.holds - {said.node}, returned=returned), {said.node: "return"}
    reasons = {node: reason for node, reason in gang.reasons.items() if node != said.node}
    gang = replace(gang, holds=gang.holds | {said.node}, reasons=reasons)
    if len(gang.holds) < len(gang.heard):
        return gang, {said.node: "heard"}
    return replace(gang, gone=True), dict.fromkeys(range(len(gang.heard)), "go")


def why(gang: Gang, names: Sequence[str], now: float, port: int) -> Reason:
    """What the job waits for, in words.

    Args:
        gang: as it is.
        names: of the hosts.
        now: seconds, as in `heard`.
        port: where the first host listens.

    Returns:
        A reason; a final one where a host has been silent for too long.
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
        return Reason("slots", "Its hosts look for room.")
    node, reason = min(gang.reasons.items())
    where = "" if len(gang.heard) == 1 else f"{names[node]}: "
    more = len(gang.reasons) - 1
    others = f" {more} more host{'s wait' if more > 1 else ' waits'}, too." if more else ""
    return replace(reason, message=f"{where}{reason.message}{others}")


def ports(identity: str, allowed: range | None) -> list[int]:
    """Where the first host may listen, and then where ranks may meet; the same on all hosts.

    Args:
        identity: of the job, hexadecimal.
        allowed: the profile's range of ports.
    """
    span = allowed if allowed is not None else network.PORTS
    start = int(identity[:6], 16)
    return [span[(start + step) % len(span)] for step in range(3 * PORTS)]
